//! A client and backends for the tests of servers, here and in bench/rust_peers.
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;
use tokio_baseline::ledger::mix;
use tokio_baseline::service::Service;

const BYTES: usize = 20;

fn message(number: u64, value: u64) -> Vec<u8> {
    [&number.to_le_bytes()[..], &value.to_le_bytes(), &[9; BYTES - 16]].concat()
}

/// Two requests at once, so that the second waits in the server's buffer, then the end of the client's half.
fn ask(port: u16, number: u64) -> Vec<u8> {
    let mut client = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    client.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    client.write_all(&[message(number, 0), message(number + 1, 0)].concat()).expect("the server reads");
    client.shutdown(Shutdown::Write).expect("a socket");
    let mut all = vec![];
    client.read_to_end(&mut all).expect("the server answers and ends");
    all
}

/// Backends that answer with mix(number) + their own number, as CLI.md has it.
fn backends(n: u64) -> &'static [SocketAddr] {
    let start = |own: u64| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        thread::spawn(move || {
            for mut front in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || {
                    let mut request = [0; BYTES];
                    while front.read_exact(&mut request).is_ok() {
                        let number = u64::from_le_bytes(request[..8].try_into().expect("eight bytes"));
                        request[8..16].copy_from_slice(&mix(number).wrapping_add(own).to_le_bytes());
                        front.write_all(&request).expect("the front reads");
                    }
                });
            }
        });
        address
    };
    Vec::leak((0..n).map(start).collect())
}

/// Asks servers that `serve` starts, echo and then fan_out: each request is answered once and in order. None of `serve`: the machine
/// refuses it.
pub fn answers<S>(serve: impl Fn(Service) -> Option<(S, u16)>) {
    let Some((server, port)) = serve(Service { bytes: BYTES, backends: &[], ask: 0, slowdown_ns: 0 }) else { return };
    // A client that ends within a message harms no other.
    TcpStream::connect(("127.0.0.1", port)).expect("it listens").write_all(&[1; BYTES + 3]).expect("it reads");
    for number in [0, 6, 1 << 63] {
        assert_eq!(ask(port, number), [message(number, mix(number)), message(number + 1, mix(number + 1))].concat());
    }
    drop(server);

    let Some((server, port)) = serve(Service { bytes: BYTES, backends: backends(3), ask: 2, slowdown_ns: 0 }) else {
        return;
    };
    let sum = |number: u64| mix(number).wrapping_mul(2).wrapping_add(number % 3 + (number + 1) % 3);
    for number in [0, 7, 1 << 63] {
        assert_eq!(ask(port, number), [message(number, sum(number)), message(number + 1, sum(number + 1))].concat());
    }
    drop(server);
}
