"""A night's work in units: what one is, where its result lies, what runs it, and in which order."""
