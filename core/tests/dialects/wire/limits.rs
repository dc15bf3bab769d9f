//! Bodies that do not want to end: the error is clear, comes at the same place for every cut, and stays.

use super::support::{Seen, limits, owned, read};
use stepwell_core::wire::{FrameLimits, Framer, JsonLinesFramer, SseFramer, WireError};

fn at_every_cut(framer: &Framer, body: &[u8]) -> Seen {
    let whole = read(framer.clone(), [body]);
    for at in 0..=body.len() {
        let (left, right) = body.split_at(at);
        assert_eq!(read(framer.clone(), [left, right]), whole, "cut at {at}");
    }
    assert_eq!(read(framer.clone(), body.chunks(1)), whole);
    whole
}

fn sse(line: usize, event: usize) -> Framer {
    SseFramer::new(limits(line, event)).into()
}

#[test]
fn the_default_has_room_for_the_longest_call_in_one_frame() {
    assert_eq!(FrameLimits::default(), limits(64 << 20, 64 << 20));
    let partial: FrameLimits = serde_json::from_str(r#"{"event": 5}"#).unwrap();
    assert_eq!(partial, limits(64 << 20, 5));
}

#[test]
fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
    for end in ["\n", "\r", "\r\n"] {
        let body = format!("data: a{end}{end}data: 1234{end}{end}data: b{end}{end}");
        let seen = at_every_cut(&sse(10, 100), body.as_bytes());
        assert_eq!(seen.outcome, Ok(()));
        assert_eq!(seen.frames.len(), 3);
        let seen = at_every_cut(&sse(9, 100), body.as_bytes());
        assert_eq!(seen.outcome, Err(WireError::LineTooLong { limit: 9 }));
        assert_eq!(seen.frames, [owned("", "a", "")], "what came before counts");
    }
}

#[test]
fn comments_and_unknown_fields_have_the_limit_too() {
    let too_long = Err(WireError::LineTooLong { limit: 10 });
    for (body, outcome) in [
        (": 12345678\n", Ok(())),
        (": 123456789\n", too_long.clone()),
        ("12345678901", too_long.clone()),
        ("id: 123456", Ok(())),
        ("id: 1234567", too_long.clone()),
        ("\u{feff}event: 123", Ok(())),
        ("\u{feff}event: 1234", too_long),
    ] {
        let seen = at_every_cut(&sse(10, 100), body.as_bytes());
        assert_eq!(seen.outcome, outcome, "{body:?}");
    }
}

#[test]
fn the_data_of_an_event_is_counted_joined() {
    let body = b"data: 12\ndata: 45\ndata\n\n";
    let seen = at_every_cut(&sse(100, 6), body);
    assert_eq!(seen.frames, [owned("", "12\n45\n", "")]);
    let seen = at_every_cut(&sse(100, 5), body);
    assert_eq!(seen.outcome, Err(WireError::EventTooLarge { limit: 5 }));
    let seen = at_every_cut(&sse(100, 3), b"data: 1234\n\n");
    assert_eq!(seen.outcome, Err(WireError::EventTooLarge { limit: 3 }));
}

#[test]
fn many_small_events_pass_below_a_small_limit() {
    let body = b"event: e\nid: 1\ndata: 123\n\n".repeat(100);
    let seen = read(sse(10, 3), body.chunks(7));
    assert_eq!((seen.frames.len(), seen.outcome), (100, Ok(())));
}

#[test]
fn tiny_lines_without_a_blank_line_meet_the_limit() {
    let mut seen = Seen::new(sse(1 << 20, 1 << 20));
    let chunk = b"data\n".repeat(4096);
    let chunks = (0..)
        .take_while(|_| {
            seen.receive(&chunk);
            seen.outcome.is_ok()
        })
        .count();
    assert_eq!(chunks, 256, "each line counts its LF");
    assert_eq!(
        seen.outcome,
        Err(WireError::EventTooLarge { limit: 1 << 20 })
    );
}

#[test]
fn an_endless_line_meets_the_limit() {
    let chunk = vec![b'x'; 64 << 10];
    for framer in [
        sse(10 << 20, 10 << 20),
        JsonLinesFramer::new(limits(10 << 20, 10 << 20)).into(),
    ] {
        let mut seen = Seen::new(framer);
        let chunks = (0..)
            .take_while(|_| {
                seen.receive(&chunk);
                seen.outcome.is_ok()
            })
            .count();
        assert_eq!(chunks, 160);
        assert_eq!(
            seen.outcome,
            Err(WireError::LineTooLong { limit: 10 << 20 })
        );
    }
}

#[test]
fn an_error_stays() {
    let mut seen = read(sse(8, 8), [&b"id: 1\n\ndata: 123\n\n"[..]]);
    let error = WireError::LineTooLong { limit: 8 };
    for _ in 0..2 {
        assert_eq!(
            seen.framer.receive(b"\n\ndata: a\n\n", |_| Ok(())),
            Err(error.clone())
        );
        assert_eq!(seen.framer.finish(|_| Ok(())), Err(error.clone()));
    }
    assert_eq!(seen.last_event_id(), b"1");
    seen.framer = serde_json::from_str(&serde_json::to_string(&seen.framer).unwrap()).unwrap();
    assert_eq!(seen.framer.receive(b"", |_| Ok(())), Err(error.clone()));
    assert!(error.to_string().contains("more than 8 bytes"), "{error}");
}

#[test]
fn a_json_line_has_the_smaller_limit() {
    let both = [limits(4, 100), limits(100, 4)];
    for framer in both.map(|limits| Framer::from(JsonLinesFramer::new(limits))) {
        let seen = at_every_cut(&framer, b"1234\n123\r\n1\n12345\n");
        assert_eq!(seen.outcome, Err(WireError::LineTooLong { limit: 4 }));
        assert_eq!(seen.frames.len(), 3);
        let seen = at_every_cut(&framer, b"1\n12345");
        assert_eq!(seen.outcome, Err(WireError::LineTooLong { limit: 4 }));
    }
}

#[test]
fn a_snapshot_that_was_tampered_with_is_an_error_not_a_panic() {
    let mut snapshot = serde_json::to_value(sse(4, 4)).unwrap();
    snapshot["sse"]["line"] = "data: much longer than the limit".into();
    let seen = read(
        serde_json::from_value(snapshot.clone()).unwrap(),
        [&b"\n\n"[..]],
    );
    assert_eq!(seen.outcome, Err(WireError::LineTooLong { limit: 4 }));
    snapshot["sse"]["start"] = "nowhere".into();
    assert!(serde_json::from_value::<Framer>(snapshot).is_err());
}
