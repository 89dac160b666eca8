"""What the rows of a race say: pairs, verdicts, findings, and summary.md."""
