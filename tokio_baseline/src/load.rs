//! The load program (`bench/load/`), which asks a server over loopback: a child of this process, spoken to line by line (CLI.md).
use crate::args::RunArgs;
use crate::failure::Failure;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

/// What `end` must hold, besides `wrong`: columns of the row.
const MEASURED_BY_IT: [&str; 15] = [
    "ops",
    "wall_ns",
    "offered_per_s",
    "achieved_per_s",
    "lat_count",
    "lat_min_ns",
    "lat_p50_ns",
    "lat_p90_ns",
    "lat_p95_ns",
    "lat_p99_ns",
    "lat_p999_ns",
    "lat_max_ns",
    "lateness_p99_ns",
    "check",
    "flags",
];

/// The child; it does not outlive this.
pub struct Load {
    child: Child,
    answers: BufReader<ChildStdout>,
    orders: ChildStdin,
}

/// What the child measured.
#[derive(Debug, PartialEq)]
pub struct Measured {
    /// Whether it saw a wrong answer.
    pub wrong: bool,
    /// Column and cell.
    pub cells: Vec<(&'static str, String)>,
}

impl Measured {
    /// The cell of a column that the child measures.
    pub fn cell(&self, column: &str) -> &str {
        let found = self.cells.iter().find(|(name, _)| *name == column);
        found.map_or("", |(_, cell)| cell)
    }
}

impl Load {
    /// Starts it for `run`, as the client of `scenario`.
    pub fn start(run: &RunArgs, scenario: &str) -> Result<Load, Failure> {
        let (Some(program), Some(plan)) = (&run.load, &run.plan) else {
            return Err(Failure::bad("a server needs --load and --plan"));
        };
        let mut command = Command::new(program);
        command.args(["--scenario", scenario]).args(["--seed", &run.seed.to_string()]);
        for name in ["connections", "bytes", "backends", "ask"] {
            if let Some(value) = run.params.get(name) {
                command.args([format!("--{name}"), value.to_string()]);
            }
        }
        command.arg("--plan").arg(plan);
        if let Some(hist) = &run.hist {
            command.arg("--hist").arg(hist);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| Failure::machine(&format!("--load: cannot start {}", program.display()), &e))?;
        let (orders, answers) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        Ok(Load { child, answers: BufReader::new(answers), orders })
    }

    /// Its next line, which begins with `word`; what follows the word.
    fn hear(&mut self, word: &str) -> Result<String, Failure> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        let rest = line.strip_suffix('\n').and_then(|line| line.strip_prefix(word));
        if let (Ok(_), Some(rest)) = (&read, rest.filter(|rest| rest.is_empty() || rest.starts_with(' '))) {
            return Ok(rest.trim_start().to_string());
        }
        let cause = match (read, line.is_empty()) {
            (Err(why), _) => why.to_string(),
            (Ok(_), true) => format!("it ended ({})", self.wait()?),
            (Ok(_), false) => format!("seen `{}`", line.trim_end().escape_debug()),
        };
        Err(Failure::machine(&format!("the load program should have said `{word}`"), &cause))
    }

    fn tell(&mut self, line: &str) -> Result<(), Failure> {
        let told = writeln!(self.orders, "{line}").and_then(|()| self.orders.flush());
        told.map_err(|e| Failure::machine(&format!("the load program does not hear `{line}`"), &e))
    }

    fn wait(&mut self) -> Result<ExitStatus, Failure> {
        self.child.wait().map_err(|e| Failure::machine("cannot wait for the load program", &e))
    }

    /// The backends, as many as were asked for.
    pub fn backends(&mut self, asked: usize) -> Result<Vec<SocketAddr>, Failure> {
        let line = self.hear("backends")?;
        let ports = line.split_whitespace().map(|port| port.parse().ok());
        let all: Option<Vec<SocketAddr>> =
            ports.map(|port| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port?)))).collect();
        all.filter(|all| all.len() == asked).ok_or_else(|| {
            Failure::machine(&format!("the load program should have said {asked} ports"), &format!("seen `{line}`"))
        })
    }

    /// Tells it where the server listens; it connects and warms up.
    pub fn connect(&mut self, port: u16) -> Result<(), Failure> {
        self.tell(&format!("port {port}"))?;
        self.hear("begin").map(|_| ())
    }

    /// Has it run the plan.
    pub fn go(&mut self) -> Result<Measured, Failure> {
        self.tell("go")?;
        let line = self.hear("end")?;
        measured(&line).map_err(|why| Failure::machine("the load program's result", &why))
    }

    /// Waits until it has closed its connections. False if it says that an answer was wrong.
    pub fn end(mut self) -> Result<bool, Failure> {
        let status = self.wait()?;
        match status.code() {
            Some(0) => Ok(true),
            Some(4) => Ok(false),
            _ => Err(Failure::machine("the load program failed", &status)),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // Errors say that it has ended.
        let _ended = self.child.kill();
        let _waited = self.child.wait();
    }
}

/// Reads `key=value …`: each key once.
fn measured(line: &str) -> Result<Measured, String> {
    let pairs: Vec<_> = line.split(' ').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
    let one = |key: &str| {
        let mut found = pairs.iter().filter(|(name, _)| *name == key);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Ok((*value).to_string()),
            _ => Err(format!("it should hold `{key}=` once, seen `{line}`")),
        }
    };
    if pairs.len() != MEASURED_BY_IT.len() + 1 || line.contains([',', '"']) {
        return Err(format!("it should hold wrong and {}, seen `{line}`", MEASURED_BY_IT.join(", ")));
    }
    let wrong = one("wrong")? != "0";
    let cells = MEASURED_BY_IT.into_iter().map(|key| Ok((key, one(key)?))).collect::<Result<_, String>>()?;
    Ok(Measured { wrong, cells })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "wrong=0 ops=7 wall_ns=1 offered_per_s=2 achieved_per_s=2 lat_count=7 lat_min_ns=1 lat_p50_ns=2 lat_p90_ns= \
                        lat_p95_ns= lat_p99_ns= lat_p999_ns= lat_max_ns=9 lateness_p99_ns=3 check=00 flags=a;b=2";

    #[test]
    fn each_key_is_there_once() {
        let all = measured(LINE).expect("the line is right");
        assert_eq!((all.wrong, all.cell("ops"), all.cell("lat_p90_ns"), all.cell("flags")), (false, "7", "", "a;b=2"));
        assert!(measured(&LINE.replace("wrong=0", "wrong=1")).expect("right").wrong);
        for (from, to) in [
            ("ops=7 ", ""),
            ("ops=", "opps="),
            ("lat_p90_ns=", "ops=8"),
            ("flags=a", "flags=a,"),
            (" check", "  check"),
        ] {
            assert!(measured(&LINE.replace(from, to)).is_err(), "{from:?} as {to:?}");
        }
    }
}
