//! Plan files: the intended release times of an open-loop scenario, the same for every arm of a round.
use crate::failure::Failure;
use std::path::Path;

/// Reads the plan at `path`: nanoseconds after the start of the measurement, ascending, at least one.
pub fn read(path: &Path) -> Result<Vec<u64>, Failure> {
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|e| Failure::bad(format!("--plan: cannot read {name}: {e}")))?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|e| Failure::bad(format!("--plan: {name} is not ASCII: byte {} is not text", e.valid_up_to())))?;
    parse(text).map_err(|what| Failure::bad(format!("--plan: {name}: {what}")))
}

/// Parses a plan. Equal neighbours are allowed (a burst); a step back is not.
pub fn parse(text: &str) -> Result<Vec<u64>, String> {
    let mut times: Vec<u64> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with('#') {
            continue;
        }
        let time = parse_line(line).map_err(|why| format!("line {number}: {why}, seen `{}`", shorten(line)))?;
        if let Some(&before) = times.last().filter(|&&before| before > time) {
            return Err(format!("line {number}: the times must ascend, seen {time} after {before}"));
        }
        times.push(time);
    }
    if times.is_empty() {
        return Err("no release time in it; one integer per line is expected".into());
    }
    Ok(times)
}

fn parse_line(line: &str) -> Result<u64, &'static str> {
    if line.is_empty() || !line.bytes().all(|b| b.is_ascii_digit()) {
        return Err("expected one non-negative integer (nanoseconds) and nothing else");
    }
    // 63 bits: C++ subjects keep times signed, and an intended time must not wrap.
    line.parse::<i64>().map(|time| time as u64).map_err(|_| "the number is too large for signed 64 bits")
}

/// What was seen, printable and short enough for one line of standard error.
fn shorten(line: &str) -> String {
    let mut seen: String = line.chars().take(40).flat_map(char::escape_debug).collect();
    if line.chars().count() > 40 {
        seen.push('…');
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_skipped_and_equal_times_are_a_burst() {
        assert_eq!(parse("# seed 7\n0\n1000\n# in between\n1000\n2500\n"), Ok(vec![0, 1000, 1000, 2500]));
    }

    #[test]
    fn the_last_line_end_may_be_missing() {
        assert_eq!(parse("5\n6"), Ok(vec![5, 6]));
    }

    #[test]
    fn a_malformed_line_is_named_by_its_number_in_the_file_and_its_text() {
        let error = parse("# one\n10\n12x\n").unwrap_err();
        assert!(error.contains("line 3") && error.contains("`12x`"), "seen: {error}");
        for line in ["-1", "1.5", " 7", "7 ", "+7", "0x10", "", "1_000", "١"] {
            let error = parse(&format!("1\n{line}\n")).unwrap_err();
            assert!(error.contains("line 2"), "`{line}` gave: {error}");
        }
    }

    #[test]
    fn a_number_beyond_signed_64_bits_is_refused() {
        assert_eq!(parse("9223372036854775807"), Ok(vec![i64::MAX as u64]));
        assert!(parse("9223372036854775808").unwrap_err().contains("64 bits"));
    }

    #[test]
    fn a_step_back_is_refused() {
        let error = parse("10\n9\n").unwrap_err();
        assert!(error.contains("line 2") && error.contains("9 after 10"), "seen: {error}");
    }

    #[test]
    fn a_plan_without_times_is_refused() {
        assert!(parse("# nothing\n").is_err());
        assert!(parse("").is_err());
    }

    #[test]
    fn a_long_line_is_shown_shortened() {
        let error = parse(&"z".repeat(500)).unwrap_err();
        assert!(error.len() < 250, "seen: {error}");
    }

    #[test]
    fn a_file_that_is_not_there_is_bad_arguments() {
        let failure = read(Path::new("/nonexistent/plan")).unwrap_err();
        assert_eq!(failure.exit_status(), 2);
        assert!(failure.to_string().contains("/nonexistent/plan"));
    }
}
