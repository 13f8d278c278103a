//! Whether two plays of a scenario are the same, but for what may differ.

use std::collections::BTreeSet;

use crate::record::{Line, Record, Sort};
use crate::scenario::{Freedom, Scenario};

/// How many rounds of a resync two plays may differ in: when it is looked is not when it is told.
const ROUNDS_FREE: u64 = 1;

/// In what they differ; nothing if they do not.
pub fn compare(scenario: &Scenario, client_go: &Record, ours: &Record) -> Vec<String> {
    let mut differences = Vec::new();
    let names: BTreeSet<&String> = client_go.handlers.keys().chain(ours.handlers.keys()).collect();
    for name in names {
        let lines = |record: &Record| record.handlers.get(name).cloned().unwrap_or_default();
        let (theirs, ours) = (lines(client_go), lines(ours));
        match scenario.differs.get(name) {
            Some(pinned) => {
                differences.extend(pin(&format!("{name} of client-go"), &pinned.client_go, &theirs));
                differences.extend(pin(&format!("{name} of ours"), &pinned.ours, &ours));
            }
            None => differences.extend(handler(scenario, name, theirs, ours)),
        }
    }
    for ((question, theirs), (_, ours)) in client_go.answers.iter().zip(&ours.answers) {
        let (wanted_theirs, wanted_ours) = match &question.differs {
            Some(differs) => (&differs.client_go, &differs.ours),
            None => (theirs, theirs),
        };
        if (theirs, ours) != (wanted_theirs, wanted_ours) {
            differences.push(format!("{question:?}: client-go says {theirs:?}, ours says {ours:?}"));
        }
    }
    for (theirs, ours) in client_go.rounds.iter().zip(&ours.rounds) {
        for (name, count) in theirs {
            let other = ours.get(name).copied().unwrap_or(0);
            if count.abs_diff(other) > ROUNDS_FREE || (*count == 0) != (other == 0) {
                differences.push(format!("{name} is told again {count} times by client-go, {other} by ours"));
            }
        }
    }
    for (who, record) in [("client-go", client_go), ("ours", ours)] {
        differences.extend(record.behind.iter().map(|what| format!("the store of {who} was behind: {what}")));
    }
    differences
}

/// Compares what one handler heard.
fn handler(scenario: &Scenario, name: &str, theirs: Vec<Line>, ours: Vec<Line>) -> Option<String> {
    let again = |lines: &[Line]| lines.iter().any(|line| line.sort == Sort::Again);
    if again(&theirs) != again(&ours) && !scenario.allow.contains_key(&Freedom::UnchangedAgain) {
        let who = if again(&theirs) { "client-go" } else { "ours" };
        return Some(format!("only {who} tells {name} again of what has not changed"));
    }
    let relist = scenario.allow.contains_key(&Freedom::RelistOrder);
    let (mut theirs, mut ours) = (in_order(theirs, relist), in_order(ours, relist));
    if scenario.allow.contains_key(&Freedom::AfterRemoval) {
        let common = theirs.len().min(ours.len());
        theirs.truncate(common);
        ours.truncate(common);
    }
    let at = (0..theirs.len().max(ours.len())).find(|at| theirs.get(*at) != ours.get(*at))?;
    let show = |lines: &[Line]| {
        lines.get(at).map_or_else(|| "nothing".to_owned(), |line| format!("{:?} in step {}", line.text, line.step))
    };
    Some(format!("{name} hears {} from client-go, {} from ours", show(&theirs), show(&ours)))
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
    fn rounds_may_differ_by_one_but_never_is_not_once() {
        let rounds = |count| Record { rounds: vec![[("h".to_owned(), count)].into()], ..Record::default() };
        let differ = |one, two| !compare(&scenario(""), &rounds(one), &rounds(two)).is_empty();
        assert!(!differ(3, 4) && !differ(0, 0));
        assert!(differ(3, 5) && differ(0, 1) && differ(1, 0));
    }
}
