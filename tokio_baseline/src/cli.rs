//! The command line of CLI.md, read by hand: every refusal says what was seen and which names exist.
use crate::args::{Params, RunArgs};
use crate::failure::Failure;
use crate::scenario::{Param, Scenario};
use crate::scenarios;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What `--help` prints.
pub const USAGE: &str = "\
usage: SUBJECT --version
       SUBJECT --list
       SUBJECT run --scenario NAME [--param KEY=VALUE]... --workers N [--seed S]
                   [--warmup-blocks 5] [--blocks 3] [--block-ms 100]
                   [--plan FILE] [--hist FILE] [--load PROGRAM] [--slowdown-ns N]
";

const OPTIONS: &str =
    "--scenario --param --workers --seed --warmup-blocks --blocks --block-ms --plan --hist --load --slowdown-ns";

/// One call of the program.
#[derive(Debug)]
pub enum Call {
    /// `--version`
    Version,
    /// `--list`
    List,
    /// `--help`
    Help,
    /// `run …`
    Run(Box<RunArgs>),
}

/// Reads the words after the program's name.
pub fn parse(words: &[String]) -> Result<Call, Failure> {
    let Some((first, rest)) = words.split_first() else {
        return Err(Failure::bad(format!("no call given\n{USAGE}")));
    };
    let alone = |call| match rest.first() {
        None => Ok(call),
        Some(word) => Err(Failure::bad(format!("{first} stands alone, seen `{word}` after it"))),
    };
    match first.as_str() {
        "--version" => alone(Call::Version),
        "--list" => alone(Call::List),
        "--help" | "-h" => alone(Call::Help),
        "run" => parse_run(rest).map(|run| Call::Run(Box::new(run))),
        other => Err(Failure::bad(format!("unknown call `{other}`; the calls are: --version --list run\n{USAGE}"))),
    }
}

/// The words of `run`, sorted by option, not yet checked against a scenario.
#[derive(Default)]
struct Words<'a> {
    options: BTreeMap<&'a str, &'a str>,
    params: Vec<&'a str>,
}

impl<'a> Words<'a> {
    fn sort(words: &'a [String]) -> Result<Self, Failure> {
        let mut sorted = Words::default();
        let mut words = words.iter().map(String::as_str);
        while let Some(option) = words.next() {
            if !OPTIONS.split(' ').any(|known| known == option) {
                return Err(Failure::bad(unknown_option(option)));
            }
            let value = words
                .next()
                .ok_or_else(|| Failure::bad(format!("{option} needs a value, seen the end of the line")))?;
            if option == "--param" {
                sorted.params.push(value);
            } else if let Some(before) = sorted.options.insert(option, value) {
                return Err(Failure::bad(format!("{option} is given twice: `{before}` and `{value}`")));
            }
        }
        Ok(sorted)
    }

    fn required(&self, option: &str, remedy: &str) -> Result<&'a str, Failure> {
        self.options.get(option).copied().ok_or_else(|| Failure::bad(format!("{option} is missing; {remedy}")))
    }

    fn number(&self, option: &str, default: u64, least: u64, most: u64) -> Result<u64, Failure> {
        self.options.get(option).map_or(Ok(default), |text| number(option, text, least, most))
    }

    fn path(&self, option: &str) -> Option<PathBuf> {
        self.options.get(option).map(PathBuf::from)
    }
}

fn unknown_option(option: &str) -> String {
    let hint = match option.split_once('=') {
        Some((name, value)) if OPTIONS.split(' ').any(|known| known == name) => format!("; write `{name} {value}`"),
        _ => String::new(),
    };
    format!("unknown option `{option}`{hint}; the options of run are: {OPTIONS}")
}

