//! A limit on the size of an event in a server's stream.

use crate::http::{Body, SendError};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};

/// Counts the bytes of an event. Comments, which keep a connection alive, are not kept, so they do not count.
#[derive(Debug)]
struct EventSize {
    most: usize,
    event: usize,
    line: usize,
    is_comment: bool,
    after_return: bool,
}

/// Returns the stream up to an event of more than `most` bytes.
pub(super) fn bounded(
    stream: Body,
    most: usize,
) -> impl Stream<Item = Result<Bytes, SendError>> + Send {
    let state = Some((stream, EventSize::new(most)));
    stream::unfold(state, move |state| async move {
        let (mut stream, mut size) = state?;
        match stream.next().await? {
            Ok(piece) if size.take(&piece) => Some((Ok(piece), Some((stream, size)))),
            Ok(_) => Some((Err(SendError::event_too_long(most)), None)),
            Err(error) => Some((Err(error), None)),
        }
    })
    .fuse()
}

impl EventSize {
    fn new(most: usize) -> Self {
        Self {
            most,
            event: 0,
            line: 0,
            is_comment: false,
            after_return: false,
        }
    }

    /// Counts bytes. Returns whether the event is within the limit.
    fn take(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            let is_second_half = self.after_return && byte == b'\n';
            self.after_return = byte == b'\r';
            match byte {
                b'\n' if is_second_half => {}
                b'\r' | b'\n' => self.end_line(),
                _ => {
                    if self.line == 0 {
                        self.is_comment = byte == b':';
                    }
                    self.line += 1;
                }
            }
            if self.event + self.line > self.most {
                return false;
            }
        }
        true
    }

    fn end_line(&mut self) {
        match self.line {
            0 => self.event = 0,
            _ if self.is_comment => {}
            line => self.event += line + 1,
        }
        self.line = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(text: &str) -> bool {
        EventSize::new(10).take(text.as_bytes())
    }

    #[test]
    fn counts_each_event_separately() {
        for end in ["\n", "\r", "\r\n"] {
            let event = format!("data: abc{end}{end}").repeat(3);
            assert!(fits(&event), "{event:?}");
            let event = format!("data:{end}data:{end}{end}");
            assert!(!fits(&event), "{event:?}");
            let comments = format!(": alive{end}").repeat(9);
            assert!(fits(&comments), "{comments:?}");
        }
        assert!(!fits("data: abcdef"));
        assert!(!fits(": a comment that does not end"));
    }

    #[tokio::test]
    async fn ends_after_a_long_event() {
        let pieces = ["data: a\n\n", "data: 0123456789", "\n\n", "data: b\n\n"];
        let pieces = pieces.map(|piece| Ok(Bytes::from_static(piece.as_bytes())));
        let stream = bounded(stream::iter(pieces).boxed(), 10);
        let seen: Vec<_> = stream.collect().await;
        assert_eq!(seen.len(), 2);
        let error = seen[1].as_ref().expect_err("it is too long");
        assert!(
            error.to_string().contains("longer than 10 bytes"),
            "{error}"
        );
    }
}
