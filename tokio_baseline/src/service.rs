//! What a server does with a message of the scenarios `echo` and `fan_out` (CLI.md): the bytes, without the sockets.
use crate::ledger::{self, mix};
use std::net::SocketAddr;

/// What one server answers; each connection has a copy.
#[derive(Debug, Clone, Copy)]
pub struct Service {
    /// The length of every message.
    pub bytes: usize,
    /// Whom the server asks; nobody in `echo`.
    pub backends: &'static [SocketAddr],
    /// How many of them for each request.
    pub ask: usize,
    /// Built-in slow-down of every 64th request that a thread answers.
    pub slowdown_ns: u64,
}

impl Service {
    /// A buffer for one message.
    pub fn message(self) -> Vec<u8> {
        vec![0; self.bytes]
    }

    /// Of a buffer that reads ahead: larger than a message, so that one read gets a message and sees that no other waits.
    pub fn read_ahead(self) -> usize {
        (2 * self.bytes).max(16 * 1024)
    }

    /// The numbers of the backends that a request goes to.
    pub fn asked(self, request: &[u8]) -> impl Iterator<Item = usize> {
        let (first, backends) = (number(request), self.backends.len() as u64);
        (0..self.ask as u64).map(move |j| (first.wrapping_add(j) % backends) as usize)
    }

    /// Makes the request its own reply, as an echo.
    pub fn reply(self, message: &mut [u8]) {
        self.reply_with(message, mix(number(message)));
    }

    /// Makes the request its own reply, which holds what the backends said, added up.
    pub fn reply_with(self, message: &mut [u8], value: u64) {
        ledger::slow_down(self.slowdown_ns);
        message[8..16].copy_from_slice(&value.to_le_bytes());
    }
}

fn word(message: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(message[at..at + 8].try_into().expect("eight bytes"))
}

fn number(message: &[u8]) -> u64 {
    word(message, 0)
}

/// What a reply says.
pub fn value(reply: &[u8]) -> u64 {
    word(reply, 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: u64) -> Vec<u8> {
        let mut message = vec![7; 20];
        message[..8].copy_from_slice(&number.to_le_bytes());
        message[8..16].fill(0);
        message
    }

    #[test]
    fn an_echo_changes_eight_bytes() {
        let mut message = request(5);
        Service { bytes: 20, backends: &[], ask: 0, slowdown_ns: 0 }.reply(&mut message);
        assert_eq!((number(&message), value(&message), &message[16..]), (5, mix(5), &[7; 4][..]));
    }

    #[test]
    fn neighbours_are_asked_from_the_number_on_and_round() {
        let backends: &'static [SocketAddr] = Box::leak(vec![SocketAddr::from(([127, 0, 0, 1], 1)); 5].into());
        let service = Service { bytes: 20, backends, ask: 3, slowdown_ns: 0 };
        assert_eq!(Vec::from_iter(service.asked(&request(13))), [3, 4, 0]);
        // 2^63 mod 5 = 3; and the number wraps.
        assert_eq!(Vec::from_iter(service.asked(&request(1 << 63))), [3, 4, 0]);
        assert_eq!(Vec::from_iter(service.asked(&request(u64::MAX))), [0, 0, 1]);
    }
}
