"""What is proved, stressed, mutated and counted about a source, and the records of it."""
