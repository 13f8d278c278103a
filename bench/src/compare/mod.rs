//! The comparison: the same measurements of kube-informer, client-go and kube-rs, in turns.

mod bars;
mod contender;
mod environment;
mod explanations;
mod page;
mod plan;
mod plot;
mod plots;
mod results;
mod table;
mod value;

use std::path::{Path, PathBuf};

use crate::Error;
use crate::replay::{Encoding, Replay, Set, corpus};
use crate::report::{now, say};
use bars::{Judged, bars};
use contender::{Contender, Counted, Programs};
use environment::Noise;
use plan::{COUNTED_READERS, COUNTED_READS, DECODE_PROTOBUF, DECODINGS, Decoding, Job, Sizes, row};
use results::{Results, Run};

/// What to compare.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) extent: Extent,
    pub(crate) rounds: usize,
    /// Only rows whose name has this in it.
    pub(crate) only: Option<String>,
    pub(crate) without_go: bool,
    /// Figures that were measured before.
    pub(crate) from: Option<PathBuf>,
    /// The folder of the page, its plots and its data; none to print figures only.
    pub(crate) docs: Option<PathBuf>,
}

/// How much is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Full,
    /// In less than five minutes.
    Quick,
    /// Only to see that every measurement works.
    Smoke,
}

/// How often an object is decoded when instructions are counted: the difference between the two is what decoding takes.
const COUNTED: [u64; 2] = [100, 300];

/// How much memory is used once for each object before each measurement, about what the largest copy needs. In a virtual
/// machine the first use of memory takes several times as long as the next: the first contender would pay for all.
const TOUCHED_PER_OBJECT: u64 = 64 << 10;

pub(crate) async fn run(options: &Options) -> Result<(), Error> {
    let sizes = match options.extent {
        Extent::Full => Sizes::full(),
        Extent::Quick => Sizes::quick(),
        Extent::Smoke => Sizes::smoke(),
    };
    let results = match &options.from {
        Some(file) => Results::load(file)?,
        None => measure(options, &sizes).await?,
    };
    let judged: Vec<Judged> = bars(&sizes).iter().filter_map(|bar| bar.judge(&results)).collect();
    say(&table::text(&results, &judged));
    say(&results.run.noise);
    let Some(docs) = &options.docs else { return Ok(()) };
    if !results.run.is_whole {
        return Err("these figures are not of a whole run: no page is made of them".into());
    }
    let folder = docs.join("benchmarks");
    std::fs::create_dir_all(&folder)?;
    let plots = plots::plots(&results, &sizes);
    for plot in &plots {
        std::fs::write(folder.join(plot.file), &plot.svg)?;
    }
    let all = format!(
        "# All figures\n\nMade by `{}` from [benchmarks.json](benchmarks.json); do not edit. Times are the least of the \
        rounds, rates the most, memory the middle. What is compared and how: [benchmarks.md](benchmarks.md).\n{}",
        results.run.command,
        table::markdown(&results)
    );
    std::fs::write(docs.join("benchmarks-all.md"), all)?;
    std::fs::write(docs.join("benchmarks.md"), page::page(&results, &sizes, &judged, &plots))?;
    results.save(&docs.join("benchmarks.json"))?;
    say(&format!("benchmarks.md, benchmarks-all.md, benchmarks.json and plots are in {}", docs.display()));
    Ok(())
}

async fn measure(options: &Options, sizes: &Sizes) -> Result<Results, Error> {
    let begun = now();
    let client_go =
        if options.without_go { None } else { environment::build(options.extent == Extent::Full)? };
    let programs = Programs::new(client_go)?;
    let mut compare = Compare { programs, options, results: Results::default(), noise: Noise::default() };
    let outcome = compare.all(sizes).await;
    let mut results = compare.results;
    results.run = Run {
        command: format!("cargo xtask bench --measure libraries --rounds {}", options.rounds),
        machine: environment::machine(),
        versions: environment::versions(),
        noise: compare.noise.verdict(),
        minutes: begun.elapsed().as_secs_f64() / 60.0,
        is_whole: outcome.is_ok() && options.docs.is_some(),
    };
    // What was measured before something failed is not lost.
    let file = std::env::current_exe()?.with_file_name("bench-figures.json");
    results.save(&file)?;
    say(&format!("all figures are in {}", file.display()));
    outcome?;
    Ok(results)
}

struct Compare<'a> {
    programs: Programs,
    options: &'a Options,
    results: Results,
    noise: Noise,
}

