"""How a race runs: scenarios, plans, subjects and rounds, and the files that it leaves."""
