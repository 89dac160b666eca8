//! monoio: its driver of io_uring, and its legacy one of epoll.
use super::per_core::PerCore;
use ::monoio::io::{AsyncReadRentExt, AsyncWriteRentExt};
use ::monoio::net::{TcpListener, TcpStream};
use ::monoio::{IoUringDriver, LegacyDriver, RuntimeBuilder};
use std::io;
use tokio_baseline::service::{self, Service};

/// On io_uring.
pub struct Uring;

impl PerCore for Uring {
    const NAME: &'static str = "monoio's io_uring";
    const NONBLOCKING: bool = false;

    fn run(listener: std::net::TcpListener, service: Service, started: impl FnOnce()) -> io::Result<()> {
        let mut runtime = RuntimeBuilder::<IoUringDriver>::new().build()?;
        started();
        runtime.block_on(accept(listener, service));
        Ok(())
    }
}

/// On epoll.
pub struct Legacy;

impl PerCore for Legacy {
    const NAME: &'static str = "monoio's epoll";
    const NONBLOCKING: bool = true;

    fn run(listener: std::net::TcpListener, service: Service, started: impl FnOnce()) -> io::Result<()> {
        let mut runtime = RuntimeBuilder::<LegacyDriver>::new().build()?;
        started();
        runtime.block_on(accept(listener, service));
        Ok(())
    }
}

async fn accept(listener: std::net::TcpListener, service: Service) {
    let listener = TcpListener::from_std(listener).expect("a listener that is open");
    while let Ok((client, _)) = listener.accept().await {
        ::monoio::spawn(answer(client, service));
    }
}

/// A connection until it ends, in whatever way. A buffer goes with each call, which hands it back.
async fn answer(mut client: TcpStream, service: Service) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut backends = vec![];
    for address in service.backends {
        let backend = TcpStream::connect_addr(*address).await?;
        backend.set_nodelay(true)?;
        backends.push(backend);
    }
    let (mut message, mut reply) = (service.message(), service.message());
    let mut done;
    loop {
        (done, message) = client.read_exact(message).await;
        done?;
        if backends.is_empty() {
            service.reply(&mut message);
        } else {
            for backend in service.asked(&message) {
                (done, message) = backends[backend].write_all(message).await;
                done?;
            }
            let mut sum = 0u64;
            for backend in service.asked(&message) {
                (done, reply) = backends[backend].read_exact(reply).await;
                done?;
                sum = sum.wrapping_add(service::value(&reply));
            }
            service.reply_with(&mut message, sum);
        }
        (done, message) = client.write_all(message).await;
        done?;
    }
}
