//! Whether two plays of a scenario are the same, but for what may differ.

use std::collections::BTreeSet;

use crate::record::{AFTER, Line, Record, Sort};
use crate::scenario::{Freedom, Scenario};

/// How many rounds of a resync two plays may differ in, as if both had lasted equally long: when it is looked is not when
/// it is told.
const ROUNDS_FREE: u64 = 1;

/// In what client-go and ours differ on one server; nothing if they do not.
pub fn compare(scenario: &Scenario, client_go: &Record, ours: &Record) -> Vec<String> {
    Pair { scenario, names: ["client-go", "ours"], records: [client_go, ours] }.differences(true)
}

/// In what a real server and ours differ for one client; nothing if they do not.
pub fn compare_servers(scenario: &Scenario, real: &Record, embedded: &Record) -> Vec<String> {
    Pair { scenario, names: ["the real server", "our server"], records: [real, embedded] }.differences(false)
}

/// Two plays of a scenario.
struct Pair<'a> {
    scenario: &'a Scenario,
    names: [&'static str; 2],
    records: [&'a Record; 2],
}

impl Pair<'_> {
    /// In what they differ; `pinned` says that what is pinned is to be so.
    fn differences(&self, pinned: bool) -> Vec<String> {
        let [one, two] = self.records;
        let names: BTreeSet<&String> = one.handlers.keys().chain(two.handlers.keys()).collect();
        let mut differences: Vec<String> =
            names.into_iter().flat_map(|name| self.handler(name, pinned)).collect();
        for ((question, first), (_, second)) in one.answers.iter().zip(&two.answers) {
            let wanted = match &question.differs {
                Some(differs) if pinned => (&differs.client_go, &differs.ours),
                _ => (first, first),
            };
            // Versions are exact on the embedded server only.
            let inexact = |answer: &str| answer.strip_prefix(AFTER).unwrap_or(answer).to_owned();
            let same = match pinned {
                true => (first, second) == wanted,
                false => inexact(first) == inexact(second),
            };
            if !same {
                let [one, two] = self.names;
                differences.push(format!("{question:?}: {one} says {first:?}, {two} says {second:?}"));
            }
        }
        differences.extend(self.rounds());
        if pinned {
            differences.extend(self.asked());
        }
        for (who, record) in self.names.iter().zip(self.records) {
            let behind = record.behind.iter().map(|what| format!("the store of {who} was behind: {what}"));
            differences.extend(behind);
        }
        differences
    }

    /// Compares what one handler heard.
    fn handler(&self, name: &str, pinned: bool) -> Vec<String> {
        let [one, two] = self.records.map(|record| record.handlers.get(name).cloned().unwrap_or_default());
        match self.scenario.differs.get(name) {
            Some(known) if pinned => {
                let first = pin(&format!("{name} of {}", self.names[0]), &known.client_go, &one);
                first
                    .into_iter()
                    .chain(pin(&format!("{name} of {}", self.names[1]), &known.ours, &two))
                    .collect()
            }
            _ => {
                let one = self.until_removed(name, one);
                // Ours tells nobody who was removed: whatever it does tell is a difference.
                let two = if pinned { two } else { self.until_removed(name, two) };
                self.lines(name, one, two).into_iter().collect()
            }
        }
    }

    /// What client-go tells a handler until that is removed. How much of what waits follows is a matter of luck.
    fn until_removed(&self, name: &str, lines: Vec<Line>) -> Vec<Line> {
        let free = self.scenario.allow.contains_key(&Freedom::AfterRemoval);
        match self.scenario.removed_in(name).filter(|_| free) {
            Some(removed) => lines.into_iter().filter(|line| line.step < removed).collect(),
            None => lines,
        }
    }

    fn lines(&self, name: &str, one: Vec<Line>, two: Vec<Line>) -> Option<String> {
        let allows = |freedom| self.scenario.allow.contains_key(&freedom);
        let again = |lines: &[Line]| lines.iter().any(|line| line.sort == Sort::Again);
        if again(&one) != again(&two) && !allows(Freedom::UnchangedAgain) {
            let who = self.names[usize::from(again(&two))];
            return Some(format!("only {who} tells {name} again of what has not changed"));
        }
        let relist = allows(Freedom::RelistOrder);
        let (one, two) = (in_order(one, relist), in_order(two, relist));
        let at = (0..one.len().max(two.len())).find(|at| one.get(*at) != two.get(*at))?;
        let show = |lines: &[Line]| match lines.get(at) {
            Some(line) => format!("{:?} in step {}", line.text, line.step),
            None => "nothing".to_owned(),
        };
        let [first, second] = self.names;
        Some(format!("{name} hears {} from {first}, {} from {second}", show(&one), show(&two)))
    }

    /// Compares what was asked of the server.
    fn asked(&self) -> Vec<String> {
        let [one, two] = self.records;
        let mut differences = Vec::new();
        if self.scenario.allow.contains_key(&Freedom::Asked) {
            return differences;
        }
        for (name, first) in &one.asked {
            let second = two.asked.get(name).cloned().unwrap_or_default();
            let same = match self.scenario.asks.get(name) {
                Some(known) => (first, &second) == (&known.client_go, &known.ours),
                None if self.scenario.refuses() => one_way(first) == one_way(&second),
                None => *first == second,
            };
            if !same {
                let [one, two] = self.names;
                differences.push(format!("{name} asks: {one} {first:?}, {two} {second:?}"));
            }
        }
        differences
    }

    /// Compares how often handlers were told everything again: whether at all, and how often while another one was so often.
    ///
    /// How often that is by the clock is not looked at: on a busy machine one may come late and the other may not.
    fn rounds(&self) -> Vec<String> {
        let [one, two] = self.records;
        let [first, second] = self.names;
        let mut differences = Vec::new();
        for (one, two) in one.rounds.iter().zip(&two.rounds) {
            for (name, told) in &one.meanwhile {
                let also = two.meanwhile.get(name).copied().unwrap_or(0);
                if one.ever.contains(name) != two.ever.contains(name) {
                    let who = if one.ever.contains(name) { first } else { second };
                    differences.push(format!("only {who} tells {name} again"));
                } else if !is_as_often((*told, one.clock), (also, two.clock)) {
                    let (clock, other) = (one.clock, two.clock);
                    differences.push(format!(
                        "{name} is told again {told} times in {clock} rounds by {first}, {also} in {other} by {second}"
                    ));
                }
            }
        }
        differences
    }
}

