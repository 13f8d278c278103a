//! What came of a play, in words that are the same wherever it was played.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::command::{Answer, Heard, Kind, Seen};
use crate::log::HandlerLog;
use crate::scenario::Question;
use crate::stage::Stage;

/// Stands before a write if a version is later, but earlier than that of the next.
pub(crate) const AFTER: &str = "after ";

/// What came of a play.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// What each handler heard.
    pub handlers: BTreeMap<String, Vec<Line>>,
    /// What was asked, and the answers.
    pub answers: Vec<(Question, String)>,
    /// How often handlers were told everything again, each time that one was waited for.
    pub rounds: Vec<Rounds>,
    /// What each informer asked of the embedded server, and was given.
    pub asked: BTreeMap<String, Vec<String>>,
    /// Calls for which the store was behind what they told.
    pub behind: Vec<String>,
}

/// How often handlers were told everything again while one of them was waited for.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// How often that one was.
    pub clock: u64,
    /// How often each was.
    pub meanwhile: BTreeMap<String, u64>,
    /// Those that have been at any time until then.
    pub ever: BTreeSet<String>,
}

/// One call of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The step during which it came.
    pub step: usize,
    /// What it told.
    pub text: String,
    /// What it was for.
    pub sort: Sort,
}

/// What a call was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// An object that was there from the start.
    Initial,
    /// A new or changed object.
    Changed,
    /// An object that was seen to go.
    Gone,
    /// An object that is gone, and nobody saw it go.
    Unseen,
    /// An object that has not changed.
    Again,
}

impl Record {
    /// Takes what was heard.
    pub fn take(&mut self, logs: &BTreeMap<String, HandlerLog>, stage: &Stage) {
        for (handler, log) in logs {
            let lines = log.heard.iter().map(|(step, heard)| line(*step, heard, stage)).collect();
            self.handlers.insert(handler.clone(), lines);
            let behind = log.heard.iter().filter(|(_, heard)| is_behind(heard));
            let behind = behind.map(|(step, heard)| format!("{handler}, {}", line(*step, heard, stage).text));
            self.behind.extend(behind);
        }
    }

    /// An answer in words.
    pub fn in_words(&self, answer: Result<Answer, String>, stage: &Stage) -> String {
        match answer {
            Err(_) => "refused".to_owned(),
            Ok(Answer::Done(_)) => String::new(),
            Ok(Answer::Bool(yes)) => if yes { "yes" } else { "no" }.to_owned(),
            Ok(Answer::Text(version)) => match stage.write_at(&version) {
                // A real server may send a bookmark at any time.
                Some((write, exact)) if exact || stage.is_real() => format!("#{write}"),
                Some((write, _)) => format!("{AFTER}#{write}"),
                None => "before #1".to_owned(),
            },
            Ok(Answer::Texts(mut texts)) => {
                texts.sort();
                texts.join(", ")
            }
            Ok(Answer::Objects(objects)) => {
                let mut all: Vec<String> = objects.iter().map(|seen| object(seen, stage)).collect();
                all.sort();
                all.join(", ")
            }
        }
    }
}

/// The store is changed before a handler is told.
fn is_behind(heard: &Heard) -> bool {
    match (&heard.store, heard.kind) {
        (Some(store), Kind::Delete) => store.write() <= heard.object.write() && !heard.unknown,
        (Some(store), _) => store.write() < heard.object.write(),
        // It may be gone by now.
        (None, _) => false,
    }
}

fn line(step: usize, heard: &Heard, stage: &Stage) -> Line {
    let now = object(&heard.object, stage);
    let (text, sort) = match (heard.kind, &heard.old) {
        (Kind::Add, _) if heard.initial => (format!("there {now}"), Sort::Initial),
        (Kind::Add, _) => (format!("add {now}"), Sort::Changed),
        (Kind::Delete, _) if heard.unknown => (format!("gone unseen {now}"), Sort::Unseen),
        (Kind::Delete, _) => (format!("delete {now}"), Sort::Gone),
        (Kind::Update, Some(_)) if heard.is_again() => (format!("again {now}"), Sort::Again),
        (Kind::Update, old) => {
            let before = old.as_ref().map(|old| format!("#{}", old.write)).unwrap_or_default();
            let other = old.as_ref().is_some_and(|old| old.uid != heard.object.uid);
            let other = if other { " with another uid" } else { "" };
            (format!("update {now}, was {before}{other}"), Sort::Changed)
        }
    };
    Line { step, text, sort }
}

/// An object in words: `one/a #3 app=web`.
fn object(seen: &Seen, stage: &Stage) -> String {
    let mut text = format!("{} #{}", stage.common(&seen.key), seen.write);
    // An object has the version of its last write, unless something else happened to it.
    let written = stage.version_of(seen.write());
    match (seen.version.parse::<u64>().ok(), written) {
        (None, _) => text.push_str(" without a version"),
        (Some(version), Some(written)) if version > written => text.push_str(" at a later version"),
        (Some(version), Some(written)) if version < written => text.push_str(" at an earlier version"),
        _ => {}
    }
    for (name, value) in seen.labels.iter().filter(|(name, _)| *name != "run") {
        text.push_str(&format!(" {name}={value}"));
    }
    if !seen.count.is_empty() {
        text.push_str(&format!(" transformed {}", seen.count));
    }
    if seen.deleting {
        text.push_str(" being deleted");
    }
    text
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (handler, lines) in &self.handlers {
            writeln!(f, "  {handler} heard:")?;
            for line in lines {
                writeln!(f, "    {:>2} {}", line.step, line.text)?;
            }
        }
        for (question, answer) in &self.answers {
            writeln!(f, "  {} {} {}: {answer}", question.what, question.of, question.name)?;
        }
        for (informer, asked) in &self.asked {
            writeln!(f, "  {informer} asked: {asked:?}")?;
        }
        self.rounds.iter().try_for_each(|rounds| {
            writeln!(f, "  told again while one was {} times: {:?}", rounds.clock, rounds.meanwhile)
        })?;
        self.behind.iter().try_for_each(|behind| writeln!(f, "  the store was behind: {behind}"))
    }
}
