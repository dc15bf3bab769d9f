//! AWS's messages, as the encoder of AWS's own SDK writes them.

use super::support::{Owned, limits, owned, read, receive};
use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::DateTime;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use proptest::prelude::*;
use stepwell_core::wire::{EventStreamFramer, Framer, MessageFault, WireError};

fn framer(most: usize) -> Framer {
    EventStreamFramer::new(limits(0, most)).into()
}

fn bytes(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_message_to(message, &mut bytes).unwrap();
    bytes
}

/// A message with string headers.
pub(crate) fn message(headers: &[(&'static str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut message = Message::new(payload.to_vec());
    for (name, value) in headers {
        let value = HeaderValue::String((*value).to_owned().into());
        message = message.add_header(Header::new(*name, value));
    }
    bytes(&message)
}

/// An event, as Bedrock sends it.
pub(crate) fn event(kind: &str, payload: &str) -> Vec<u8> {
    let headers = [
        (":event-type", kind),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    message(&headers, payload.as_bytes())
}

/// An exception in the stream, as Bedrock sends it.
pub(crate) fn exception(kind: &str, payload: &str) -> Vec<u8> {
    let headers = [
        (":exception-type", kind),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    message(&headers, payload.as_bytes())
}

fn failure(name: &str, data: &str) -> Owned {
    Owned {
        is_failure: true,
        ..owned(name, data, "")
    }
}

/// The message with right checksums again.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 4;
    let prelude = checksum(&bytes[..8]);
    bytes[8..12].copy_from_slice(&prelude);
    let whole = checksum(&bytes[..end]);
    bytes[end..].copy_from_slice(&whole);
    bytes
}

/// CRC-32 (ISO 3309), bit by bit.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    let all = bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| match sum & 1 {
            1 => sum >> 1 ^ 0xedb8_8320,
            _ => sum >> 1,
        })
    });
    (!all).to_be_bytes()
}

