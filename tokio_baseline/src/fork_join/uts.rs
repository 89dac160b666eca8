//! The tree T1 of Unbalanced Tree Search: a node's SHA-1 decides how many children it has.
use super::tree::Tree;
use sha1::{Digest, Sha1};

const SEED: u32 = 19;
const BRANCHING: f64 = 4.0;
const MOST_CHILDREN: usize = 100;

/// The tree, down to a height.
pub struct Uts {
    depth: u32,
    /// ln(1 − p), where p ends a node's row of children.
    per_child: f64,
}

/// A node: its hash and its height.
#[derive(Clone, Copy)]
pub struct Hashed {
    state: [u8; 20],
    height: u32,
}

impl Uts {
    /// The tree with no children at height `depth`.
    pub fn new(depth: u32) -> Self {
        Uts { depth, per_child: (1.0 - 1.0 / (1.0 + BRANCHING)).ln() }
    }
}

/// SHA-1 of 20 bytes and a number.
#[inline]
fn hash(bytes: &[u8; 20], number: u32) -> [u8; 20] {
    let mut message = [0; 24];
    message[..20].copy_from_slice(bytes);
    message[20..].copy_from_slice(&number.to_be_bytes());
    Sha1::digest(message).into()
}

impl Tree for Uts {
    type Node = Hashed;

    fn root(&self) -> Hashed {
        let mut message = [0; 20];
        message[16..].copy_from_slice(&SEED.to_be_bytes());
        Hashed { state: Sha1::digest(message).into(), height: 0 }
    }

    #[inline]
    fn children(&self, node: &Hashed) -> usize {
        if node.height >= self.depth {
            return 0;
        }
        let [.., a, b, c, d] = node.state;
        let u = f64::from(u32::from_be_bytes([a, b, c, d]) & 0x7FFF_FFFF) / f64::from(1u32 << 31);
        (((1.0 - u).ln() / self.per_child).floor() as usize).min(MOST_CHILDREN)
    }

    #[inline]
    fn child(&self, node: &Hashed, k: usize) -> Hashed {
        Hashed { state: hash(&node.state, k as u32), height: node.height + 1 }
    }

    #[inline]
    fn value(&self, _: &Hashed) -> u64 {
        1
    }
}
