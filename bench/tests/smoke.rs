//! The benchmark runs: every measurement, with few objects. What it measures says nothing.

use std::process::Command;

#[test]
fn every_measurement_works_and_the_page_can_be_made() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench")).arg("--smoke").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    for words in ["sync cluster 200 TLS", "limit", "benchmarks.md"] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
}
