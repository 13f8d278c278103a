//! Three candidates and whatever can go wrong, from a seed.

use std::time::Duration;

use kube_testserver::{Fault, TestServer, Verb};

use super::support::*;

const SEEDS: u64 = 40;
const STEPS: u64 = 60;
const NAMES: [&str; 3] = ["a", "b", "c"];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }
}

fn start(server: &TestServer, name: &str, life: u64, log: &Log, manner: Manner) -> Process {
    // Each life is another process, with another name.
    let name = format!("{name}-{life}");
    Process::start_with(server, &name, log, manner, |builder| {
        builder.release_on_cancel(life.is_multiple_of(2))
    })
}

/// Minutes of trouble, then peace. Says how many terms there were.
async fn story(seed: u64, frost: bool) -> usize {
    let mut random = Random(seed);
    let server = TestServer::builder().seed(seed).start().await.unwrap();
    let log = Log::default();
    // What is frozen must ask before it acts; otherwise an abort is enough.
    let manner = if frost { Manner::Careful } else { Manner::Stubborn };
    let mut processes = NAMES.map(|name| Some(start(&server, name, 0, &log, manner)));
    for life in 1..=STEPS {
        tokio::time::sleep(Duration::from_millis(random.below(8000))).await;
        let at = random.below(3) as usize;
        let Some(process) = processes[at].take() else { continue };
        let next = match random.below(12) {
            0 | 1 => {
                process.gate.set([Line::Refused, Line::Silent, Line::Deaf][random.below(3) as usize]);
                process
            }
            2..=4 => {
                process.gate.set(Line::Open);
                process
            }
            5 if frost => {
                process.freezer.freeze();
                process
            }
            6 => {
                process.freezer.thaw();
                process
            }
            7 => {
                process.kill().await;
                start(&server, NAMES[at], life, &log, manner)
            }
            8 => {
                server.inject(Fault::lost_reply().on(Verb::Update).times(1 + random.below(4)));
                process
            }
            9 => {
                server.inject(
                    Fault::delay(Duration::from_millis(random.below(12_000))).times(1 + random.below(3)),
                );
                process
            }
            10 => {
                server
                    .inject(Fault::stale_read(1 + random.below(3)).on(Verb::Get).times(1 + random.below(3)));
                process
            }
            _ => {
                server.inject(Fault::reply(503).times(random.below(6)));
                process
            }
        };
        processes[at] = Some(next);
    }
    server.clear_faults();
    for process in processes.iter().flatten() {
        process.gate.set(Line::Open);
        process.freezer.thaw();
    }
    tokio::time::sleep(40 * S).await;
    log.assert_never_two();
    let last = log.acts().last().expect("somebody has acted").at;
    assert!(last.elapsed() < S, "seed {seed}: nobody leads in peace");
    for process in processes.into_iter().flatten() {
        process.kill().await;
    }
    log.terms().len()
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_two_never_act_and_in_the_end_one_does() {
    let mut terms = 0;
    for seed in 0..SEEDS {
        terms += story(seed, false).await;
    }
    assert!(terms as u64 > 2 * SEEDS, "leadership has changed: {terms}");
}

#[tokio::test(start_paused = true)]
async fn whatever_freezes_two_never_act_if_they_ask_before_they_do() {
    let mut terms = 0;
    for seed in 0..SEEDS {
        terms += story(seed, true).await;
    }
    assert!(terms as u64 > 2 * SEEDS, "leadership has changed: {terms}");
}
