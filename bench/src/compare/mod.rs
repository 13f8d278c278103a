//! The comparison: the same measurements of kube-informer, client-go and kube-runtime, in turns.

mod contender;
mod growth;
mod line;
mod page;
mod peers;
mod plan;
mod queues;
mod reasons;
mod results;
mod table;

use std::path::{Path, PathBuf};

use crate::Error;
use crate::replay::{Form, Replay, one_pod, one_widget};
use crate::report::say;
use contender::{Contender, Counted, Programs};
use plan::{COUNTED_READERS, COUNTED_READS, DECODES, Decoding, Job, Sizes, jobs};
use results::Results;

/// What to compare.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) quick: bool,
    pub(crate) sizes: Vec<u64>,
    pub(crate) rounds: usize,
    /// Only rows whose name has this in it.
    pub(crate) only: Option<String>,
    pub(crate) without_go: bool,
    /// Figures that were measured before.
    pub(crate) from: Option<PathBuf>,
    /// Where the page goes; none to print it only.
    pub(crate) page: Option<PathBuf>,
}

/// How often a pod is decoded when instructions are counted: the difference between the two is what decoding takes.
const COUNTED: [u64; 2] = [100, 300];

/// Before each measurement so much memory is used once for each object, about what the largest copy needs. In a virtual
/// machine the first use of memory since long takes several times as long as the next, whoever uses it: the first in a row
/// would pay for all.
const TOUCHED_EACH: u64 = 64 << 10;

pub(crate) async fn run(options: &Options) -> Result<(), Error> {
    let sizes = if options.quick { Sizes::quick() } else { Sizes::full(options.sizes.clone()) };
    let results = match &options.from {
        Some(file) => Results::load(file)?,
        None => {
            let client_go = if options.without_go { None } else { peers::build(!options.quick)? };
            let mut compare =
                Compare { programs: Programs::new(client_go)?, options, results: Results::default() };
            let outcome = compare.all(&sizes).await;
            // What was measured before something failed is not lost.
            let file = std::env::current_exe()?.with_file_name("bench-figures.jsonl");
            compare.results.save(&file)?;
            say(&format!("all figures are in {}", file.display()));
            outcome?;
            compare.results
        }
    };
    let mut sections = table::sections(&results, &sizes);
    sections.extend(queues::sections(&results, &sizes));
    sections.retain(|section| !section.lines.is_empty());
    let sizes: Vec<String> = options.sizes.iter().map(u64::to_string).collect();
    let mut command = format!("cargo xtask bench --rounds {} --sizes {}", options.rounds, sizes.join(","));
    if options.from.is_some() {
        // Nobody knows with what they were measured.
        "cargo xtask bench --from`, of figures that were kept and may be of several runs, some older than what is said here of \
            how they are taken, `bench-figures.jsonl"
            .clone_into(&mut command);
    }
    let page = page::page(&sections, &command, results.rounds());
    say(&page);
    if let Some(file) = &options.page {
        std::fs::write(file, page)?;
        say(&format!("{} written", file.display()));
    }
    Ok(())
}

struct Compare<'a> {
    programs: Programs,
    options: &'a Options,
    results: Results,
}

