//! The trees of `skynet` and `nqueens`.
use super::tree::Tree;

/// Ten children each, down to so many leaves; a leaf is worth its number.
pub struct Skynet(pub u64);

impl Tree for Skynet {
    /// The first leaf below, and how many there are.
    type Node = (u64, u64);

    fn root(&self) -> (u64, u64) {
        (0, self.0)
    }

    #[inline]
    fn children(&self, &(_, size): &(u64, u64)) -> usize {
        if size > 1 {
            10
        } else {
            0
        }
    }

    #[inline]
    fn child(&self, &(first, size): &(u64, u64), k: usize) -> (u64, u64) {
        (first + k as u64 * (size / 10), size / 10)
    }

    #[inline]
    fn value(&self, &(first, size): &(u64, u64)) -> u64 {
        if size > 1 {
            0
        } else {
            first
        }
    }
}

/// All ways to place so many queens.
pub struct Queens(pub u32);

/// What the queens of the rows above attack in this row, a bit per column.
#[derive(Clone, Copy)]
pub struct Board {
    columns: u32,
    falling: u32,
    rising: u32,
    row: u32,
}

impl Queens {
    #[inline]
    fn free(&self, board: &Board) -> u32 {
        if board.row == self.0 {
            return 0;
        }
        !(board.columns | board.falling | board.rising) & ((1 << self.0) - 1)
    }
}

impl Tree for Queens {
    type Node = Board;

    fn root(&self) -> Board {
        Board { columns: 0, falling: 0, rising: 0, row: 0 }
    }

    #[inline]
    fn children(&self, board: &Board) -> usize {
        self.free(board).count_ones() as usize
    }

    #[inline]
    fn child(&self, board: &Board, k: usize) -> Board {
        let mut open = self.free(board);
        for _ in 0..k {
            open &= open - 1;
        }
        let queen = open & open.wrapping_neg();
        Board {
            columns: board.columns | queen,
            falling: (board.falling | queen) << 1,
            rising: (board.rising | queen) >> 1,
            row: board.row + 1,
        }
    }

    #[inline]
    fn value(&self, board: &Board) -> u64 {
        (board.row == self.0).into()
    }
}