fn parse_run(words: &[String]) -> Result<RunArgs, Failure> {
    let words = Words::sort(words)?;
    let name = words.required("--scenario", &format!("the scenarios are: {}", scenarios::names()))?;
    let scenario = scenarios::find(name)
        .ok_or_else(|| Failure::bad(format!("unknown scenario `{name}`; the scenarios are: {}", scenarios::names())))?;
    let params = parse_params(scenario, &words.params)?;
    let workers = words.required("--workers", "give the number of worker threads, at least 1")?;
    let plan = words.path("--plan");
    if scenario.open_loop && plan.is_none() {
        return Err(Failure::bad(format!(
            "--plan is missing; {name} is an open loop and takes its release times from it"
        )));
    }
    let load = words.path("--load");
    if scenario.is_server() && load.is_none() {
        return Err(Failure::bad(format!(
            "--load is missing; the load program that it names asks the server of {name}"
        )));
    }
    Ok(RunArgs {
        scenario,
        params,
        workers: number("--workers", workers, 1, 1024)? as usize,
        seed: words.number("--seed", 1, 0, u64::MAX)?,
        warmup_blocks: words.number("--warmup-blocks", 5, 0, 1000)?,
        blocks: words.number("--blocks", 3, 1, 1000)?,
        block_ms: words.number("--block-ms", 100, 1, 60_000)?,
        plan,
        hist: words.path("--hist"),
        load,
        slowdown_ns: words.number("--slowdown-ns", 0, 0, 1_000_000_000)?,
    })
}

fn parse_params(scenario: &Scenario, pairs: &[&str]) -> Result<Params, Failure> {
    let mut params = Params::default();
    for pair in pairs {
        let (key, text) =
            pair.split_once('=').ok_or_else(|| Failure::bad(format!("--param: expected KEY=VALUE, seen `{pair}`")))?;
        let param = scenario.params.iter().find(|param| param.name == key).ok_or_else(|| {
            let names: Vec<&str> = scenario.params.iter().map(|param| param.name).collect();
            let (scenario, names) = (scenario.name, names.join(", "));
            Failure::bad(format!("--param: {scenario} has no parameter '{key}'; there are: {names}"))
        })?;
        let what = format!("--param {key}");
        let value = match param.words {
            [] => number(&what, text, param.least, param.most)?,
            words => one_of(&what, text, words)?,
        };
        if let Some(before) = params.0.insert(param.name, value) {
            return Err(Failure::bad(format!("--param {key} is given twice: {before} and {value}")));
        }
    }
    for Param { name, default, .. } in scenario.params {
        if let Some(default) = default {
            params.0.entry(name).or_insert(*default);
        }
    }
    Ok(params)
}

/// The index of a word among those that exist.
fn one_of(what: &str, text: &str, words: &[&str]) -> Result<u64, Failure> {
    let found = words.iter().position(|word| *word == text);
    found
        .map(|index| index as u64)
        .ok_or_else(|| Failure::bad(format!("{what}: seen `{}`; there are: {}", text.escape_debug(), words.join(", "))))
}

