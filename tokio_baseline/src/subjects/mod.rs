//! One file per runtime: how its own users would write what the scenarios ask for.
pub mod async_pool;
pub mod rayon_pool;
pub mod tokio_current_thread;
pub mod tokio_multi_thread;

/// Every subject of this crate; each has a program in `src/bin/`.
#[cfg(test)]
pub(crate) fn all() -> [&'static crate::subject::Subject; 5] {
    [
        &tokio_multi_thread::SUBJECT,
        &tokio_multi_thread::WITH_MIMALLOC,
        &tokio_current_thread::SUBJECT,
        &rayon_pool::SUBJECT,
        &async_pool::SUBJECT,
    ]
}