/// Whether something happens as often in some rounds as something else in others.
fn is_as_often((one, in_one): (u64, u64), (two, in_two): (u64, u64)) -> bool {
    (one * in_two).abs_diff(two * in_one) <= ROUNDS_FREE * in_one.max(in_two)
}

/// What is asked, with every list and the watch after it as a stream: where a stream was refused, and requests then are
/// refused no more, a list follows at once.
fn one_way(asked: &[String]) -> Vec<String> {
    let (mut all, mut listed) = (Vec::new(), false);
    for what in asked {
        if let Some(list) = what.strip_prefix("list at ") {
            let version = list.split(" in pages").next().unwrap_or(list);
            all.push(format!("stream at {version}"));
            listed = true;
        } else if !(listed && what.starts_with("watch from ")) {
            all.push(what.clone());
            listed = false;
        } else {
            listed = false;
        }
    }
    all
}

/// What is heard, without what has not changed, and sorted where the order is free.
fn in_order(lines: Vec<Line>, relist: bool) -> Vec<Line> {
    let mut lines: Vec<Line> = lines.into_iter().filter(|line| line.sort != Sort::Again).collect();
    // What a filter makes of a change may be a deletion.
    let class = |line: &Line| if line.sort == Sort::Gone { Sort::Changed } else { line.sort };
    let same = |one: &Line, two: &Line| one.step == two.step && class(one) == class(two);
    for run in lines.chunk_by_mut(same) {
        if relist || run[0].sort == Sort::Initial {
            run.sort_by(|one, two| one.text.cmp(&two.text));
        }
    }
    lines
}

