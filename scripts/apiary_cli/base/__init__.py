"""What knows nothing of proving or racing: faults, output, processes, the repository, its builds,
the machine, statistics."""
