"""One file per verb. Each has SUMMARY, DESCRIPTION, arguments(parser) and run(args) -> exit code."""
