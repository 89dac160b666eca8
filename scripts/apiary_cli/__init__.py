"""The apiary command: shared parts here, one file per verb in verbs/."""
