//! Servers of runtimes that have a thread for each core: each worker is a runtime of its own and listens at the same port
//! (SO_REUSEPORT), so Linux deals the connections out. This is how their documentation has it.
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::marker::PhantomData;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use tokio_baseline::failure::Failure;
use tokio_baseline::runtime::Serving;
use tokio_baseline::service::Service;

/// One of them, by one of its drivers.
pub trait PerCore: 'static {
    /// What a refusal is told of.
    const NAME: &'static str;
    /// Whether its sockets must not block: with epoll, not with io_uring.
    const NONBLOCKING: bool;

    /// Starts a runtime on this thread, calls `started`, and serves until the listener is shut down.
    fn run(listener: TcpListener, service: Service, started: impl FnOnce()) -> io::Result<()>;
}

/// Its workers, each with its listener.
pub struct Workers<R>(Vec<(Socket, JoinHandle<()>)>, PhantomData<fn() -> R>);

impl<R: PerCore> Serving for Workers<R> {
    fn serve(workers: usize, service: Service) -> Result<(Self, u16), Failure> {
        let (mut all, mut port) = (Workers(vec![], PhantomData), 0);
        for _ in 0..workers {
            let machine = |e| Failure::machine("cannot listen", &e);
            let ours = listen(port, R::NONBLOCKING).map_err(machine)?;
            let theirs = TcpListener::from(ours.try_clone().map_err(machine)?);
            port = theirs.local_addr().map_err(machine)?.port();
            let (tell, told) = mpsc::channel();
            let run = move || {
                let started = tell.clone();
                if let Err(why) = R::run(theirs, service, move || started.send(Ok(())).expect("the caller waits")) {
                    tell.send(Err(why)).expect("a runtime that has started does not fail");
                }
            };
            let thread = thread::Builder::new().name("worker".into()).spawn(run);
            all.0.push((ours, thread.map_err(|e| Failure::machine("cannot start a worker", &e))?));
            if let Err(why) = told.recv().expect("the worker tells") {
                return Err(Failure::Unsupported(format!("unsupported: this machine refuses {}: {why}", R::NAME)));
            }
        }
        Ok((all, port))
    }
}

impl<R> Drop for Workers<R> {
    fn drop(&mut self) {
        for (listener, worker) in self.0.drain(..) {
            // An error says that its runtime has not come to listen, or has closed it.
            let _shut = listener.shutdown(Shutdown::Both);
            worker.join().expect("a panic would have ended the process");
        }
    }
}

/// A listener beside those that listen at the port; a port of its own for 0.
fn listen(port: u16, nonblocking: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(nonblocking)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
    socket.listen(1024)?;
    Ok(socket)
}
