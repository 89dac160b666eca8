//! One file per runtime: how its own users would write what the scenarios ask for.
pub mod async_pool;
pub mod rayon_pool;
pub mod tokio;

/// Every subject of this crate; each has a program in `src/bin/`.
#[cfg(test)]
pub(crate) fn all() -> [&'static crate::subject::Subject; 5] {
    [&tokio::SUBJECT, &tokio::WITH_MIMALLOC, &tokio::CURRENT_THREAD, &rayon_pool::SUBJECT, &async_pool::SUBJECT]
}
