//! The queue against a model of it that is too simple to be wrong, on thousands of random stories.

use tokio::time::Instant;

use super::*;

const STORIES: u64 = 400;
const STEPS: usize = 300;
const KEYS: u64 = 12;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    key: u64,
    priority: i32,
    /// Its number among all adds.
    order: u64,
}

/// Lists, searched from end to end.
struct Model {
    rules: Rules,
    waiting: Vec<Item>,
    again: Vec<Item>,
    delayed: Vec<(Instant, Item)>,
    working: Vec<u64>,
    adds: u64,
}

impl Model {
    fn new(rules: Rules) -> Self {
        Self { rules, waiting: vec![], again: vec![], delayed: vec![], working: vec![], adds: 0 }
    }

    fn number(&mut self) -> u64 {
        self.adds += 1;
        self.adds
    }

    fn pass(&mut self, now: Instant) {
        loop {
            self.delayed.sort_by_key(|(due, item)| (*due, item.order));
            let Some((due, item)) = self.delayed.first().copied() else { return };
            if due > now {
                return;
            }
            self.delayed.remove(0);
            self.add(item.key, item.priority);
        }
    }

    /// Takes the delay of a key away; says what the key has after that, if the delay mattered.
    fn merge(&mut self, key: u64, priority: i32) -> Option<(Instant, Item)> {
        let at = self.delayed.iter().position(|(_, item)| item.key == key)?;
        let (due, mut item) = self.delayed.remove(at);
        if priority > item.priority {
            item.priority = priority;
            item.order = self.number();
        }
        Some((due, item))
    }

    fn rise(&mut self, key: u64, priority: i32) -> bool {
        let number = self.adds + 1;
        let Some(item) = self.waiting.iter_mut().chain(&mut self.again).find(|item| item.key == key) else {
            return false;
        };
        if priority > item.priority {
            (item.priority, item.order) = (priority, number);
            self.adds = number;
        }
        true
    }

    fn add(&mut self, key: u64, priority: i32) {
        let merged = if self.rules == Rules::Merged { self.merge(key, priority) } else { None };
        let priority = merged.map_or(priority, |(_, item)| item.priority);
        if self.rise(key, priority) {
            return;
        }
        let order = merged.map_or_else(|| self.number(), |(_, item)| item.order);
        let item = Item { key, priority, order };
        if self.working.contains(&key) { self.again.push(item) } else { self.waiting.push(item) }
    }

    fn delay(&mut self, key: u64, priority: i32, due: Instant) {
        if self.rules == Rules::Merged && self.rise(key, priority) {
            return;
        }
        match self.merge(key, priority) {
            Some((old, item)) => self.delayed.push((old.min(due), item)),
            None => {
                let order = self.number();
                self.delayed.push((due, Item { key, priority, order }));
            }
        }
    }

    fn take(&mut self) -> Option<(u64, i32)> {
        let best =
            self.waiting.iter().copied().max_by_key(|item| (item.priority, std::cmp::Reverse(item.order)))?;
        self.waiting.retain(|item| *item != best);
        self.working.push(best.key);
        Some((best.key, best.priority))
    }

    fn done(&mut self, key: u64) {
        self.working.retain(|other| *other != key);
        if let Some(at) = self.again.iter().position(|item| item.key == key) {
            let mut item = self.again.remove(at);
            if self.rules == Rules::Layered {
                item.order = self.number();
            }
            self.waiting.push(item);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_story_goes_as_the_model_says() {
    for seed in 0..STORIES {
        for rules in ALL_RULES {
            story(seed, rules).await;
        }
    }
}

async fn story(seed: u64, rules: Rules) {
    let mut random = Random(seed);
    let queue = WorkQueue::builder().rules(rules).patience(Duration::MAX).build();
    let mut model = Model::new(rules);
    let mut held: Vec<Work<u64>> = Vec::new();
    let levels = 1 + random.below(4);
    for step in 0..STEPS {
        let context = || format!("seed {seed}, {rules:?}, step {step}");
        let (key, level) = (random.below(KEYS), random.below(levels) as i32);
        match random.below(12) {
            0..=3 => {
                assert!(queue.add_with(key, priority(level)));
                model.pass(Instant::now());
                model.add(key, level);
            }
            4 | 5 => {
                let delay = (1 + random.below(20) as u32) * MS;
                assert!(queue.add_with(key, priority(level).after(delay)));
                model.pass(Instant::now());
                model.delay(key, level, Instant::now() + delay);
            }
            6..=8 => {
                model.pass(Instant::now());
                let work = queue.try_get();
                let taken = work.as_ref().map(|work| (**work, work.priority()));
                assert_eq!(taken, model.take(), "{}", context());
                held.extend(work);
            }
            9 | 10 if !held.is_empty() => {
                let work = held.swap_remove(random.below(held.len() as u64) as usize);
                model.done(*work);
                work.done();
            }
            _ => tokio::time::advance((1 + random.below(10) as u32) * MS).await,
        }
        if random.below(4) == 0 {
            model.pass(Instant::now());
            let expected = (model.waiting.len(), model.delayed.len());
            assert_eq!((queue.len(), queue.delayed()), expected, "{}", context());
        }
    }
    end(seed, rules, queue, model, held).await;
}

/// Nothing that the model still has is lost, whichever way the queue ends.
async fn end(seed: u64, rules: Rules, queue: WorkQueue<u64>, mut model: Model, held: Vec<Work<u64>>) {
    let context = format!("seed {seed}, {rules:?}");
    model.pass(Instant::now());
    model.delayed.sort_by_key(|(due, item)| (*due, item.order));
    let delayed: Vec<u64> = model.delayed.iter().map(|(_, item)| item.key).collect();
    if seed.is_multiple_of(2) {
        assert_eq!(queue.shut_down(), delayed, "{context}");
        drop(held);
        let mut left: Vec<u64> = model.waiting.iter().chain(&model.again).map(|item| item.key).collect();
        let mut rest = Vec::new();
        while let Some(work) = queue.get().await {
            rest.push(*work);
        }
        left.sort_unstable();
        rest.sort_unstable();
        assert_eq!(rest, left, "{context}");
    } else {
        let mut left: Vec<u64> = model.waiting.iter().chain(&model.again).map(|item| item.key).collect();
        left.extend(delayed);
        left.sort_unstable();
        left.dedup();
        let mut dropped = queue.shut_down_now();
        dropped.sort_unstable();
        assert_eq!(dropped, left, "{context}");
        drop(held);
        assert!(queue.get().await.is_none(), "{context}");
    }
}
