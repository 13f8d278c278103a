//! How leadership is lost, and that the work has ended by then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use kube_controller::leader::{Loss, Outcome};
use kube_testserver::{Fault, Verb};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::support::*;

#[tokio::test(start_paused = true)]
async fn work_is_told_at_the_deadline_and_aborted_before_the_lease_is_over() {
    for line in [Line::Refused, Line::Silent] {
        let server = server().await;
        let gate = Gate::default();
        let mut elector = builder(gate.client(&server), "a").build().unwrap();
        let status = elector.watch_status();
        let told = Arc::new(parking_lot::Mutex::new(None));
        let last = Arc::new(parking_lot::Mutex::new(Instant::now()));
        let started = Instant::now();
        let cut = async {
            tokio::time::sleep(9 * S).await;
            gate.set(line);
            std::future::pending::<()>().await;
        };
        let stop = CancellationToken::new();
        let run = elector.run(&stop, |leading| {
            let (told, last) = (Arc::clone(&told), Arc::clone(&last));
            async move {
                loop {
                    if leading.is_stopped() {
                        told.lock().get_or_insert_with(Instant::now);
                    }
                    *last.lock() = Instant::now();
                    tokio::time::sleep(MS).await;
                }
            }
        });
        let outcome = tokio::select! { outcome = run => outcome, () = cut => unreachable!() };
        assert_eq!(outcome, Outcome::Lost(Loss::NotRenewed));
        // Renewals were sent after 0, 2, 4, 6 and 8 seconds.
        let since = |at: Instant| at - started - 8 * S;
        assert!((10 * S..10 * S + 2 * MS).contains(&since(told.lock().unwrap())), "{line:?}: {told:?}");
        assert!((12 * S..=12 * S + 500 * MS).contains(&since(*last.lock())), "{line:?}: {last:?}");
        assert_eq!(since(Instant::now()), 12 * S + 500 * MS);
        assert!(!status.borrow().leading);
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_has_stopped_when_another_begins() {
    for line in [Line::Refused, Line::Silent, Line::Deaf] {
        let (server, log) = (server().await, Log::default());
        let a = Process::start(&server, "a", &log, Manner::Stubborn);
        tokio::time::sleep(S).await;
        let b = Process::start(&server, "b", &log, Manner::Stubborn);
        tokio::time::sleep(30 * S).await;
        a.gate.set(line);
        tokio::time::sleep(60 * S).await;
        assert_eq!(log.leaders(), ["a", "b"], "{line:?}");
        assert_eq!(holder(&server), "b");
        a.gate.set(Line::Open);
        tokio::time::sleep(60 * S).await;
        assert_eq!(log.leaders(), ["a", "b"], "the other one leads now");
        b.kill().await;
        tokio::time::sleep(60 * S).await;
        assert_eq!(log.leaders(), ["a", "b", "a"], "who has lost is a candidate again");
        log.assert_never_two();
        a.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_frozen_does_nothing_when_it_wakes_up() {
    for frozen_for in [5 * S, 11 * S, 14 * S, 16 * S, 60 * S] {
        let (server, log) = (server().await, Log::default());
        let a = Process::start(&server, "a", &log, Manner::Careful);
        tokio::time::sleep(S).await;
        let b = Process::start(&server, "b", &log, Manner::Careful);
        tokio::time::sleep(30 * S).await;
        a.freezer.freeze();
        tokio::time::sleep(frozen_for).await;
        a.freezer.thaw();
        tokio::time::sleep(60 * S).await;
        log.assert_never_two();
        let leaders = log.leaders();
        match frozen_for.as_secs() {
            5 => assert_eq!(leaders, ["a"], "the lease was not over"),
            60 => assert_eq!(leaders, ["a", "b"]),
            _ => assert!(leaders.len() <= 2, "{leaders:?}"),
        }
        a.kill().await;
        b.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_acts_during_an_outage_and_somebody_does_after_it() {
    let (server, log) = (server().await, Log::default());
    let processes = ["a", "b", "c"].map(|name| Process::start(&server, name, &log, Manner::Stubborn));
    tokio::time::sleep(30 * S).await;
    for fault in [Fault::no_reply(), Fault::reply(503), Fault::too_many_requests(S)] {
        let before = log.terms().len();
        let outage = server.inject(fault);
        let began = Instant::now();
        tokio::time::sleep(60 * S).await;
        let last = log.acts().last().unwrap().at;
        assert!(last - began <= 12 * S + 500 * MS, "{:?}", last - began);
        outage.remove();
        tokio::time::sleep(25 * S).await;
        assert_eq!(log.terms().len(), before + 1, "somebody leads again");
        assert!(log.acts().last().unwrap().at > Instant::now() - S);
    }
    log.assert_never_two();
    for process in processes {
        process.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn lost_replies_cost_a_try_and_no_more() {
    let (server, log) = (server().await, Log::default());
    server.inject(Fault::lost_reply().on(Verb::Create).times(1));
    let a = Process::start(&server, "a", &log, Manner::Stubborn);
    tokio::time::sleep(5 * S).await;
    assert_eq!(log.leaders(), ["a"], "it finds that the lease is its own");
    let b = Process::start(&server, "b", &log, Manner::Stubborn);
    let lost = server.inject(Fault::lost_reply().on(Verb::Update).with_probability(0.4));
    tokio::time::sleep(600 * S).await;
    assert!(lost.hits() > 50, "{}", lost.hits());
    assert_eq!(log.leaders(), ["a"]);
    lost.remove();
    a.kill().await;
    server.inject(Fault::lost_reply().on(Verb::Update).times(1));
    tokio::time::sleep(30 * S).await;
    assert_eq!(log.leaders(), ["a", "b"], "also where the reply to the takeover is lost");
    log.assert_never_two();
    b.kill().await;
}

#[tokio::test(start_paused = true)]
async fn work_is_aborted_at_once_when_another_has_the_lease() {
    let server = server().await;
    let mut elector = builder(server.in_process_client(), "a").release_on_cancel(true).build().unwrap();
    let stop = CancellationToken::new();
    let run = elector.run(&stop, |_| std::future::pending());
    let theft = async {
        tokio::time::sleep(5 * S).await;
        steal(&server, "thief");
        std::future::pending::<()>().await;
    };
    let started = Instant::now();
    let outcome = tokio::select! { outcome = run => outcome, () = theft => unreachable!() };
    assert_eq!(outcome, Outcome::Lost(Loss::TakenBy("thief".to_owned())));
    assert_eq!(started.elapsed(), 6 * S, "at the next try");
    assert_eq!(holder(&server), "thief", "what is not ours is not given away");
}

#[tokio::test(start_paused = true)]
async fn work_that_ends_or_panics_gives_the_lease_away_and_is_told_apart() {
    let server = server().await;
    let stopped = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&stopped);
    let mut elector = builder(server.in_process_client(), "a")
        .release_on_cancel(true)
        .on_stopped(move || {
            count.fetch_add(1, Ordering::SeqCst);
        })
        .build()
        .unwrap();
    let stop = CancellationToken::new();
    assert_eq!(elector.run(&stop, |_| async {}).await, Outcome::Ended);
    assert_eq!((holder(&server).as_str(), stopped.load(Ordering::SeqCst)), ("", 1));
    assert_eq!(elector.run_again(&stop, |_| async {}).await, Outcome::Ended);
    let outcome = elector.run(&stop, |_| async { panic!("no more tea") }).await;
    assert_eq!(outcome, Outcome::Panicked("no more tea".to_owned()));
    assert_eq!((holder(&server).as_str(), stopped.load(Ordering::SeqCst)), ("", 3));
}

#[tokio::test(start_paused = true)]
async fn a_formatted_panic_message_of_the_work_is_not_in_the_outcome() {
    let server = server().await;
    let mut elector = builder(server.in_process_client(), "a").build().unwrap();
    let password = std::hint::black_box("hunter2".to_owned());
    let outcome = elector.run(&CancellationToken::new(), |_| async move { panic!("{password:?}") }).await;
    let Outcome::Panicked(message) = outcome else { panic!("{outcome:?}") };
    assert!(!message.contains("hunter2"), "{message}");
    assert!(message.contains("not repeated"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_every_run_is_told_once_also_of_one_that_has_never_led_and_the_work_has_ended_by_then() {
    let (server, log) = (server().await, Log::default());
    let a = Process::start(&server, "a", &log, Manner::Careful);
    tokio::time::sleep(S).await;
    let told = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let (heard, working) = (Arc::clone(&told), Arc::new(AtomicU32::new(0)));
    let at_work = Arc::clone(&working);
    let mut elector = builder(server.in_process_client(), "b")
        .on_stopped(move || heard.lock().push(at_work.load(Ordering::SeqCst)))
        .build()
        .unwrap();
    let work = |stop: CancellationToken| {
        let working = Arc::clone(&working);
        move |leading: kube_controller::leader::Leading| async move {
            working.fetch_add(1, Ordering::SeqCst);
            stop.cancel();
            leading.stopped().await;
            tokio::time::sleep(S).await;
            working.fetch_sub(1, Ordering::SeqCst);
        }
    };
    let stop = CancellationToken::new();
    let run = elector.run(&stop, work(stop.clone()));
    let (outcome, ()) = tokio::join!(run, async {
        tokio::time::sleep(60 * S).await;
        assert_eq!(*told.lock(), [] as [u32; 0], "it waits for its turn");
        stop.cancel();
    });
    assert_eq!((outcome, told.lock().as_slice()), (Outcome::Cancelled, &[0][..]), "it has never led");
    assert_eq!(log.leaders(), ["a"]);

    a.kill().await;
    let stop = CancellationToken::new();
    assert_eq!(elector.run(&stop, work(stop.clone())).await, Outcome::Cancelled);
    assert_eq!(told.lock().as_slice(), [0, 0], "nobody works any more when it is told");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_run_ends_the_work() {
    let server = server().await;
    let mut elector = builder(server.in_process_client(), "a").build().unwrap();
    let alive = Arc::new(());
    let (stop, held) = (CancellationToken::new(), Arc::clone(&alive));
    let run = elector.run(&stop, |leading| async move {
        leading.stopped().await;
        tokio::time::sleep(3600 * S).await;
        drop(held);
    });
    assert!(tokio::time::timeout(S, run).await.is_err());
    tokio::task::yield_now().await;
    assert_eq!(Arc::strong_count(&alive), 1);
    assert!(!elector.status().leading);
}
