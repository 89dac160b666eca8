//! compio: its driver of io_uring, and its polling one of epoll.
use super::per_core::PerCore;
use ::compio::driver::{DriverType, ProactorBuilder};
use ::compio::io::{AsyncReadExt, AsyncWriteExt};
use ::compio::net::{TcpListener, TcpStream};
use ::compio::runtime::{self, RuntimeBuilder};
use ::compio::BufResult;
use std::io;
use tokio_baseline::service::{self, Service};

/// On io_uring.
pub struct Uring;

impl PerCore for Uring {
    const NAME: &'static str = "compio's io_uring";
    const NONBLOCKING: bool = false;

    fn run(listener: std::net::TcpListener, service: Service, started: impl FnOnce()) -> io::Result<()> {
        run(DriverType::IoUring, listener, service, started)
    }
}

/// On epoll.
pub struct Polling;

impl PerCore for Polling {
    const NAME: &'static str = "compio's polling";
    const NONBLOCKING: bool = true;

    fn run(listener: std::net::TcpListener, service: Service, started: impl FnOnce()) -> io::Result<()> {
        run(DriverType::Poll, listener, service, started)
    }
}

fn run(
    driver: DriverType,
    listener: std::net::TcpListener,
    service: Service,
    started: impl FnOnce(),
) -> io::Result<()> {
    let mut proactor = ProactorBuilder::new();
    proactor.driver_type(driver);
    let runtime = RuntimeBuilder::new().with_proactor(proactor).build()?;
    started();
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener).expect("a listener that is open");
        while let Ok((client, _)) = listener.accept().await {
            runtime::spawn(answer(client, service)).detach();
        }
    });
    Ok(())
}

/// A connection until it ends, in whatever way. A buffer goes with each call, which hands it back.
async fn answer(mut client: TcpStream, service: Service) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut backends = vec![];
    for address in service.backends {
        let backend = TcpStream::connect(*address).await?;
        backend.set_nodelay(true)?;
        backends.push(backend);
    }
    let (mut message, mut reply) = (service.message(), service.message());
    let mut done;
    loop {
        BufResult(done, message) = client.read_exact(message).await;
        done?;
        if backends.is_empty() {
            service.reply(&mut message);
        } else {
            for backend in service.asked(&message) {
                BufResult(done, message) = backends[backend].write_all(message).await;
                done?;
            }
            let mut sum = 0u64;
            for backend in service.asked(&message) {
                BufResult(done, reply) = backends[backend].read_exact(reply).await;
                done?;
                sum = sum.wrapping_add(service::value(&reply));
            }
            service.reply_with(&mut message, sum);
        }
        BufResult(done, message) = client.write_all(message).await;
        done?;
    }
}
