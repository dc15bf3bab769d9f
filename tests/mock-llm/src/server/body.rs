//! A planned answer becomes an HTTP body.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::stream;

use crate::server::connection::Connection;
use crate::server::record::{Delivery, Receipt};

/// The next step of the body.
#[derive(Debug, PartialEq)]
pub(crate) enum Segment {
    /// One HTTP chunk.
    Bytes(Bytes),
    Pause(Duration),
    Stall,
    Cut,
    /// The body ends here, as HTTP requires.
    End,
}

/// Ends the body with a cut after `limit` bytes, or after its last one.
pub(crate) fn cut_at(segments: Vec<Segment>, limit: usize) -> Vec<Segment> {
    let mut left = limit;
    let mut out = Vec::with_capacity(segments.len() + 1);
    for segment in segments {
        match segment {
            Segment::Bytes(bytes) if bytes.len() < left => {
                left -= bytes.len();
                out.push(Segment::Bytes(bytes));
            }
            Segment::Bytes(bytes) => {
                out.push(Segment::Bytes(bytes.slice(..left)));
                break;
            }
            _ if left == 0 => break,
            other => out.push(other),
        }
    }
    out.push(Segment::Cut);
    out
}

/// Cuts the bytes between two other segments into chunks of `size`, the last one smaller.
pub(crate) fn chunks_of(segments: Vec<Segment>, size: usize) -> Vec<Segment> {
    let size = size.max(1);
    let mut out = Vec::new();
    let mut gathered = BytesMut::new();
    let flush = |gathered: &mut BytesMut, out: &mut Vec<Segment>| {
        let mut bytes = gathered.split().freeze();
        while !bytes.is_empty() {
            out.push(Segment::Bytes(bytes.split_to(size.min(bytes.len()))));
        }
    };
    for segment in segments {
        if let Segment::Bytes(bytes) = segment {
            gathered.extend_from_slice(&bytes);
        } else {
            flush(&mut gathered, &mut out);
            out.push(segment);
        }
    }
    flush(&mut gathered, &mut out);
    out
}

/// Plays the segments as they are asked for.
pub(crate) fn play(segments: Vec<Segment>, connection: Connection, receipt: Receipt) -> Body {
    let playing = (segments.into_iter(), connection, receipt);
    Body::from_stream(stream::unfold(
        playing,
        async |(mut segments, connection, mut receipt)| {
            loop {
                match segments.next() {
                    Some(Segment::Bytes(bytes)) if bytes.is_empty() => {}
                    Some(Segment::Bytes(bytes)) => {
                        return Some((Ok::<_, Infallible>(bytes), (segments, connection, receipt)));
                    }
                    Some(Segment::Pause(duration)) => tokio::time::sleep(duration).await,
                    Some(Segment::Stall) => std::future::pending::<()>().await,
                    Some(Segment::Cut) => {
                        receipt.settle(Delivery::Cut);
                        connection.cut();
                        std::future::pending::<()>().await;
                    }
                    Some(Segment::End) | None => {
                        receipt.settle(Delivery::Complete);
                        return None;
                    }
                }
            }
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &'static str) -> Segment {
        Segment::Bytes(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn a_cut_falls_after_exactly_that_many_bytes() {
        let body = || vec![bytes("abc"), Segment::Pause(Duration::ZERO), bytes("def")];
        assert_eq!(cut_at(body(), 0), [bytes(""), Segment::Cut]);
        assert_eq!(cut_at(body(), 2), [bytes("ab"), Segment::Cut]);
        assert_eq!(cut_at(body(), 3), [bytes("abc"), Segment::Cut]);
        let pause = Segment::Pause(Duration::ZERO);
        assert_eq!(
            cut_at(body(), 4),
            [bytes("abc"), pause, bytes("d"), Segment::Cut]
        );
        assert_eq!(cut_at(body(), 99).last(), Some(&Segment::Cut));
    }

    #[test]
    fn chunks_are_cut_anew_across_frames_but_not_across_a_pause() {
        let body = vec![bytes("abc"), bytes("de"), Segment::Stall, bytes("f")];
        let expected = [
            bytes("ab"),
            bytes("cd"),
            bytes("e"),
            Segment::Stall,
            bytes("f"),
        ];
        assert_eq!(chunks_of(body, 2), expected);
    }
}
