//! client-go and ours play every scenario, on the embedded server and on a real one, and must hear the same. And what
//! client-go hears must be the same on both servers.
//!
//! `KUBE_INFORMER_SCENARIO=name` plays only those whose name contains it, and shows what was heard.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::{StreamExt, stream};
use kube_informer_e2e::{Options, RealServer};
use kube_informer_e2e_judge::scenario::Way;
use kube_informer_e2e_judge::{
    ClientGo, Driver, Log, Ours, Player, Record, Scenario, Stage, compare, compare_servers, define_widgets,
    skip,
};

/// So many scenarios are played at once: most of their time they wait.
const AT_ONCE: usize = 16;

/// Plays only these scenarios, and shows what was heard.
const ONLY_VARIABLE: &str = "KUBE_INFORMER_SCENARIO";

/// Where scenarios are played.
enum Place {
    Embedded,
    Real(Box<RealServer>),
}

impl Place {
    async fn stage(&self, scenario: &Scenario, run: &str) -> Result<Stage, String> {
        match self {
            Place::Embedded => Stage::embedded(scenario.server.as_ref()).await,
            Place::Real(server) => Stage::real(server, run).await,
        }
    }
}

fn chosen(only_real: bool) -> Vec<Scenario> {
    let only = std::env::var(ONLY_VARIABLE).unwrap_or_default();
    let all = Scenario::all().unwrap_or_else(|why| panic!("{why}"));
    all.into_iter().filter(|one| one.name.contains(&only) && (!only_real || one.is_for_real())).collect()
}

/// Plays a scenario with one player.
async fn play(
    scenario: &Scenario,
    place: &Place,
    way: Way,
    client_go: Option<&Arc<ClientGo>>,
) -> Result<Record, String> {
    // Where runs share a server, their names keep them apart.
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let run = format!("{}-{}", scenario.name, RUNS.fetch_add(1, Ordering::Relaxed));
    let stage = place.stage(scenario, &run).await?;
    let log = Arc::new(Log::new());
    let player = match client_go {
        Some(process) => {
            process.listen(&run, &log);
            Player::ClientGo(Arc::clone(process), run)
        }
        None => Player::Ours(Box::new(Ours::new(stage.client(), way, Arc::clone(&log)))),
    };
    Driver::play(scenario, stage, player, log).await
}

/// Plays a scenario with both; returns in what they differ, in words.
async fn judge(scenario: &Scenario, place: &Place, way: Way, client_go: &Arc<ClientGo>) -> Vec<String> {
    let (theirs, ours) =
        tokio::join!(play(scenario, place, way, Some(client_go)), play(scenario, place, way, None));
    let (theirs, ours) = match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => (theirs, ours),
        (theirs, ours) => return [theirs.err(), ours.err()].into_iter().flatten().collect(),
    };
    let mut differences = compare(scenario, &theirs, &ours);
    if matches!(place, Place::Real(_)) {
        match play(scenario, &Place::Embedded, way, Some(client_go)).await {
            Ok(embedded) => differences.extend(compare_servers(scenario, &theirs, &embedded)),
            Err(why) => differences.push(why),
        }
    }
    let head = format!("{} ({way:?}): ", scenario.name);
    if !differences.is_empty() || std::env::var_os(ONLY_VARIABLE).is_some() {
        let _ = writeln!(std::io::stderr(), "{head}\n client-go:\n{theirs}\n ours:\n{ours}");
    }
    differences.into_iter().map(|difference| head.clone() + &difference).collect()
}

/// In what plays differ. Said at the end of a test, without a trace of where in the test that is.
struct Differences(Vec<String>);

impl fmt::Debug for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} differences:\n{}", self.0.len(), self.0.join("\n"))
    }
}

/// Plays all scenarios that a place can play.
async fn judge_all(place: &Place, scenarios: &[Scenario]) -> Result<(), Differences> {
    let processes =
        [Way::Stream, Way::List].map(|way| ClientGo::start(way).unwrap_or_else(|why| panic!("{why}")));
    let plays = scenarios.iter().flat_map(|scenario| scenario.ways.iter().map(move |way| (scenario, *way)));
    let plays = plays.map(|(scenario, way)| {
        let client_go = &processes[usize::from(way == Way::List)];
        judge(scenario, place, way, client_go)
    });
    let plays: Vec<Vec<String>> = stream::iter(plays).buffer_unordered(AT_ONCE).collect().await;
    let count = plays.len();
    let mut differences: Vec<String> = plays.into_iter().flatten().collect();
    let _ = writeln!(std::io::stderr(), "{} scenarios, {count} plays", scenarios.len());
    differences.sort();
    if differences.is_empty() { Ok(()) } else { Err(Differences(differences)) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn client_go_and_ours_hear_the_same_on_the_embedded_server() -> Result<(), Differences> {
    if skip() {
        return Ok(());
    }
    judge_all(&Place::Embedded, &chosen(false)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn client_go_and_ours_hear_the_same_on_a_real_server_and_client_go_on_both_servers()
-> Result<(), Differences> {
    if skip() || kube_informer_e2e::skip() {
        return Ok(());
    }
    let server = RealServer::start(Options::new()).await.unwrap_or_else(|error| panic!("{error}"));
    define_widgets(&server).await.unwrap_or_else(|why| panic!("{why}"));
    let (place, scenarios) = (Place::Real(Box::new(server)), chosen(true));
    judge_all(&place, &scenarios).await
}

#[test]
fn every_scenario_can_be_read_and_says_what_it_is_about() {
    let all = Scenario::all().unwrap_or_else(|why| panic!("{why}"));
    assert!(all.len() >= 40, "{} scenarios", all.len());
    for scenario in &all {
        let name = &scenario.name;
        assert!(scenario.about.len() > 20 && !scenario.steps.is_empty(), "{name} says what it is about");
        assert!(scenario.allow.values().all(|why| why.len() > 20), "{name} says why something may differ");
        assert!(scenario.differs.values().all(|one| one.why.len() > 20), "{name} says why it differs");
    }
}

#[test]
fn the_docs_say_how_many_scenarios_there_are() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_to_string(here.join("../../docs/robustness.md")).unwrap();
    let all = Scenario::all().unwrap_or_else(|why| panic!("{why}"));
    let plays = |real: bool| {
        let played = all.iter().filter(|one| !real || one.is_for_real());
        played.map(|one| one.ways.len()).sum::<usize>()
    };
    let said = format!("**{} scenarios, {} plays on the", all.len(), plays(false));
    assert!(docs.contains(&said) && docs.contains(&format!("and {} on a real", plays(true))), "{said}");
    let mut families: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for scenario in &all {
        *families.entry(&scenario.family).or_default() += 1;
    }
    for (family, count) in families {
        let row = format!("| {family} | {count} |");
        assert!(docs.contains(&row), "there is no row {row:?}");
    }
}

#[test]
fn every_scenario_that_the_list_of_promises_names_exists() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = std::fs::read_to_string(here.join("../scenarios/README.md")).unwrap();
    let all = Scenario::all().unwrap_or_else(|why| panic!("{why}"));
    let rows: Vec<&str> = list.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 20, "{} promises", rows.len());
    for row in rows {
        let played = row.rsplit(" | ").next().unwrap();
        let names: Vec<&str> = played.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty() || played.contains("every play"), "{row}");
        for name in names {
            assert!(all.iter().any(|one| one.name == name), "there is no scenario {name}");
        }
    }
}
