//! Large tables at a boundary of 2 MiB, in huge pages where the system gives them on request. With small ones the places of
//! the pages decide how many of a table's lines share a set of the cache: another place in each process.
use std::alloc::{alloc, handle_alloc_error, Layout};

const BOUNDARY: usize = 1 << 21;

/// So many entries of `entry(at)`. Never freed. A system without huge pages is no error.
pub fn leak<T>(entries: usize, entry: impl Fn(usize) -> T) -> &'static [T] {
    leak_mut(entries, entry)
}

/// The same, to be written.
pub fn leak_mut<T>(entries: usize, entry: impl Fn(usize) -> T) -> &'static mut [T] {
    let bytes = (entries * std::mem::size_of::<T>()).next_multiple_of(BOUNDARY).max(BOUNDARY);
    let layout = Layout::from_size_align(bytes, BOUNDARY).expect("a table fits the address space");
    // SAFETY: the size is not zero.
    let place = unsafe { alloc(layout) }.cast::<T>();
    if place.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: the advice changes nothing that can be read; each entry is written before the slice is made, and the block is as
    // long as all of them and aligned to more than they need.
    unsafe {
        libc::madvise(place.cast(), bytes, libc::MADV_HUGEPAGE);
        (0..entries).for_each(|at| place.add(at).write(entry(at)));
        std::slice::from_raw_parts_mut(place, entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_begins_at_a_boundary_and_holds_what_it_was_given() {
        let table = leak(3, |at| at * at);
        assert_eq!(table, [0, 1, 4]);
        assert_eq!(table.as_ptr() as usize % BOUNDARY, 0);
        assert!(leak(0, |at| at).is_empty());
    }
}
