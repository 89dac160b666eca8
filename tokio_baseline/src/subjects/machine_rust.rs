//! No runtime: rayon's kernels with a plain call for each branch, on the main thread, whatever `--workers` says. Beside the C++
//! subject `machine_calls`, which does the same, it says what rustc's machine code costs, with no runtime in the way.
use crate::failure::Failure;
use crate::fork_join::by_join::{self, Joining};
use crate::fork_join::forks::Fork;
use crate::fork_join::matrices::Matrices;
use crate::fork_join::tree::Tree;
use crate::runtime::{ForkJoin, Start};
use std::hint::black_box;

/// Has nothing to start.
pub struct Machine;

impl Start for Machine {
    fn start(_workers: usize) -> Result<Self, Failure> {
        Ok(Machine)
    }
}

/// A branch is a call, as it is where another thread may take it.
#[inline(never)]
fn called<A>(branch: impl FnOnce() -> A) -> A {
    branch()
}

impl Joining for Machine {
    #[inline(always)]
    fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        let both = (called(a), called(b));
        // Else the compiler makes a loop of the second call.
        // SAFETY: no instruction at all.
        unsafe { std::arch::asm!("", options(nomem, nostack, preserves_flags)) };
        both
    }
}

impl ForkJoin for Machine {
    fn post_forks<N: Fork>(&self, root: N, ops: u64, done: impl Fn(u64, u64) + Send + Sync + 'static) {
        (0..ops).for_each(|i| done(i, by_join::fork_sum::<Self, N>(black_box(root))))
    }

    fn post_sum<T: Tree>(&self, tree: &'static T, done: impl FnOnce(u64) + Send + 'static) {
        done(by_join::sum::<Self, T>(tree, &tree.root()))
    }

    fn post_product(&self, matrices: &'static Matrices, done: impl FnOnce() + Send + 'static) {
        // SAFETY: one product at a time, and this is its first step.
        let whole = unsafe { matrices.begin() };
        by_join::multiply::<Self>(matrices, whole);
        done()
    }
}
