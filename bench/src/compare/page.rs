//! The page that shows the table.

use super::line::{Line, Section, Unit, Value};
use super::peers;
use super::reasons::reason;

/// The whole page, in Markdown.
pub(super) fn page(sections: &[Section], command: &str, rounds: (usize, usize)) -> String {
    let rounds = match rounds {
        (least, most) if least == most => format!("{most} rounds for each line"),
        (least, most) => format!("{least} to {most} rounds for each line"),
    };
    let mut page = format!(
        "# Benchmarks\n\n\
        Made by `{command}`; do not edit. Every library copies the same objects from the same replay server \
        (`bench/src/replay`), each in a process of its own, the server in another. There are {rounds}, and in each \
        the libraries take turns; custom resources and work queues are measured half as often. Times are the least of the rounds, rates the most, memory, \
        and what one more object costs, the middle one. Before each \
        measurement with objects a process of its own uses 64 KiB of memory for each of them, or half of what there is, and \
        ends: the first use of memory since long takes several times as long as the next, in a virtual machine, whoever it is.\n\n\
        client-go and kube-rs are shown in whichever of their ways, LIST or WatchList, is better on that line, but \
        for kube-rs events and reads come after a WatchList only, and its latency is not measured: it has one consumer, unless unstable \
        features are used. client-go's \
        memory is its resident set as it stands two seconds after the sync; `FreeOSMemory` lines say what would be left if the \
        program gave back all that it could. Ours starts with WatchList, and gives nothing back by hand.\n\n\
        The pods, and the custom resources, are each of one shape, and only some texts differ: so a new pod can be written over \
        an old one almost everywhere, and most of its texts are there already, which events gain from. Where shapes differ it is \
        less, and for custom resources it is not done. client-go hardly takes 5,000 events of \
        custom resources a second: what is said of its latency at that rate is mostly how long they queue.\n\n\
        What one more object costs is told from blocks of syncs: in each, as many of each size as copy the same number of \
        objects, one size right after the other, and the block in the middle counts. A machine is quick for a while and slow for a while, \
        and a short sync can fall whole into a quick moment, which a long one hardly can. The quickest sync of each size is shown, \
        too; the bar was on that until a line missed it (objects that rest decoded, 1.20), and then on means of each size, each taken \
        in a time of its own, until those missed it (1.17 to 1.40).\n\n\
        In lines of reads the ratio is of speed: 2 is twice as fast. Instructions are counted by callgrind, once: of \
        decoding, what a program with more of it takes beyond one with less; of reads, nothing but the reads, after each object was read \
        once, in client-go without its collector of garbage and after a WatchList. There fewer are better.\n\n\
        A library does not choose the allocator of a program. The Rust programs here, kube-rs among them, have jemalloc \
        (`tikv-jemallocator`, with large pages: `.cargo/config.toml`), as Go programs have Go's; lines with \"the system's allocator\" are of the same program without it.\n\n\
        - Machine: {}\n- Load average when the page was made, over 1, 5 and 15 minutes: {}\n",
        peers::machine(),
        peers::load()
    );
    for version in peers::versions() {
        page += &format!("- {version}\n");
    }
    let with_bar = || sections.iter().flat_map(|section| &section.lines).filter(|line| line.bar.is_some());
    let met = with_bar().filter(|line| line.met() == Some(true)).count();
    let missed: Vec<String> = sections.iter().flat_map(missed).collect();
    page += &format!("\n**{met} of {} bars are met.**", with_bar().count());
    if !missed.is_empty() {
        page += &format!(" Missed, and why:\n\n{}", missed.join(""));
    }
    let lost: Vec<String> = sections.iter().flat_map(lost).collect();
    if !lost.is_empty() {
        page += &format!(
            "\nLines with no bar, or one that is met, on which somebody else is ahead:\n\n{}",
            lost.join("")
        );
    }
    page.push('\n');
    for section in sections {
        page += &format!("\n## {}\n\n", section.title);
        page += "| | ours | client-go | kube-rs | ours ÷ client-go | ours ÷ kube-rs | bar | |\n";
        page += "|---|---|---|---|---|---|---|---|\n";
        for line in &section.lines {
            page += &format!("{}\n", cells(line));
        }
    }
    page
}

/// What is said of the bars that a section misses.
fn missed(section: &Section) -> Vec<String> {
    let missed = section.lines.iter().filter(|line| line.met() == Some(false));
    missed
        .map(|line| format!("- {}: {}. {}\n", section.title, line.title, reason(&section.title, &line.title)))
        .collect()
}

/// What is said of the other lines of a section that are lost: those that have a reason in common, together.
fn lost(section: &Section) -> Vec<String> {
    let mut together: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in section.lines.iter().filter(|line| line.loses() && line.met() != Some(false)) {
        let why = reason(&section.title, &line.title);
        match together.iter_mut().find(|(known, _)| *known == why) {
            Some((_, lines)) => lines.push(&line.title),
            None => together.push((why, vec![&line.title])),
        }
    }
    let said =
        |(why, lines): (&str, Vec<&str>)| format!("- {}: {}. {why}\n", section.title, lines.join("; "));
    together.into_iter().map(said).collect()
}

fn cells(line: &Line) -> String {
    let value = |value: Option<Value>| value.map(|value| value.to_string()).unwrap_or_default();
    let ratio = |theirs| line.ratio(theirs).map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
    let (mut of_go, of_kube) = (ratio(line.client_go), ratio(line.kube_runtime));
    if line.ours.unit == Unit::Ratio {
        of_go = String::new();
    }
    let bar = line.bar.map(|bar| bar.to_string()).unwrap_or_default();
    let met = match line.met() {
        Some(true) => "met",
        Some(false) => "**missed**",
        None => "",
    };
    let [ours, go, kube] = [Some(line.ours), line.client_go, line.kube_runtime].map(value);
    format!("| {} | {ours} | {go} | {kube} | {of_go} | {of_kube} | {bar} | {met} |", line.title)
}
