//! The matrices of `matmul`, row-major, and what is known of them.
use crate::host;
use crate::huge_pages::leak;
use crate::ledger::{mix, Ledger};
use std::cell::UnsafeCell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The size of the blocks that are multiplied without further halving.
pub const LEAF: usize = 32;

/// C += A·B; A and B are fixed by the treaty.
pub struct Matrices {
    n: usize,
    a: &'static [u32],
    b: &'static [u32],
    c: &'static [UnsafeCell<u32>],
    begun_ns: AtomicU64,
    ledger: &'static Ledger,
}

// SAFETY: C is written through `multiply_leaf` and `begin` only, whose callers keep writers of a block apart.
unsafe impl Sync for Matrices {}

/// A square block of each, by its upper left corner: C[i,j] += A[i,k]·B[k,j].
#[derive(Clone, Copy, Debug)]
pub struct Product {
    i: usize,
    j: usize,
    k: usize,
    /// How many rows, and columns.
    pub size: usize,
}

impl Product {
    /// Part number `q` (0…3) of a phase (0, 1). Parts of one phase write different blocks of C.
    pub fn part(self, phase: usize, q: usize) -> Product {
        let half = self.size / 2;
        Product { i: self.i + q / 2 * half, j: self.j + q % 2 * half, k: self.k + phase * half, size: half }
    }
}

impl Matrices {
    /// A and B as the treaty has them, C zero; each leaf takes the slow-down of `ledger`. They are never freed.
    pub fn new(n: usize, ledger: &'static Ledger) -> Self {
        let fill = |entry: fn(u32, u32) -> u32| leak(n * n, |at| entry((at / n) as u32, (at % n) as u32));
        let c = leak(n * n, |_| UnsafeCell::new(0));
        Matrices {
            n,
            a: fill(|i, j| (i + 2 * j) % 7),
            b: fill(|i, j| (3 * i + j) % 5),
            c,
            begun_ns: AtomicU64::new(0),
            ledger,
        }
    }

    /// The first step of the root of a product, on the thread that it runs on: sets C to zero, then takes the time. Were C
    /// cleared by the main thread, a worker on another processor would fetch it from that one's cache, and a runtime whose
    /// root is on the main thread would not.
    ///
    /// # Safety
    /// Nobody else reads or writes C meanwhile.
    pub unsafe fn begin(&self) -> Product {
        for cell in self.c {
            // SAFETY: the caller keeps others away.
            unsafe { *cell.get() = 0 };
        }
        self.begun_ns.store(host::now_ns(), Relaxed);
        Product { i: 0, j: 0, k: 0, size: self.n }
    }

    /// When the last [`Matrices::begin`] had cleared C; for a thread that has seen the product's end.
    pub fn begun_ns(&self) -> u64 {
        self.begun_ns.load(Relaxed)
    }

    /// Multiplies the blocks of `p`, whose size is [`LEAF`]. Out of line, so that every runtime runs the same code of it. The sums
    /// of a row are in registers: where rustc knows the size and C is added to in place, it multiplies without vectors, which took
    /// 1.7 times as long.
    ///
    /// # Safety
    /// The size is that, and nobody else reads or writes the block of C meanwhile.
    #[inline(never)]
    pub unsafe fn multiply_leaf(&self, p: Product) {
        debug_assert_eq!(p.size, LEAF);
        self.ledger.slow_down();
        for i in p.i..p.i + LEAF {
            let cells = &self.c[i * self.n + p.j..][..LEAF];
            // SAFETY: these are LEAF, an UnsafeCell is laid out as what it holds, and the caller keeps others away.
            let c = unsafe { &mut *UnsafeCell::raw_get(cells.as_ptr()).cast::<[u32; LEAF]>() };
            let mut sums = *c;
            for k in p.k..p.k + LEAF {
                let a = self.a[i * self.n + k];
                let b = &self.b[k * self.n + p.j..][..LEAF];
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = sum.wrapping_add(a.wrapping_mul(*b));
                }
            }
            *c = sums;
        }
    }

    /// Σ mix(i)·mix(n+j)·C[i][j]
    ///
    /// # Safety
    /// Nobody else writes C meanwhile.
    pub unsafe fn answer(&self) -> u64 {
        let mut sum = 0u64;
        for (i, row) in self.c.chunks(self.n).enumerate() {
            // SAFETY: the caller keeps writers away.
            let row = row.iter().map(|cell| u64::from(unsafe { *cell.get() }));
            let marked = row.zip(self.n as u64..).map(|(c, j)| mix(j).wrapping_mul(c)).fold(0, u64::wrapping_add);
            sum = sum.wrapping_add(mix(i as u64).wrapping_mul(marked));
        }
        sum
    }

    /// The same without C: (uA)(Bv). No entry of C exceeds 32 bits.
    pub fn expected(&self) -> u64 {
        let n = self.n;
        let mut sum = 0u64;
        for k in 0..n {
            let (mut ua, mut bv) = (0u64, 0u64);
            for i in 0..n {
                ua = ua.wrapping_add(mix(i as u64).wrapping_mul(self.a[i * n + k].into()));
                bv = bv.wrapping_add(mix((n + i) as u64).wrapping_mul(self.b[k * n + i].into()));
            }
            sum = sum.wrapping_add(ua.wrapping_mul(bv));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Where the block of C begins that a product writes.
    fn block_of_c(product: Product) -> (usize, usize) {
        (product.i, product.j)
    }

    /// Every product that a block of C takes part in, down to the leaves.
    fn leaves(product: Product, into: &mut Vec<Product>) {
        if product.size == LEAF {
            return into.push(product);
        }
        for (phase, q) in [0, 1].into_iter().flat_map(|phase| (0..4).map(move |q| (phase, q))) {
            leaves(product.part(phase, q), into);
        }
    }

    #[test]
    fn parts_of_a_phase_write_different_blocks_and_all_phases_make_the_whole_product() {
        let all = Matrices::new(128, Ledger::leak(0));
        // SAFETY: this thread alone uses it, here and below.
        let whole = unsafe { all.begin() };
        for phase in 0..2 {
            let written = BTreeSet::from_iter((0..4).map(|q| block_of_c(whole.part(phase, q))));
            assert_eq!(written.len(), 4);
        }
        let mut products = Vec::new();
        leaves(whole, &mut products);
        assert_eq!(products.len(), 4 * 4 * 4);
        // SAFETY: as above.
        unsafe {
            products.into_iter().for_each(|product| all.multiply_leaf(product));
            assert_eq!(all.answer(), all.expected());
            all.begin();
            assert_eq!(all.answer(), 0);
        }
    }
}
