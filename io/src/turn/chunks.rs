//! The body of an answer, in chunks that hold all that has arrived.

use bytes::Bytes;
use futures::stream::Fuse;
use futures::{FutureExt, Stream, StreamExt};

/// A body in chunks that hold all that has arrived. Servers send each event in a chunk of its own: a turn that is behind
/// takes all waiting events at once, and shows deltas of one text as one event.
pub(super) struct Chunks<S, E> {
    body: Fuse<S>,
    /// The error that ended the body after the last chunk.
    failed: Option<E>,
}

/// A chunk of this many bytes is not extended.
const MIN_FULL_CHUNK_BYTES: usize = 16 << 10;

/// How many times the body is polled for more.
const MAX_EXTRA_POLLS: usize = 16;

impl<S, E> Chunks<S, E>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    pub(super) fn new(body: S) -> Self {
        Self {
            body: body.fuse(),
            failed: None,
        }
    }

    /// Returns the next chunk. It is a copy, so that the connection has its buffer back.
    pub(super) async fn next(&mut self) -> Option<Result<Vec<u8>, E>> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        let mut chunk = match self.body.next().await? {
            Ok(first) => first.to_vec(),
            Err(error) => return Some(Err(error)),
        };
        for _ in 0..MAX_EXTRA_POLLS {
            if chunk.len() >= MIN_FULL_CHUNK_BYTES {
                break;
            }
            // The connection hands on one chunk whenever its task runs.
            tokio::task::yield_now().await;
            match self.body.next().now_or_never().flatten() {
                Some(Ok(more)) => chunk.extend_from_slice(&more),
                Some(Err(error)) => {
                    self.failed = Some(error);
                    break;
                }
                None => break,
            }
        }
        Some(Ok(chunk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn joins_what_has_arrived_before_an_error() {
        let (sender, receiver) = futures::channel::mpsc::unbounded();
        let mut received = Chunks::new(receiver);
        let arrives = |bytes: &'static [u8]| {
            let sent = sender.unbounded_send(Ok::<_, &str>(Bytes::from_static(bytes)));
            sent.expect("somebody reads");
        };
        arrives(b"data: a\n\n");
        assert_eq!(received.next().await, Some(Ok(b"data: a\n\n".to_vec())));
        assert_eq!(received.next().now_or_never(), None);
        arrives(b"data: b\n\n");
        arrives(b"data: c\n\n");
        sender.unbounded_send(Err("broken")).expect("it is read");
        let waiting = b"data: b\n\ndata: c\n\n".to_vec();
        assert_eq!(received.next().await, Some(Ok(waiting)));
        assert_eq!(received.next().await, Some(Err("broken")));
        drop(sender);
        assert_eq!(received.next().await, None);
        assert_eq!(received.next().await, None);
    }

    #[tokio::test]
    async fn does_not_extend_a_full_chunk() {
        let part = Bytes::from(vec![b'x'; MIN_FULL_CHUNK_BYTES / 2]);
        let chunks = vec![Ok::<_, &str>(part); 5];
        let mut received = Chunks::new(futures::stream::iter(chunks));
        let mut lengths = Vec::new();
        while let Some(chunk) = received.next().await {
            lengths.push(chunk.expect("a chunk").len());
        }
        assert_eq!(
            lengths,
            [
                MIN_FULL_CHUNK_BYTES,
                MIN_FULL_CHUNK_BYTES,
                MIN_FULL_CHUNK_BYTES / 2
            ]
        );
    }
}