fn fault(body: &[u8]) -> MessageFault {
    let seen = read(framer(1 << 20), [body]);
    match seen.outcome {
        Err(WireError::BadMessage { fault }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn events_exceptions_and_errors_are_read() {
    let error = [
        (":message-type", "error"),
        (":error-code", "InternalFailure"),
        (":error-message", "Oh no"),
    ];
    let body = [
        event("messageStart", r#"{"role":"assistant"}"#),
        message(&[], b"bare"),
        message(&[(":message-type", "later"), (":event-type", "x")], b""),
        exception("throttlingException", r#"{"message":"Slow down"}"#),
        message(&error, b"ignored"),
    ]
    .concat();
    let seen = read(framer(1 << 10), [&body[..]]);
    assert_eq!(seen.outcome, Ok(()));
    let expected = [
        owned("messageStart", r#"{"role":"assistant"}"#, ""),
        owned("", "bare", ""),
        owned("x", "", ""),
        failure("throttlingException", r#"{"message":"Slow down"}"#),
        failure("InternalFailure", "Oh no"),
    ];
    assert_eq!(seen.frames, expected);
}

#[test]
fn a_changed_byte_is_found() {
    let body = event("messageStop", r#"{"stopReason":"end_turn"}"#);
    for at in 0..body.len() {
        let mut changed = body.clone();
        changed[at] ^= 0x10;
        let expected = if at < 12 {
            MessageFault::LengthChecksum
        } else {
            MessageFault::Checksum
        };
        assert_eq!(fault(&changed), expected, "byte {at}");
    }
}

#[test]
fn lengths_are_checked_before_the_rest_is_there() {
    let prelude = |total: u32, headers: u32| {
        let lengths = [total.to_be_bytes(), headers.to_be_bytes()].concat();
        [&lengths[..], &checksum(&lengths)].concat()
    };
    let refused = |total, headers| receive(framer(1 << 10), [&prelude(total, headers)[..]]).outcome;
    let bad = |fault| Err(WireError::BadMessage { fault });
    let (limit, length) = (1 << 10, u32::MAX);
    let too_large = WireError::FrameTooLarge { length, limit };
    assert_eq!(refused(length, 0), Err(too_large));
    assert_eq!(refused(1 << 10, 0), Ok(()));
    let (limit, length) = (128 << 10, u32::MAX);
    let too_large = MessageFault::HeadersTooLarge { length, limit };
    assert_eq!(refused(u32::MAX, length), bad(too_large));
    for (total, headers) in [(0, 0), (15, 0), (20, 5)] {
        let fault = MessageFault::Lengths { total, headers };
        assert_eq!(refused(total, headers), bad(fault));
    }
}

#[test]
fn headers_are_bounded_and_complete() {
    let many = |count: usize| {
        let add =
            |message: Message, _| message.add_header(Header::new("x", HeaderValue::Bool(true)));
        bytes(&(0..count).fold(Message::new("payload"), add))
    };
    assert_eq!(read(framer(1 << 20), [&many(256)[..]]).outcome, Ok(()));
    let limit = 256;
    assert_eq!(fault(&many(257)), MessageFault::TooManyHeaders { limit });
    // The name's length, the type, the value's length, and a name that is empty.
    let one = message(&[("name", "value")], b"");
    for (at, byte) in [(12, 200), (17, 10), (18, 1), (12, 0)] {
        let mut odd = one.clone();
        odd[at] = byte;
        assert_eq!(fault(&resealed(odd)), MessageFault::Header, "byte {at}");
    }
    assert_eq!(read(framer(1 << 20), [&resealed(one)[..]]).outcome, Ok(()));
}

#[test]
fn an_incomplete_message_at_the_end_is_seen() {
    let body = event("contentBlockStop", "{}");
    for at in 0..=body.len() {
        let seen = receive(framer(1 << 10), [&body[..at]]);
        let is_complete = at == 0 || at == body.len();
        assert_eq!(seen.framer.is_cut(), !is_complete, "cut at {at}");
        assert_eq!(seen.framer.is_between_frames(), is_complete, "cut at {at}");
    }
    let mut seen = receive(framer(1 << 10), [&body[..6]]);
    seen.framer.restart();
    seen.receive(&body);
    assert_eq!(seen.frames, [owned("contentBlockStop", "{}", "")]);
}

#[test]
fn a_refused_message_stops_the_body() {
    let mut framer = EventStreamFramer::default();
    let two = [event("a", "{}"), event("b", "{}")].concat();
    let refused = framer.receive(&two, |_| Err(WireError::Stopped));
    assert!(refused.is_err());
    let after = framer.receive(&event("c", "{}"), |_| Ok(()));
    assert_eq!(after, Err(WireError::Stopped));
}

fn header_value() -> impl Strategy<Value = HeaderValue> {
    prop_oneof![
        any::<bool>().prop_map(HeaderValue::Bool),
        any::<i8>().prop_map(HeaderValue::Byte),
        any::<i16>().prop_map(HeaderValue::Int16),
        any::<i32>().prop_map(HeaderValue::Int32),
        any::<i64>().prop_map(HeaderValue::Int64),
        prop::collection::vec(any::<u8>(), 0..40)
            .prop_map(|bytes| HeaderValue::ByteArray(bytes.into())),
        "\\PC{0,20}".prop_map(|text| HeaderValue::String(text.into())),
        (0..4_000_000_000_i64).prop_map(|secs| HeaderValue::Timestamp(DateTime::from_secs(secs))),
        any::<u128>().prop_map(HeaderValue::Uuid),
    ]
}

/// A message with the headers of an event and others, and the frame that it is.
fn written() -> impl Strategy<Value = (Vec<u8>, Owned)> {
    let others = prop::collection::vec(("[a-z-]{1,20}", header_value()), 0..6);
    let payload = prop::collection::vec(any::<u8>(), 0..300);
    ("[a-zA-Z]{0,20}", others, payload, 0..3_usize).prop_map(|(name, others, payload, kind)| {
        let (kind, named) = [
            ("event", ":event-type"),
            ("exception", ":exception-type"),
            ("error", ":error-code"),
        ][kind];
        let string = |text: &str| HeaderValue::String(text.to_owned().into());
        let mut message = Message::new(payload.clone());
        for (name, value) in others {
            message = message.add_header(Header::new(name, value));
        }
        message = message.add_header(Header::new(named, string(&name)));
        message = message.add_header(Header::new(":message-type", string(kind)));
        let data = if kind == "error" { Vec::new() } else { payload };
        let frame = Owned {
            is_failure: kind != "event",
            ..owned(name, data, "")
        };
        (bytes(&message), frame)
    })
}

proptest! {
    #[test]
    fn i03_i04_what_aws_writes_is_read_the_same_wherever_it_is_cut(
        messages in prop::collection::vec(written(), 0..5),
        rest in prop::collection::vec(any::<u8>(), 0..20),
        size in 1..40_usize,
    ) {
        let (bodies, frames): (Vec<_>, Vec<_>) = messages.into_iter().unzip();
        let body = [bodies.concat(), rest].concat();
        let whole = read(framer(4 << 10), [&body[..]]);
        prop_assert_eq!(&whole.frames, &frames);
        prop_assert_eq!(&read(framer(4 << 10), body.chunks(size)), &whole);
        prop_assert_eq!(&read(framer(4 << 10), body.chunks(1)), &whole);
        for at in (0..=body.len()).step_by(7) {
            let (left, right) = body.split_at(at);
            let mut seen = receive(framer(4 << 10), [left]);
            let snapshot = serde_json::to_string(&seen.framer).unwrap();
            seen.framer = serde_json::from_str(&snapshot).unwrap();
            seen.receive(right);
            seen.finish();
            prop_assert_eq!(&seen, &whole, "cut at {}", at);
        }
    }
}