impl Compare<'_> {
    async fn all(&mut self, sizes: &Sizes) -> Result<(), Error> {
        // A failure does not stop the other measurements.
        let mut failures = Vec::new();
        for (what, outcome) in
            [("decoding", self.decode(sizes).await), ("counting of reads", self.count_reads(sizes).await)]
        {
            if let Err(error) = outcome {
                say(&format!("{what} failed: {error}"));
                failures.push(what.to_owned());
            }
        }
        for job in sizes.jobs() {
            if self.wants(&job.row)
                && let Err(error) = self.job(&job).await
            {
                say(&format!("{} failed: {error}", job.row));
                failures.push(job.row);
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(format!("failed: {}", failures.join("; ")).into()) }
    }

    fn wants(&self, row: &str) -> bool {
        self.options.only.as_ref().is_none_or(|only| row.contains(only.as_str()))
    }

    /// Takes one measurement of each contender in each round.
    async fn job(&mut self, job: &Job) -> Result<(), Error> {
        let mut arguments = job.arguments.clone();
        let replay = match job.served {
            Some((set, objects, tls)) => Some((Replay::start(set, objects, tls).await?, objects)),
            None => None,
        };
        if let Some((replay, _)) = &replay {
            arguments.push(("url", replay.url().to_owned()));
        }
        for round in 1..=if job.once { 1 } else { self.options.rounds } {
            for &contender in &job.contenders {
                if !self.programs.has(contender) {
                    continue;
                }
                if let Some((replay, objects)) = &replay {
                    replay.reset().await?;
                    self.programs.touch(objects * TOUCHED_PER_OBJECT).await?;
                }
                self.noise.sample().await;
                let figures = self.programs.measure(contender, &arguments).await?;
                let text: Vec<String> =
                    figures.iter().map(|figure| format!("{} {:.4}", figure.figure, figure.value)).collect();
                say(&format!("{}, round {round}, {contender}: {}", job.row, text.join(", ")));
                for figure in figures {
                    self.results.add(&job.row, contender, &figure.figure, figure.value);
                }
            }
        }
        match replay {
            Some((replay, _)) => replay.stop().await,
            None => Ok(()),
        }
    }

    /// Decodes objects again and again, and counts the instructions of it.
    async fn decode(&mut self, sizes: &Sizes) -> Result<(), Error> {
        let folder = Folder::new()?;
        let (times, different) = sizes.decodes;
        for Decoding { row, set, form, target, kept, contenders } in DECODINGS {
            if !self.wants(row) {
                continue;
            }
            let file = folder.0.join(format!("{}.{form}", set.name()));
            if !file.exists() {
                let encoding = if form == "pb" { Encoding::Protobuf } else { Encoding::Json };
                let mut bytes = Vec::new();
                for object in corpus(set, encoding, different)? {
                    bytes.extend_from_slice(&u32::try_from(object.len())?.to_be_bytes());
                    bytes.extend_from_slice(&object);
                }
                std::fs::write(&file, bytes)?;
            }
            self.noise.sample().await;
            let arguments = |step: &str, count: u64| {
                let file = file.to_string_lossy().into_owned();
                [
                    ("step", step.to_owned()),
                    ("set", set.name().to_owned()),
                    ("file", file),
                    ("target", target.to_owned()),
                    ("keep", if kept { sizes.kept } else { 0 }.to_string()),
                    ("count", count.to_string()),
                ]
            };
            let present: Vec<Contender> =
                contenders.iter().copied().filter(|contender| self.programs.has(*contender)).collect();
            for _ in 0..self.options.rounds {
                for &contender in &present {
                    for figure in self.programs.measure(contender, &arguments("decode", times)).await? {
                        say(&format!("{row}, {contender}: {} {:.0}", figure.figure, figure.value));
                        self.results.add(row, contender, &figure.figure, figure.value);
                    }
                }
            }
            // How much of a garbage collector's work falls into so few objects is a matter of luck.
            let is_counted = self.options.extent == Extent::Full || row == DECODE_PROTOBUF;
            if sizes.counted.is_some() && is_counted && !kept {
                for contender in present {
                    self.count(row, contender, &arguments).await;
                }
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
    async fn count_reads(&mut self, sizes: &Sizes) -> Result<(), Error> {
        let Some(objects) = sizes.counted else { return Ok(()) };
        let row = row("reads, instructions,", Set::Pods, objects, false);
        if !self.wants(&row) {
            return Ok(());
        }
        let replay = Replay::start(Set::Pods, objects, false).await?;
        let reads = if self.options.extent == Extent::Smoke { &COUNTED_READS[..1] } else { &COUNTED_READS };
        for contender in COUNTED_READERS.into_iter().filter(|contender| self.programs.has(*contender)) {
            for &(read, calls) in reads {
                let arguments = [
                    ("step", "reads".to_owned()),
                    ("url", replay.url().to_owned()),
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

/// A folder that is removed with its files.
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

/// The folder of the page.
pub(crate) fn default_docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}
