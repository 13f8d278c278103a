//! Plays a scenario: does each step, and waits until what it causes has been heard.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use crate::command::{Answer, Command, HandlerSpec, InformerSpec};
use crate::log::{HandlerLog, Log, State};
use crate::players::Player;
use crate::record::{Record, Rounds};
use crate::resources::Known;
use crate::scenario::{Handler, Informer, Mode, Question, Scenario, Step, Texts};
use crate::stage::Stage;

/// Nothing that is waited for takes longer, even on a busy machine: client-go waits up to half a minute after failures.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is looked again where nobody tells.
const POLL: Duration = Duration::from_millis(10);

/// Within this time everybody has been told in whose turn it was, once one has. Rounds are a second apart.
const ROUND: Duration = Duration::from_millis(100);

/// One play of one scenario.
#[derive(Debug)]
pub struct Driver {
    stage: Stage,
    player: Player,
    log: Arc<Log>,
    informers: BTreeMap<String, Followed>,
    handlers: BTreeMap<String, Listening>,
    record: Record,
}

#[derive(Debug)]
struct Followed {
    informer: Informer,
    runs: bool,
    offline: bool,
}

#[derive(Debug)]
struct Listening {
    of: String,
    filter: Texts,
    held: bool,
    removed: bool,
}

impl Driver {
    /// Plays a scenario to its end, and returns what came of it.
    pub async fn play(
        scenario: &Scenario,
        stage: Stage,
        player: Player,
        log: Arc<Log>,
    ) -> Result<Record, String> {
        let record = Record::default();
        let mut driver =
            Self { stage, player, log, informers: BTreeMap::new(), handlers: BTreeMap::new(), record };
        let begin =
            Command { what: "begin", kubeconfig: driver.stage.kubeconfig().to_owned(), ..Command::default() };
        driver.player.call(begin).await?;
        let played = driver.steps(&scenario.steps).await;
        let ended = driver.player.call(Command { what: "end", ..Command::default() }).await;
        played.map_err(|why| driver.explain(&why))?;
        ended?;
        driver.record.take(&driver.log.all(), &driver.stage);
        for (name, followed) in &driver.informers {
            driver.record.asked.insert(name.clone(), driver.stage.asked(&followed.informer));
        }
        Ok(driver.record)
    }

