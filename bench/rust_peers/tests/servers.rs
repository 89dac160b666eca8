//! The servers of monoio, compio and glommio, asked by the client and the backends of tokio_baseline's tests. What the machine refuses is
//! unsupported, by name.
use rust_peers::subjects::per_core::{PerCore, Workers};
use rust_peers::subjects::{compio, glommio, monoio};
use tokio_baseline::failure::Failure;
use tokio_baseline::runtime::Serving;
use tokio_baseline::service::Service;

#[path = "../../../tokio_baseline/tests/asking/mod.rs"]
mod asking;

fn served<R: PerCore>(service: Service) -> Option<(Workers<R>, u16)> {
    match Workers::<R>::serve(2, service) {
        Ok(server) => Some(server),
        Err(Failure::Unsupported(why)) => {
            assert!(why.contains(R::NAME), "{why}");
            eprintln!("skipped: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

fn answers<R: PerCore>() {
    asking::answers(served::<R>);
}

#[test]
fn monoio_answers_every_request_once_and_in_order() {
    answers::<monoio::Uring>();
    answers::<monoio::Legacy>();
}

#[test]
fn compio_answers_every_request_once_and_in_order() {
    answers::<compio::Uring>();
    answers::<compio::Polling>();
}

#[test]
fn glommio_answers_every_request_once_and_in_order() {
    answers::<glommio::Glommio>();
}
