//! Two branches, again and again, down to leaves: the nodes of `fib` and `tree_sum`, and their sum worked out serially.
//!
//! A fork can cost two nanoseconds, and whatever stood around it would be measured, too. So each way to wait has a
//! kernel of its own for them, in which no node looks for a slow-down: that stands after each computation.

/// A node of a binary tree whose sum is wanted.
pub trait Fork: Copy + Send + Sync + 'static {
    /// Whether it has no branches; else it has two.
    fn is_leaf(self) -> bool;

    /// Its first branch.
    fn left(self) -> Self;

    /// Its second branch.
    fn right(self) -> Self;

    /// Its own value.
    fn value(self) -> u64;
}

/// fib(n) by its definition: two branches for every addition.
#[derive(Clone, Copy)]
pub struct FibNode(pub u64);

impl Fork for FibNode {
    #[inline]
    fn is_leaf(self) -> bool {
        self.0 < 2
    }

    #[inline]
    fn left(self) -> Self {
        FibNode(self.0 - 1)
    }

    #[inline]
    fn right(self) -> Self {
        FibNode(self.0 - 2)
    }

    #[inline]
    fn value(self) -> u64 {
        if self.0 < 2 {
            self.0
        } else {
            0
        }
    }
}

/// A node of a balanced tree in memory.
#[derive(Clone, Copy)]
pub struct TreeNode(&'static Stored);

struct Stored {
    value: u64,
    /// Both or none.
    left: Option<&'static Stored>,
    right: Option<&'static Stored>,
}

impl TreeNode {
    /// The root of a balanced tree of so many nodes, one less than a power of two. They lie in one array, in the order of a
    /// walk that visits a node, then its left subtree, then its right one; a node is worth its number in it. A runtime that
    /// begins with the second of two branches gets the left one there, so that all walk forwards.
    pub fn balanced(nodes: usize) -> Self {
        let all = (0..nodes as u64).map(|value| Stored { value, left: None, right: None });
        let all = Vec::from_iter(all);
        TreeNode(linked(all.leak()))
    }
}

fn linked(nodes: &'static mut [Stored]) -> &'static Stored {
    let below = nodes.len() / 2;
    let (own, rest) = nodes.split_first_mut().expect("a tree has a node");
    if below > 0 {
        let (left, right) = rest.split_at_mut(below);
        (own.left, own.right) = (Some(linked(left)), Some(linked(right)));
    }
    own
}

impl Fork for TreeNode {
    #[inline]
    fn is_leaf(self) -> bool {
        self.0.left.is_none()
    }

    #[inline]
    fn left(self) -> Self {
        TreeNode(self.0.left.expect("a branch"))
    }

    #[inline]
    fn right(self) -> Self {
        TreeNode(self.0.right.expect("a branch"))
    }

    #[inline]
    fn value(self) -> u64 {
        self.0.value
    }
}

/// The sum below `node`, serially: the reference, and the expected answer.
pub fn serial_sum(node: impl Fork) -> u64 {
    match node.is_leaf() {
        true => node.value(),
        false => node.value().wrapping_add(serial_sum(node.left())).wrapping_add(serial_sum(node.right())),
    }
}

/// How many forks that takes: the nodes that are no leaves.
pub fn forks_of(node: impl Fork) -> u64 {
    match node.is_leaf() {
        true => 0,
        false => 1 + forks_of(node.left()) + forks_of(node.right()),
    }
}