    async fn steps(&mut self, steps: &[Step]) -> Result<(), String> {
        for (number, step) in steps.iter().enumerate() {
            self.log.step(number);
            let done = async {
                self.step(step).await?;
                self.settle().await
            };
            done.await.map_err(|why| format!("step {number} ({step:?}): {why}"))?;
        }
        Ok(())
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Together(steps) => {
                for step in steps {
                    Box::pin(self.step(step)).await?;
                }
                Ok(())
            }
            Step::Informer(informer) => self.informer(informer).await,
            Step::Handler(handler) => self.handler(handler).await,
            Step::Start(name) => {
                let followed = self.followed(name)?;
                followed.runs = true;
                let informer = followed.informer.clone();
                self.stage.remembered(&informer).await?;
                self.call("start", name, "").await.map(drop)
            }
            Step::Stop(name) => {
                self.followed(name)?.runs = false;
                self.call("stop", name, "").await.map(drop)
            }
            Step::Cancel(name) => {
                self.followed(name)?.runs = false;
                self.call("cancel", name, "").await.map(drop)
            }
            Step::Remove(name) => {
                self.listening(name)?.removed = true;
                self.call("remove", "", name).await.map(drop)
            }
            Step::Release(name) => {
                self.listening(name)?.held = false;
                self.call("release", "", name).await.map(drop)
            }
            Step::Index(index) => {
                let added = self.call("index", &self.named(&index.of), &index.name).await;
                refused_if(index.refused, added)
            }
            Step::Create(object) => self.stage.create(object).await,
            Step::CreateMany(many) => {
                for number in 0..many.count {
                    let yaml = format!("{{name: {}-{number}}}", many.prefix);
                    let object = serde_saphyr::from_str(&yaml).map_err(|error| error.to_string())?;
                    self.stage.create(&object).await?;
                }
                Ok(())
            }
            Step::Update(object) => self.stage.update(object).await,
            Step::Touch(object) => self.stage.touch(object).await,
            Step::Delete(object) => self.stage.delete(object).await,
            Step::Finalize(object) => self.stage.finalize(object).await,
            Step::Ask(question) => self.ask(question).await,
            Step::Fault(fault) => self.stage.fault(fault),
            Step::Clear(name) => {
                self.stage.clear(name);
                Ok(())
            }
            Step::StopWatches(_) => {
                let requests = self.stage.stop_watches()?;
                // Whoever asks again has seen the end.
                let again = async |driver: &mut Self| Ok(driver.stage.count_requests()? >= requests);
                self.until("all have asked again", again).await
            }
            Step::Compact(_) => self.stage.compact(),
            Step::Offline(name) => {
                let followed = self.followed(name)?;
                followed.offline = true;
                let informer = followed.informer.clone();
                self.stage.offline(name, &informer)?;
                self.until("it is refused", async |driver: &mut Self| Ok(driver.stage.hits(name) > 0)).await
            }
            Step::Online(name) => {
                self.followed(name)?.offline = false;
                self.stage.clear(name);
                Ok(())
            }
            waiting => self.wait(waiting).await,
        }
    }

    /// Does the steps that wait for something.
    async fn wait(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::WaitSynced(name) => self.wait_synced("wait-synced", name, "").await,
            Step::WaitHandlerSynced(name) => self.wait_synced("wait-handler-synced", "", name).await,
            Step::WaitHeard(count) => {
                let heard = |driver: &mut Self| driver.log.look(&count.of, |log| log.heard.len() as u64);
                self.until("it has heard so much", async |driver: &mut Self| Ok(heard(driver) >= count.count))
                    .await
            }
            Step::WaitRounds(count) => {
                let before = self.rounds();
                let rounds = |driver: &mut Self| driver.log.look(&count.of, HandlerLog::rounds);
                self.until("it was told again", async |driver: &mut Self| Ok(rounds(driver) >= count.count))
                    .await?;
                tokio::time::sleep(ROUND).await;
                let after = self.rounds();
                let ever =
                    after.iter().filter(|(_, told)| **told > 0).map(|(name, _)| name.clone()).collect();
                let since = |name: &str, told: u64| told - before.get(name).copied().unwrap_or(0);
                let meanwhile: BTreeMap<String, u64> =
                    after.into_iter().map(|(name, told)| (name.clone(), since(&name, told))).collect();
                let clock = meanwhile.get(&count.of).copied().unwrap_or(0);
                self.record.rounds.push(Rounds { clock, meanwhile, ever });
                Ok(())
            }
            Step::WaitVersion(name) => {
                let wanted = self.stage.last_version();
                self.until("its version is that of the last write", async |driver: &mut Self| {
                    let answer = driver.call("version", name, "").await?;
                    let Answer::Text(version) = answer else { return Ok(false) };
                    Ok(version.parse::<u64>().is_ok_and(|version| version >= wanted))
                })
                .await
            }
            Step::WaitLists(count) => {
                let informer = self.followed(&count.of)?.informer.clone();
                self.until("everything was asked for so often", async |driver: &mut Self| {
                    Ok(driver.stage.lists(&informer)? >= count.count)
                })
                .await
            }
            Step::WaitFault(count) => {
                self.until("it has gone wrong so often", async |driver: &mut Self| {
                    Ok(driver.stage.hits(&count.of) >= count.count)
                })
                .await
            }
            other => Err(format!("nobody knows what to do: {other:?}")),
        }
    }

    /// How often each handler was told everything again until now.
    fn rounds(&self) -> BTreeMap<String, u64> {
        let all = self.handlers.keys();
        all.map(|name| (name.clone(), self.log.look(name, HandlerLog::rounds))).collect()
    }

    async fn wait_synced(&mut self, what: &'static str, of: &str, name: &str) -> Result<(), String> {
        let waited = tokio::time::timeout(PATIENCE, self.call(what, of, name)).await;
        match waited.map_err(|_| "it never synced".to_owned())?? {
            Answer::Bool(true) => Ok(()),
            other => Err(format!("it did not sync: {other:?}")),
        }
    }

    async fn informer(&mut self, informer: &Informer) -> Result<(), String> {
        let known = Known::find(&informer.resource)?;
        let mut labels = informer.labels.clone();
        labels.extend(self.stage.own_labels());
        let mut fields = informer.fields.clone();
        if let Some(namespace) = fields.get_mut("metadata.namespace") {
            *namespace = self.stage.namespace(namespace);
        }
        let spec = InformerSpec {
            mode: match informer.mode {
                Mode::Typed => "typed",
                Mode::Dynamic => "dynamic",
                Mode::Metadata => "metadata",
            },
            group: known.group,
            version: known.version,
            resource: known.plural,
            namespace: self.stage.namespace(&informer.namespace),
            labels: selector(&labels),
            fields: selector(&fields),
            resync: informer.resync,
            transform: informer.transform.clone(),
            indexes: informer.indexes.clone(),
        };
        let command = Command {
            what: "informer",
            name: informer.name.clone(),
            informer: Some(spec),
            ..Command::default()
        };
        self.player.call(command).await?;
        let followed = Followed { informer: informer.clone(), runs: false, offline: false };
        self.informers.insert(informer.name.clone(), followed);
        Ok(())
    }

    async fn handler(&mut self, handler: &Handler) -> Result<(), String> {
        let of = self.named(&handler.of);
        let command = Command {
            what: "handler",
            of: of.clone(),
            handler: Some(handler_spec(handler)),
            ..Command::default()
        };
        refused_if(handler.refused, self.player.call(command).await)?;
        if !handler.refused {
            self.listens(&of, handler);
        }
        Ok(())
    }

    fn listens(&mut self, of: &str, handler: &Handler) {
        let listening = Listening {
            of: of.to_owned(),
            filter: handler.filter.clone(),
            held: handler.held,
            removed: false,
        };
        self.handlers.insert(handler.name.clone(), listening);
        if let Some(other) = &handler.adds {
            self.listens(of, other);
        }
    }

    async fn ask(&mut self, question: &Question) -> Result<(), String> {
        let of = self.named(&question.of);
        let answer = if question.what == "lists" {
            let informer = self.followed(&of)?.informer.clone();
            self.stage.lists(&informer)?.to_string()
        } else {
            let command = Command {
                what: question_word(&question.what)?,
                of,
                name: question.name.clone(),
                namespace: self.stage.namespace(&question.namespace),
                labels: question.labels.clone(),
                value: question.value.clone(),
                ..Command::default()
            };
            let answer = self.player.call(command).await;
            self.record.in_words(answer, &self.stage)
        };
        self.record.answers.push((question.clone(), answer));
        Ok(())
    }

    async fn call(&mut self, what: &'static str, of: &str, name: &str) -> Result<Answer, String> {
        let command = Command { what, of: of.to_owned(), name: name.to_owned(), ..Command::default() };
        self.player.call(command).await
    }

    /// Waits until stores and handlers have come to what is on the server, as far as they can.
    async fn settle(&mut self) -> Result<(), String> {
        let waiting: BTreeSet<String> = self.handlers.keys().cloned().collect();
        for name in waiting {
            self.settle_handler(&name).await?;
        }
        let running = self.informers.iter().filter(|(_, followed)| followed.runs && !followed.offline);
        let running: Vec<String> = running.map(|(name, _)| name.clone()).collect();
        let count = running.len();
        // So that what an informer does next begins with a watch, and not with one that it is about to open.
        self.until("all watches are open", async |driver: &mut Self| Ok(driver.stage.has_watches(count)))
            .await?;
        for name in running {
            let informer = self.followed(&name)?.informer.clone();
            let wanted = self.stage.wanted(&informer, &Texts::new());
            self.until("the store is what is on the server", async |driver: &mut Self| {
                let Answer::Objects(objects) = driver.call("store", &name, "").await? else {
                    return Ok(wanted.is_empty());
                };
                let has: BTreeMap<String, State> =
                    objects.iter().map(|seen| (seen.key.clone(), State::of(seen))).collect();
                Ok(has == wanted)
            })
            .await?;
        }
        Ok(())
    }

    async fn settle_handler(&mut self, name: &str) -> Result<(), String> {
        let Some(listening) = self.handlers.get(name) else { return Ok(()) };
        let Some(followed) = self.informers.get(&listening.of) else { return Ok(()) };
        if listening.held || listening.removed || !followed.runs || followed.offline {
            return Ok(());
        }
        let wanted = self.stage.wanted(&followed.informer, &listening.filter);
        let mut changes = self.log.changes();
        let settled = async {
            while self.log.look(name, |log| log.view != wanted) {
                // The log is held here, so there will be changes or none.
                let _ = changes.changed().await;
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, settled).await.is_ok();
        if in_time { Ok(()) } else { Err(format!("the handler {name} did not come to hear of {wanted:?}")) }
    }

    async fn until(
        &mut self,
        what: &str,
        mut is_so: impl AsyncFnMut(&mut Self) -> Result<bool, String>,
    ) -> Result<(), String> {
        let so = async {
            while !is_so(self).await? {
                tokio::time::sleep(POLL).await;
            }
            Ok(())
        };
        let in_time = tokio::time::timeout(PATIENCE, so).await;
        in_time.unwrap_or_else(|_| Err(format!("it never came that {what}")))
    }

    /// The informer of this name; the only one if there is no name.
    fn named(&self, of: &str) -> String {
        match self.informers.keys().next() {
            Some(only) if of.is_empty() => only.clone(),
            _ => of.to_owned(),
        }
    }

    fn followed(&mut self, name: &str) -> Result<&mut Followed, String> {
        self.informers.get_mut(name).ok_or_else(|| format!("there is no informer {name:?}"))
    }

    fn listening(&mut self, name: &str) -> Result<&mut Listening, String> {
        self.handlers.get_mut(name).ok_or_else(|| format!("there is no handler {name:?}"))
    }

    /// What went wrong, with what was heard and asked until then.
    fn explain(&self, why: &str) -> String {
        let mut record = self.record.clone();
        record.take(&self.log.all(), &self.stage);
        let mut text = format!("{}: {why}\n{record}", self.player.name());
        for request in self.stage.requests() {
            let _ = writeln!(text, "  asked: {request}");
        }
        text
    }
}

fn handler_spec(handler: &Handler) -> HandlerSpec {
    HandlerSpec {
        name: handler.name.clone(),
        resync: handler.resync,
        filter: selector(&handler.filter),
        held: handler.held,
        panics: handler.panics.clone(),
        adds: handler.adds.as_ref().map(|other| Box::new(handler_spec(other))),
    }
}

fn selector(texts: &Texts) -> String {
    texts.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
}

fn refused_if(refused: bool, outcome: Result<Answer, String>) -> Result<(), String> {
    match (refused, outcome) {
        (false, outcome) => outcome.map(drop),
        (true, Err(_)) => Ok(()),
        (true, Ok(_)) => Err("it should have been refused".to_owned()),
    }
}

fn question_word(what: &str) -> Result<&'static str, String> {
    const WORDS: [&str; 9] = [
        "synced",
        "handler-synced",
        "stopped",
        "version",
        "store",
        "by-index",
        "index-values",
        "list",
        "get",
    ];
    WORDS.into_iter().find(|word| *word == what).ok_or_else(|| format!("nobody knows the question {what:?}"))
}
