//! Tokio as an Apiary subject: the treaty in `bench/contract/CLI.md` and `CSV.md`, spoken in Rust.
//!
//! A run flows one way: [`args`] reads the words, [`scenarios`] does the work on a [`host`] runtime and
//! proves it with a [`ledger`], [`blocks`] decides which block counts, [`row`] prints it.

pub mod args;
pub mod blocks;
pub mod failure;
pub mod hist;
pub mod host;
pub mod ledger;
pub mod plan;
pub mod row;
pub mod scenarios;
pub mod subject;

use args::{Call, RunArgs};
use failure::Failure;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Carries out one call of the program and returns its exit status.
///
/// 0: done; 1: the machine let us down (no threads, a closed pipe); 2: bad arguments;
/// 4: the run's own check failed. 3 (`unsupported`) is never returned: Tokio expresses every scenario of the list.
pub fn command_line(words: &[String]) -> i32 {
    let mut out = std::io::stdout().lock();
    let outcome = match args::parse(words) {
        Ok(Call::Version) => print(&mut out, &(subject::version_line() + "\n")).map(|()| 0),
        Ok(Call::List) => print(&mut out, &scenarios::list()).map(|()| 0),
        Ok(Call::Help) => print(&mut out, args::USAGE).map(|()| 0),
        Ok(Call::Run(run)) => {
            host::abort_on_panic();
            execute(&run, &mut out)
        }
        Err(failure) => Err(failure),
    };
    outcome.unwrap_or_else(|failure| {
        eprintln!("{}: {failure}", subject::NAME);
        failure.exit_status()
    })
}

/// Runs one scenario, prints its row and returns 0 or 4.
fn execute(run: &RunArgs, out: &mut impl Write) -> Result<i32, Failure> {
    // The file is made first: a wrong path should cost no measurement.
    let hist_file = run.hist.as_ref().map(|path| File::create(path).map_err(|e| cannot_make(path, &e))).transpose()?;

    let report = (run.scenario.measure)(run)?;
    print(out, &report.row.to_csv())?;

    if let (Some(path), Some(file)) = (&run.hist, hist_file) {
        let mut file = BufWriter::new(file);
        let written = report.hist.write_csv(&mut file).and_then(|()| file.flush());
        written.map_err(|e| Failure::machine(&format!("--hist: writing {} failed", path.display()), &e))?;
    }
    for complaint in &report.complaints {
        eprintln!("{}: wrong: {complaint}", subject::NAME);
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
    use row::Row;
    use scenarios::{Report, Scenario};

    /// A scenario whose one task was lost.
    static WRONG: Scenario = Scenario {
        name: "wrong",
        params: &[],
        open_loop: false,
        measure: |run| {
            let complaints = Vec::from_iter(ledger::audit("block 1", 1, 0).err());
            let mut row = Row::new(run);
            row.put_verdict(0, complaints.is_empty());
            Ok(Report { row, hist: Histogram::new(), complaints })
        },
    };

    #[test]
    fn a_failed_check_prints_its_row_and_ends_with_4() {
        let words = "run --scenario post_throughput --workers 1".split(' ').map(String::from);
        let Ok(Call::Run(mut run)) = args::parse(&Vec::from_iter(words)) else { panic!("these words are right") };
        run.scenario = &WRONG;
        let mut printed = Vec::new();
        assert_eq!(execute(&run, &mut printed), Ok(4));
        let printed = String::from_utf8(printed).expect("UTF-8");
        assert_eq!(printed.lines().count(), 2);
        assert!(printed.ends_with(",0000000000000000,,wrong\n"), "seen: {printed}");
    }
}
