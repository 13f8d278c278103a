//! `README.md` shows programs; here it is checked that they are those that run.

use crate::root;

/// The programs that are shown, in whole or in parts.
const EXAMPLES: [&str; 2] =
    ["crates/kube-informer/examples/hello.rs", "crates/kube-informer/examples/factories.rs"];

/// The lines that count: without what is before and after them, and without empty ones.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_program_in_the_readme_is_part_of_one_that_runs() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap();
    let examples = EXAMPLES.map(read);
    let readme = read("README.md");
    let shown: Vec<&str> =
        readme.split("\n```rust\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect();
    assert!(shown.len() > 6, "there are only {} programs", shown.len());
    for program in shown {
        let wanted = lines(program);
        let is_part = |example: &String| lines(example).windows(wanted.len()).any(|part| part == wanted);
        assert!(examples.iter().any(is_part), "this is not in {EXAMPLES:?}:\n{program}");
    }
}
