//! Rust runtimes as Apiary subjects: the treaty in `bench/contract/CLI.md` and `CSV.md`, spoken in Rust.
//!
//! A run flows one way: [`cli`] reads the words, one of the [`scenarios`] does the work on a [`runtime`] of the
//! [`subjects`], as a [`closed_loop`] or an [`open_loop`], and proves it with a [`ledger`]; [`row`] prints it.

pub mod args;
pub mod background;
pub mod blocks;
pub mod cli;
pub mod closed_loop;
pub mod failure;
pub mod fork_join;
pub mod graphs;
pub mod hist;
pub mod host;
pub mod huge_pages;
pub mod ledger;
pub mod letters;
pub mod load;
pub mod loops;
pub mod messages;
pub mod open_loop;
pub mod plan;
pub mod report;
pub mod row;
pub mod runtime;
pub mod scenario;
pub mod scenarios;
pub mod servers;
pub mod service;
pub mod subject;
pub mod subjects;

use args::RunArgs;
use cli::Call;
use failure::Failure;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use subject::Subject;

/// The whole main function of a subject's program.
pub fn main(subject: &Subject) -> ! {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    std::process::exit(command_line(subject, &words));
}

/// Carries out one call of the program and returns its exit status.
///
/// 0: done; 1: the machine let us down (no threads, a closed pipe); 2: bad arguments;
/// 3: the runtime cannot express what was asked; 4: the run's own check failed.
pub fn command_line(subject: &Subject, words: &[String]) -> i32 {
    let mut out = std::io::stdout().lock();
    let outcome = match cli::parse(words) {
        Ok(Call::Version) => print(&mut out, &(subject.version_line() + "\n")).map(|()| 0),
        Ok(Call::List) => print(&mut out, &subject.list()).map(|()| 0),
        Ok(Call::Help) => print(&mut out, cli::USAGE).map(|()| 0),
        Ok(Call::Run(run)) => {
            host::abort_on_panic();
            execute(subject, &run, &mut out)
        }
        Err(failure) => Err(failure),
    };
    outcome.unwrap_or_else(|failure| {
        eprintln!("{}: {failure}", subject.name);
        failure.exit_status()
    })
}

/// Runs one scenario, prints its row and returns 0 or 4.
fn execute(subject: &Subject, run: &RunArgs, out: &mut impl Write) -> Result<i32, Failure> {
    let measure = subject.measure(run.scenario)?;
    // The file is made first: a wrong path should cost no measurement.
    let hist_file = run.hist.as_ref().map(|path| File::create(path).map_err(|e| cannot_make(path, &e))).transpose()?;

    let report = measure(run)?;
    print(out, &report.row.to_csv())?;

    let ours = hist_file.filter(|_| !run.scenario.is_server()); // else the load program has written it
    if let (Some(path), Some(file)) = (&run.hist, ours) {
        let mut file = BufWriter::new(file);
        let written = report.hist.write_csv(&mut file).and_then(|()| file.flush());
        written.map_err(|e| Failure::machine(&format!("--hist: writing {} failed", path.display()), &e))?;
    }
    for complaint in &report.complaints {
        eprintln!("{}: wrong: {complaint}", subject.name);
    }
    Ok(if report.complaints.is_empty() { 0 } else { 4 })
}

fn cannot_make(path: &Path, cause: &std::io::Error) -> Failure {
    Failure::bad(format!("--hist: cannot write {}: {cause}", path.display()))
}

fn print(out: &mut impl Write, text: &str) -> Result<(), Failure> {
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|e| Failure::machine("cannot write the answer", &e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hist::Histogram;
    use report::Report;
    use row::Row;

    /// A runtime that loses its one task.
    static CARELESS: Subject = Subject {
        name: "careless",
        version: "1.2.3",
        allocator: "none",
        expresses: &[(&scenarios::post_throughput::SCENARIO, |run| {
            let complaints = Vec::from_iter(ledger::audit("block 1", 1, 0).err());
            let mut row = Row::new(run);
            row.put_verdict(0, complaints.is_empty());
            Ok(Report { row, hist: Histogram::new(), complaints })
        })],
    };

    fn call(words: &str) -> (Result<i32, Failure>, String) {
        let words = words.split(' ').map(String::from);
        let Ok(Call::Run(run)) = cli::parse(&Vec::from_iter(words)) else { panic!("these words are right") };
        let mut printed = Vec::new();
        let outcome = execute(&CARELESS, &run, &mut printed);
        (outcome, String::from_utf8(printed).expect("UTF-8"))
    }

    #[test]
    fn a_failed_check_prints_its_row_and_ends_with_4() {
        let (outcome, printed) = call("run --scenario post_throughput --workers 1");
        assert_eq!(outcome, Ok(4));
        assert_eq!(printed.lines().count(), 2);
        assert!(printed.ends_with(",0000000000000000,,wrong\n"), "seen: {printed}");
    }

    #[test]
    fn a_scenario_that_the_runtime_cannot_express_ends_with_3_and_prints_no_row() {
        let (outcome, printed) = call("run --scenario timer_lateness --workers 1");
        let failure = outcome.expect_err("a refusal");
        assert_eq!((failure.exit_status(), printed.as_str()), (3, ""));
        assert!(failure.to_string().contains("careless cannot express timer_lateness"), "seen: {failure}");
    }
}