impl Compare<'_> {
    async fn all(&mut self, sizes: &Sizes) -> Result<(), Error> {
        self.decode(sizes).await?;
        // One is enough to see that it can be done.
        let kinds: &[&str] = if self.options.quick { &["pods"] } else { &["pods", "widgets"] };
        for &kind in kinds {
            self.count_reads(kind, sizes.counted).await?;
        }
        for job in jobs(sizes) {
            if self.wants(&job.row) {
                self.job(&job).await?;
            }
        }
        self.growth(sizes).await
    }

    fn wants(&self, row: &str) -> bool {
        self.options.only.as_ref().is_none_or(|only| row.contains(only.as_str()))
    }

    /// Takes one measurement of everybody, as often as there are rounds.
    async fn job(&mut self, job: &Job) -> Result<(), Error> {
        let (pods, widgets) = job.served;
        let replay = Replay::start(pods, widgets).await?;
        let mut arguments = job.arguments.clone();
        arguments.push(("url", replay.url().to_owned()));
        for round in 1..=job.rounds(self.options.rounds) {
            for &contender in job.contenders.iter().filter(|&&contender| self.programs.has(contender)) {
                replay.reset().await?;
                self.programs.touch((pods + widgets) * TOUCHED_EACH).await?;
                let figures = self.programs.measure(contender, &arguments).await?;
                let said: Vec<String> =
                    figures.iter().map(|figure| format!("{} {:.4}", figure.figure, figure.value)).collect();
                say(&format!("{}, round {round}, {contender}: {}", job.row, said.join(", ")));
                for figure in figures {
                    self.results.add(&job.row, contender, &figure.figure, figure.value);
                }
            }
        }
        replay.stop().await
    }

    /// Decodes one pod again and again, and counts the instructions of it.
    async fn decode(&mut self, sizes: &Sizes) -> Result<(), Error> {
        let folder = Folder::new()?;
        for Decoding { row, kind, form, target, kept, contenders } in DECODES {
            if !self.wants(row) {
                continue;
            }
            let file = folder.0.join(format!("{kind}.{form}"));
            let bytes = match (kind, form) {
                ("widgets", _) => one_widget(),
                (_, "pb") => one_pod(Form::Protobuf)?,
                _ => one_pod(Form::Json)?,
            };
            std::fs::write(&file, bytes)?;
            let arguments = |step: &str, count: u64| {
                let file = file.to_string_lossy().into_owned();
                [
                    ("step", step.to_owned()),
                    ("kind", kind.to_owned()),
                    ("file", file),
                    ("target", target.to_owned()),
                    ("keep", if kept { sizes.kept } else { 0 }.to_string()),
                    ("count", count.to_string()),
                ]
            };
            for _ in 0..self.options.rounds {
                for &contender in contenders.iter().filter(|&&contender| self.programs.has(contender)) {
                    for figure in
                        self.programs.measure(contender, &arguments("decode", sizes.decodes)).await?
                    {
                        say(&format!("{row}, {contender}: {} {:.0}", figure.figure, figure.value));
                        self.results.add(row, contender, &figure.figure, figure.value);
                    }
                }
            }
            if kept {
                // How much of a collector's work falls into so few of them is a matter of luck.
                continue;
            }
            let present: Vec<Contender> =
                contenders.iter().copied().filter(|contender| self.programs.has(*contender)).collect();
            for contender in present {
                self.count(row, contender, &arguments).await;
            }
        }
        Ok(())
    }

    /// Counts instructions, where valgrind is.
    async fn count<const N: usize>(
        &mut self,
        row: &str,
        contender: Contender,
        arguments: &impl Fn(&str, u64) -> [(&'static str, String); N],
    ) {
        let [few, many] = COUNTED;
        let one = self.programs.instructions(contender, &arguments("repeat", few), Counted::All).await;
        let other = self.programs.instructions(contender, &arguments("repeat", many), Counted::All).await;
        match (one, other) {
            (Ok(one), Ok(other)) => {
                self.results.add(row, contender, "instructions", (other - one) / (many - few) as f64);
            }
            (Err(error), _) | (_, Err(error)) => say_uncounted(row, contender, &error),
        }
    }

    /// Counts the instructions of each way of reading.
    async fn count_reads(&mut self, kind: &str, count: u64) -> Result<(), Error> {
        let row = plan::row("instructions", kind, count);
        if !self.wants(&row) {
            return Ok(());
        }
        let replay = if kind == "pods" { Replay::start(count, 0) } else { Replay::start(0, count) }.await?;
        let reads = if self.options.quick { &COUNTED_READS[..1] } else { &COUNTED_READS };
        for contender in COUNTED_READERS.into_iter().filter(|contender| self.programs.has(*contender)) {
            for &(read, calls) in reads {
                let arguments = [
                    ("step", "reads".to_owned()),
                    ("url", replay.url().to_owned()),
                    ("kind", kind.to_owned()),
                    ("count", count.to_string()),
                    ("settle", "0".to_owned()),
                    ("read", read.to_owned()),
                    ("calls", calls.to_string()),
                ];
                match self.programs.instructions(contender, &arguments, Counted::Reads).await {
                    Ok(all) => {
                        let each = all / calls as f64;
                        say(&format!("{row}, {contender}: {read}: {each:.0} instructions"));
                        self.results.add(&row, contender, &format!("{read}_instructions"), each);
                    }
                    Err(error) => say_uncounted(&format!("{row}, {read}"), contender, &error),
                }
            }
        }
        replay.stop().await
    }
}

fn say_uncounted(row: &str, contender: Contender, error: &Error) {
    say(&format!("{row}, {contender}: instructions are not counted: {error}"));
}

/// A folder that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Error> {
        let folder = std::env::temp_dir().join(format!("kube-informer-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Where the page is kept.
pub(crate) fn default_page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks.md")
}