fn number(what: &str, text: &str, least: u64, most: u64) -> Result<u64, Failure> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let value = text.parse::<u64>().ok().filter(|_| digits);
    value.filter(|value| (least..=most).contains(value)).ok_or_else(|| {
        Failure::bad(format!("{what}: expected a whole number from {least} to {most}, seen `{}`", text.escape_debug()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> Result<Call, Failure> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    fn run(line: &str) -> RunArgs {
        match call(line) {
            Ok(Call::Run(run)) => *run,
            other => panic!("`{line}` gave {other:?}"),
        }
    }

    fn refusal(line: &str) -> String {
        let failure = call(line).expect_err(line);
        assert_eq!(failure.exit_status(), 2, "`{line}`");
        failure.to_string()
    }

    #[test]
    fn defaults_are_those_of_the_treaty() {
        let run = run("run --scenario post_throughput --workers 2");
        assert_eq!((run.scenario.name, run.workers), ("post_throughput", 2));
        assert_eq!((run.warmup_blocks, run.blocks, run.block_ms, run.slowdown_ns), (5, 3, 100, 0));
        assert_eq!((run.params.value("producers"), run.params.value("batch"), run.params.get("ops")), (1, 1, None));
    }

    #[test]
    fn every_option_is_read() {
        let run = run("run --workers 3 --scenario timer_lateness --seed 18446744073709551615 --blocks 1 \
                       --warmup-blocks 0 --block-ms 7 --hist h --plan p --load l --slowdown-ns 9 \
                       --param ops=50 --param pending=10 --param delay_us=5000");
        assert_eq!((run.seed, run.blocks, run.warmup_blocks, run.block_ms), (u64::MAX, 1, 0, 7));
        assert_eq!(
            (run.slowdown_ns, run.hist, run.plan, run.load),
            (9, Some("h".into()), Some("p".into()), Some("l".into()))
        );
        assert_eq!((run.params.value("ops"), run.params.value("pending")), (50, 10));
    }

    #[test]
    fn unknown_names_are_answered_with_the_names_that_exist() {
        assert!(refusal("run --scenario nope --workers 1").contains("post_throughput post_latency timer_lateness"));
        let unknown = refusal("run --scenario timer_lateness --workers 1 --param delay=1");
        assert!(unknown.contains("'delay'") && unknown.contains("delay_us, pending, ops"), "seen: {unknown}");
        assert!(refusal("run --wrokers 1").contains("--workers"));
        assert!(refusal("run --workers=2 --scenario x").contains("write `--workers 2`"));
        assert!(refusal("measure").contains("--list"));
        assert!(refusal("").contains("usage"));
    }

    #[test]
    fn values_out_of_range_are_shown() {
        for (line, seen) in [
            ("run --scenario post_throughput --workers 0", "`0`"),
            ("run --scenario post_throughput --workers -1", "`-1`"),
            ("run --scenario post_throughput --workers two", "`two`"),
            ("run --scenario post_throughput --workers +2", "`+2`"),
            ("run --scenario post_throughput --workers 1 --blocks 0", "`0`"),
            ("run --scenario post_throughput --workers 1 --block-ms 0", "`0`"),
            ("run --scenario post_throughput --workers 1 --seed 18446744073709551616", "`18446744073709551616`"),
            ("run --scenario post_throughput --workers 1 --slowdown-ns 1.5", "`1.5`"),
            ("run --scenario post_throughput --workers 1 --param ops=0", "`0`"),
            ("run --scenario post_throughput --workers 1 --param ops=", "``"),
            ("run --scenario post_throughput --workers 1 --param producers=0", "`0`"),
            ("run --scenario post_throughput --workers 1 --param batch=x", "`x`"),
            ("run --scenario timer_lateness --workers 1 --param pending=0", "`0`"),
            ("run --scenario idle_cpu --workers 1 --param rate=1001", "`1001`"),
        ] {
            let message = refusal(line);
            assert!(message.contains(seen) && message.contains("whole number"), "`{line}` gave: {message}");
        }
    }

    #[test]
    fn a_word_is_one_of_those_that_exist() {
        let words = "run --scenario latency_vs_load --workers 1 --plan p";
        assert_eq!(run(words).params.value("service"), 0);
        assert_eq!(run(&format!("{words} --param service=bimodal")).params.value("service"), 2);
        let unknown = refusal(&format!("{words} --param service=2"));
        assert!(unknown.contains("`2`") && unknown.contains("fixed, exponential, bimodal"), "seen: {unknown}");
    }

    #[test]
    fn missing_and_doubled_words_are_refused() {
        assert!(refusal("run --workers 1").contains("--scenario is missing"));
        assert!(refusal("run --scenario post_throughput").contains("--workers is missing"));
        assert!(refusal("run --scenario post_throughput --workers").contains("needs a value"));
        assert!(refusal("run --scenario post_latency --workers 1").contains("--plan is missing"));
        assert!(refusal("run --scenario echo --workers 1 --plan p").contains("--load is missing"));
        assert!(refusal("run --scenario post_throughput --workers 1 --workers 2").contains("twice"));
        let doubled = refusal("run --scenario post_throughput --workers 1 --param ops=1 --param ops=2");
        assert!(doubled.contains("twice"));
        assert!(refusal("run --scenario post_throughput --workers 1 --param ops").contains("KEY=VALUE"));
        assert!(refusal("--version --list").contains("stands alone"));
    }
}
