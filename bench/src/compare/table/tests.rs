use super::*;

#[test]
fn bars_are_of_times_and_memory_at_most_and_of_speed_at_least() {
    let value = |number, unit| Value { number, unit };
    let line = |ours, theirs, unit, bar| Line {
        title: String::new(),
        ours: value(ours, unit),
        client_go: Some(value(theirs, unit)),
        kube_runtime: None,
        bar: Some(bar),
    };
    assert_eq!(line(1.0, 4.0, Unit::Seconds, Bar::AtMost(0.45)).met(), Some(true));
    assert_eq!(line(2.0, 4.0, Unit::Seconds, Bar::AtMost(0.45)).met(), Some(false));
    assert_eq!(
        line(50.0, 100.0, Unit::Call, Bar::AtLeast(2.0)).met(),
        Some(true),
        "half the time, twice the speed"
    );
    assert_eq!(line(100.0, 300.0, Unit::PerSecond, Bar::AtLeast(2.0)).met(), Some(false));
    assert_eq!(line(1.0, 4.0, Unit::Seconds, Bar::AtMostOfKube(0.2)).met(), None, "nobody to compare with");
    assert_eq!(line(1.2, 1.0, Unit::Ratio, Bar::OwnAtMost(1.15)).met(), Some(false));
}

#[test]
fn figures_are_written_for_people() {
    let text = |number, unit| Value { number, unit }.to_string();
    assert_eq!(text(0.0123, Unit::Seconds), "12.3 ms");
    assert_eq!(text(66.0, Unit::Call), "66 ns");
    assert_eq!(text(585_793_536.0, Unit::Bytes), "586 MB");
    assert_eq!(text(1_234_567.0, Unit::PerSecond), "1,234,567/s");
}
