//! The crate `eventsource-stream` as an oracle. Where it differs from the WHATWG text, the text is right; each
//! difference is shown below, and taken out of the comparison:
//!
//! 1. It panics at a byte order mark at the start: bodies with one are left out.
//! 2. It reads a CR only once the next byte has come, so a body that ends with CR lacks its last line: a comment's colon
//!    is put after such a body for both.
//! 3. It takes a `retry` with a plus sign, and ignores one beyond 64 bits, which the text bounds nowhere: compared by
//!    the reference alone.
//! 4. It stops at bytes that are not UTF-8, where the text has U+FFFD: bodies are text.
//! 5. It calls an event without a name `message`, as a browser does before its listeners: put the same for ours.

use super::support::{Owned, cut, mad_text, owned, places, receive, sse};
use crate::cases::cases;
use eventsource_stream::{Event, Eventsource};
use futures::{StreamExt, executor::block_on, stream};
use proptest::prelude::*;
use std::{convert::Infallible, panic, time::Duration};
use stepwell_core::wire::Framer;

fn oracle<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let chunks = stream::iter(chunks).map(|chunk| Ok::<_, Infallible>(chunk.to_vec()));
    block_on(
        chunks
            .eventsource()
            .map(|event| event.unwrap())
            .collect::<Vec<_>>(),
    )
}

fn owned_event(event: Event) -> Owned {
    owned(event.event, event.data, event.id)
}

fn named(mut frame: Owned) -> Owned {
    if frame.event.is_empty() {
        frame.event = b"message".to_vec();
    }
    frame
}

proptest! {
    #![proptest_config(cases(1_024))]

    #[test]
    fn i03_agrees_with_eventsource_stream(body in mad_text(), places in places(), theirs in places()) {
        let mut body = String::from_utf8(body).unwrap().trim_start_matches('\u{feff}').to_owned();
        if body.ends_with('\r') {
            body.push(':');
        }
        let seen = receive(sse(), cut(body.as_bytes(), &places));
        prop_assert_eq!(seen.outcome, Ok(()));
        let ours: Vec<_> = seen.frames.into_iter().map(named).collect();
        let theirs: Vec<_> = oracle(cut(body.as_bytes(), &theirs)).into_iter().map(owned_event).collect();
        prop_assert_eq!(ours, theirs);
    }
}

#[test]
fn difference_1_byte_order_mark() {
    let body = "\u{feff}data: a\n\n".as_bytes();
    assert_eq!(receive(sse(), [body]).frames, [owned("", "a", "")]);
    assert!(panic::catch_unwind(|| oracle([body])).is_err());
}

#[test]
fn difference_2_cr_at_the_end() {
    let body = b"data: a\r\r";
    assert_eq!(receive(sse(), [&body[..]]).frames, [owned("", "a", "")]);
    assert_eq!(oracle([&body[..]]), []);
    assert_eq!(oracle([&body[..], b":"]).len(), 1);
}

#[test]
fn difference_3_retry() {
    let beyond_64_bits = "99999999999999999999999";
    for (value, ours, theirs) in [
        ("+5", None, Some(5)),
        (beyond_64_bits, Some(u64::MAX), None),
    ] {
        let body = format!("retry: {value}\ndata: a\n\n");
        let Framer::Sse(framer) = receive(sse(), [body.as_bytes()]).framer else {
            unreachable!()
        };
        assert_eq!(framer.retry(), ours.map(Duration::from_millis));
        let events = oracle([body.as_bytes()]);
        assert_eq!(events[0].retry, theirs.map(Duration::from_millis));
    }
}

#[test]
fn difference_4_bytes_that_are_not_utf_8() {
    let body = b"data: \xFF\n\ndata: b\n\n";
    assert_eq!(receive(sse(), [&body[..]]).frames.len(), 2);
    let chunks = stream::iter([Ok::<_, Infallible>(&body[..])]);
    let theirs = block_on(chunks.eventsource().collect::<Vec<_>>());
    assert!(theirs.iter().all(Result::is_err), "{theirs:?}");
}

#[test]
fn difference_5_the_name_of_an_event_without_one() {
    let body = b"data: a\n\n";
    assert_eq!(receive(sse(), [&body[..]]).frames[0].event, b"");
    assert_eq!(oracle([&body[..]])[0].event, "message");
}
