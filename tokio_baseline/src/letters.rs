//! What processes send each other, and the built-in slow-down of a control arm: a letter counts as a task.
use crate::ledger;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is sent: which kind of message, and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Letter {
    /// Its kind; each program has its own.
    pub what: u64,
    /// What it tells.
    pub number: u64,
}

static SLOWDOWN_NS: AtomicU64 = AtomicU64::new(0);

/// Sets what every 64th letter of a thread takes; before there is a runtime.
pub fn set_slowdown(ns: u64) {
    SLOWDOWN_NS.store(ns, Ordering::Relaxed);
}

/// What a runtime calls for a letter that has arrived, just before its process gets it.
#[inline]
pub fn arrived() {
    ledger::slow_down(SLOWDOWN_NS.load(Ordering::Relaxed));
}
