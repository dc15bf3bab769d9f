//! Reads where it holds up nobody.

use super::refused::{Refused, RefusedReason};

/// Reads on a thread of its own what takes long: a body of some 256 KB and more is about a millisecond's work.
///
/// # Errors
/// Those of `read`.
pub async fn understand<
    B: AsRef<[u8]> + Send + 'static,
    T: Send + 'static,
    E: From<Refused> + Send + 'static,
>(
    body: B,
    read: impl FnOnce(&[u8]) -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    if body.as_ref().len() <= LONGEST_INLINE {
        return read(body.as_ref());
    }
    let read = tokio::task::spawn_blocking(move || read(body.as_ref())).await;
    read.unwrap_or_else(|error| {
        tracing::error!(target: "stepwell", %error, "a request could not be read");
        let message = "the server failed to read the request: see its log";
        Err(Refused::new(RefusedReason::InternalError, message).into())
    })
}

/// The longest body that is read where it comes in, in bytes.
const LONGEST_INLINE: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{ThreadId, current};

    async fn read_on(length: usize) -> ThreadId {
        let body = vec![b' '; length];
        let thread = understand(body, |_| Ok::<_, Refused>(current().id())).await;
        thread.expect("it is read")
    }

    #[tokio::test]
    async fn a_large_body_is_read_where_it_holds_up_nobody() {
        assert_eq!(read_on(LONGEST_INLINE).await, current().id());
        assert_ne!(read_on(LONGEST_INLINE + 1).await, current().id());
    }
}
