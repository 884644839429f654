"""The set-level bench (Component 2): redundancy and contradictions in time across one batch."""
