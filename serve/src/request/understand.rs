//! Reads long bodies without delaying other requests.

use super::refused::{Refused, RefusedReason};

/// Reads a long body on a thread of its own: 256 KB take about a millisecond.
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

/// The longest body that is read on the caller's thread, in bytes.
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
    async fn a_large_body_does_not_delay_other_requests() {
        assert_eq!(read_on(LONGEST_INLINE).await, current().id());
        assert_ne!(read_on(LONGEST_INLINE + 1).await, current().id());
    }
}
