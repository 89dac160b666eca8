//! chili: a `ThreadPool` of its own with its default heartbeat, `Scope::join` for fork-join, and nothing else: it has no call for
//! work from outside. The thread that opens the scope, here the main one, is one of the pool's N.
use crate::failure::Failure;
use crate::fork_join::by_scope;
use crate::fork_join::forks::Fork;
use crate::fork_join::matrices::Matrices;
use crate::fork_join::tree::Tree;
use crate::runtime::{ForkJoin, Start};
use chili::{Config, ThreadPool};
use std::hint::black_box;
use std::num::NonZero;

/// The pool. A scope keeps its heartbeat thread awake, so one is opened for each computation (or block of them).
pub struct Chili(ThreadPool);

impl Start for Chili {
    fn start(workers: usize) -> Result<Self, Failure> {
        let thread_count = NonZero::new(workers);
        Ok(Chili(ThreadPool::with_config(Config { thread_count, ..Config::default() })))
    }
}

impl ForkJoin for Chili {
    fn post_forks<N: Fork>(&self, root: N, ops: u64, done: impl Fn(u64, u64) + Send + Sync + 'static) {
        let mut scope = self.0.scope();
        for i in 0..ops {
            done(i, by_scope::fork_sum(black_box(root), &mut scope));
        }
    }

    fn post_sum<T: Tree>(&self, tree: &'static T, done: impl FnOnce(u64) + Send + 'static) {
        done(by_scope::sum(tree, &tree.root(), &mut self.0.scope()));
    }

    fn post_product(&self, matrices: &'static Matrices, done: impl FnOnce() + Send + 'static) {
        // SAFETY: one product at a time, and this is its first step.
        let whole = unsafe { matrices.begin() };
        by_scope::multiply(matrices, whole, &mut self.0.scope());
        done();
    }
}
