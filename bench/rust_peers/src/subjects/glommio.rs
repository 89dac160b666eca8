//! glommio: a `LocalExecutor` for each worker. It has io_uring alone.
use super::per_core::PerCore;
use ::glommio::net::{TcpListener, TcpStream};
use ::glommio::{spawn_local, LocalExecutorBuilder, Placement};
use futures_lite::{AsyncReadExt, AsyncWriteExt};
use std::io;
use std::os::fd::{FromRawFd, IntoRawFd};
use tokio_baseline::service::{self, Service};

/// Its executor. The plan pins the process, so it pins no thread.
pub struct Glommio;

impl PerCore for Glommio {
    const NAME: &'static str = "glommio's io_uring";
    const NONBLOCKING: bool = false;

    fn run(listener: std::net::TcpListener, service: Service, started: impl FnOnce()) -> io::Result<()> {
        // Its own answer would be a panic.
        if !monoio::utils::detect_uring() {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let executor = LocalExecutorBuilder::new(Placement::Unbound).make();
        let executor = executor.map_err(|why| io::Error::other(why.to_string()))?;
        started();
        executor.run(async {
            // SAFETY: nothing else owns this descriptor.
            let listener = unsafe { TcpListener::from_raw_fd(listener.into_raw_fd()) };
            while let Ok(client) = listener.accept().await {
                spawn_local(answer(client, service)).detach();
            }
        });
        Ok(())
    }
}

/// A connection until it ends, in whatever way.
async fn answer(client: TcpStream, service: Service) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut backends = vec![];
    for address in service.backends {
        let backend = TcpStream::connect(*address).await?;
        backend.set_nodelay(true)?;
        backends.push(backend.buffered());
    }
    let mut client = client.buffered();
    let (mut message, mut reply) = (service.message(), service.message());
    loop {
        client.read_exact(&mut message).await?;
        if backends.is_empty() {
            service.reply(&mut message);
        } else {
            for backend in service.asked(&message) {
                backends[backend].write_all(&message).await?;
            }
            let mut sum = 0u64;
            for backend in service.asked(&message) {
                backends[backend].read_exact(&mut reply).await?;
                sum = sum.wrapping_add(service::value(&reply));
            }
            service.reply_with(&mut message, sum);
        }
        client.write_all(&message).await?;
    }
}