/// Compares what one handler heard with what it is known to hear.
fn pin(who: &str, wanted: &[String], lines: &[Line]) -> Option<String> {
    let heard: Vec<&str> =
        lines.iter().filter(|line| line.sort != Sort::Again).map(|line| line.text.as_str()).collect();
    (heard != wanted).then(|| format!("{who} hears {heard:?} instead of {wanted:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Rounds;

    fn scenario(allow: &str) -> Scenario {
        let text = format!("{{about: a, family: b, allow: {{{allow}}}, steps: []}}");
        Scenario::parse("test", &text).unwrap()
    }

    fn heard(lines: &[(usize, Sort, &str)]) -> Record {
        let line = |(step, sort, text): &(usize, Sort, &str)| Line {
            step: *step,
            text: (*text).to_owned(),
            sort: *sort,
        };
        let lines = lines.iter().map(line).collect();
        Record { handlers: [("h".to_owned(), lines)].into(), ..Record::default() }
    }

    fn differ(allow: &str, theirs: &[(usize, Sort, &str)], ours: &[(usize, Sort, &str)]) -> bool {
        !compare(&scenario(allow), &heard(theirs), &heard(ours)).is_empty()
    }

    #[test]
    fn calls_of_client_go_may_follow_a_removal_and_none_of_ours() {
        let play = |allow: &str, removes: &str| {
            let text = format!(
                "{{about: a, family: b, allow: {{{allow}}}, steps: [informer: {{name: i}}, handler: {{name: h}}, {removes}]}}"
            );
            Scenario::parse("test", &text).unwrap()
        };
        let lines = [1, 2, 3, 3, 4].map(|step| (step, Sort::Changed, "a"));
        let (whole, until, before) = (heard(&lines), heard(&lines[..1]), heard(&[]));
        for removes in ["remove: h", "cancel: i", "stop: i", "together: [remove: h]"] {
            let (free, strict) = (play("after-removal: b", removes), play("", removes));
            assert!(compare(&free, &whole, &until).is_empty() && compare(&free, &until, &until).is_empty());
            assert!(!compare(&free, &until, &whole).is_empty(), "ours tells nobody who was removed");
            assert!(!compare(&free, &whole, &before).is_empty(), "what came before is compared");
            assert!(!compare(&strict, &whole, &until).is_empty(), "it is not allowed");
            assert!(compare_servers(&free, &whole, &until).is_empty());
            assert!(compare_servers(&free, &until, &whole).is_empty(), "client-go plays on both");
        }
        let stays = play("after-removal: b", "remove: other");
        assert!(!compare(&stays, &whole, &until).is_empty(), "it was not removed");
    }

    #[test]
    fn the_same_is_the_same_and_anything_else_is_not() {
        let one = [(0, Sort::Initial, "a"), (1, Sort::Changed, "b"), (2, Sort::Gone, "c")];
        assert!(!differ("", &one, &one));
        assert!(differ("", &one, &one[..2]));
        assert!(differ("", &one[1..], &one));
        assert!(differ("", &one, &[one[0], one[1], (3, Sort::Gone, "c")]), "in another step");
        assert!(differ("", &one, &[]));
    }

    #[test]
    fn the_order_is_free_in_an_initial_list_and_in_a_relist_if_it_is_allowed() {
        let initial = [(0, Sort::Initial, "a"), (0, Sort::Initial, "b")];
        assert!(!differ("", &initial, &[initial[1], initial[0]]));
        let changed = [(1, Sort::Changed, "a"), (1, Sort::Changed, "b")];
        assert!(differ("", &changed, &[changed[1], changed[0]]));
        assert!(!differ("relist-order: because", &changed, &[changed[1], changed[0]]));
        let mixed = [(1, Sort::Unseen, "a"), (1, Sort::Changed, "b")];
        assert!(differ("relist-order: because", &mixed, &[mixed[1], mixed[0]]), "what is gone comes first");
    }

    #[test]
    fn what_has_not_changed_is_told_by_both_or_by_none_unless_it_is_allowed() {
        let (once, again) = ((0, Sort::Changed, "a"), (1, Sort::Again, "a"));
        assert!(!differ("", &[once, again], &[once, again, again]));
        assert!(differ("", &[once, again], &[once]));
        assert!(!differ("unchanged-again: because", &[once, again], &[once]));
    }

    #[test]
    fn what_differs_on_purpose_is_pinned_on_both_sides() {
        let text = "{about: a, family: b, steps: [], differs: {h: {why: w, client-go: [a], ours: [b]}}}";
        let scenario = Scenario::parse("test", text).unwrap();
        let (a, b) = (heard(&[(0, Sort::Changed, "a")]), heard(&[(0, Sort::Changed, "b")]));
        assert!(compare(&scenario, &a, &b).is_empty());
        assert_eq!(compare(&scenario, &a, &a).len(), 1);
        assert_eq!(compare(&scenario, &b, &a).len(), 2);
    }

    #[test]
    fn what_is_asked_is_the_same_or_pinned() {
        let asked = |text: &str| {
            let asked = [("i".to_owned(), vec![text.to_owned()])].into();
            Record { asked, ..Record::default() }
        };
        let pinned = "{about: a, family: b, steps: [], asks: {i: {why: w, client-go: [a], ours: [b]}}}";
        let (free, pinned) = (scenario(""), Scenario::parse("test", pinned).unwrap());
        assert!(compare(&free, &asked("a"), &asked("a")).is_empty());
        assert!(!compare(&free, &asked("a"), &asked("b")).is_empty());
        assert!(compare(&pinned, &asked("a"), &asked("b")).is_empty());
        assert!(!compare(&pinned, &asked("a"), &asked("a")).is_empty());
        assert!(
            compare_servers(&free, &asked("a"), &asked("b")).is_empty(),
            "servers are not asked the same"
        );
    }

    fn rounds(clock: u64, told: u64) -> Record {
        let ever = (told > 0).then(|| "h".to_owned()).into_iter().collect();
        let rounds = Rounds { clock, meanwhile: [("h".to_owned(), told)].into(), ever };
        Record { rounds: vec![rounds], ..Record::default() }
    }

    #[test]
    fn rounds_are_as_often_as_others_but_for_one_and_never_is_not_once() {
        let differ = |one: (u64, u64), two: (u64, u64)| {
            !compare(&scenario(""), &rounds(one.0, one.1), &rounds(two.0, two.1)).is_empty()
        };
        assert!(!differ((12, 6), (12, 6)) && !differ((12, 6), (12, 7)) && !differ((3, 0), (9, 0)));
        assert!(!differ((12, 12), (4, 4)) && !differ((14, 7), (12, 6)), "one has waited longer");
        assert!(differ((12, 6), (12, 4)) && differ((12, 4), (12, 6)) && differ((14, 7), (12, 4)));
        assert!(differ((4, 4), (4, 2)) && differ((1, 0), (1, 1)) && differ((1, 1), (1, 0)));
    }
}
