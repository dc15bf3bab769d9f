//! The format of server-sent events, point by point; every case at every cut.

use super::support::{Owned, frames, owned, read, receive, sse};
use std::time::Duration;
use stepwell_core::wire::{Framer, SseFramer, WireError};

/// Frames that have data only.
fn data(texts: &[&str]) -> Vec<Owned> {
    texts.iter().map(|text| owned("", text, "")).collect()
}

fn sse_framer(body: &[u8]) -> SseFramer {
    match receive(sse(), [body]).framer {
        Framer::Sse(framer) => framer,
        _ => unreachable!(),
    }
}

#[test]
fn the_examples_of_the_text() {
    assert_eq!(
        frames(
            "data: This is the first message.\n\ndata: This is the second message, it\ndata: has two lines.\n\ndata: This is the third message.\n\n"
        ),
        data(&[
            "This is the first message.",
            "This is the second message, it\nhas two lines.",
            "This is the third message.",
        ])
    );
    assert_eq!(
        frames(
            "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n"
        ),
        [
            owned("add", "73857293", ""),
            owned("remove", "2153", ""),
            owned("add", "113411", ""),
        ]
    );
    assert_eq!(
        frames("data: YHOO\ndata: +2\ndata: 10\n\n"),
        data(&["YHOO\n+2\n10"])
    );
    assert_eq!(
        frames(
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"
        ),
        [
            owned("", "first event", "1"),
            owned("", "second event", ""),
            owned("", " third event", ""),
        ]
    );
    assert_eq!(
        frames("data\n\ndata\ndata\n\ndata:\n"),
        data(&["", "\n"]),
        "the third block is not ended"
    );
    assert_eq!(
        frames("data:test\n\ndata: test\n\n"),
        data(&["test", "test"])
    );
}

#[test]
fn lines_end_with_lf_crlf_or_cr_in_any_mix() {
    for end in ["\n", "\r\n", "\r"] {
        let body = format!("event: e{end}data: a{end}data: b{end}{end}data: c{end}{end}");
        assert_eq!(frames(body), [owned("e", "a\nb", ""), owned("", "c", "")]);
    }
    assert_eq!(
        frames("data: a\rdata: b\ndata: c\r\n\rdata: d\n\r\ndata: e\r\n\n"),
        data(&["a\nb\nc", "d", "e"])
    );
    assert_eq!(
        frames("data: a\n\rdata: b\n\n"),
        data(&["a", "b"]),
        "LF CR is two line ends"
    );
}

#[test]
fn a_cr_at_the_end_of_a_chunk_ends_its_line_at_once_and_owns_the_next_lf() {
    let mut framer = SseFramer::default();
    let mut frames = Vec::new();
    for (chunk, expected) in [
        (&b"data: a\r"[..], 0),
        (b"", 0),
        (b"\ndata: b\r\n\r", 1),
        (b"", 1),
        (b"\n", 1),
        (b"data: c\r", 1),
        (b"\r", 2),
        (b"\n", 2),
        (b"\n", 2),
    ] {
        framer
            .receive::<WireError>(chunk, |frame| {
                frames.push(Owned::from(frame));
                Ok(())
            })
            .unwrap();
        assert_eq!(frames.len(), expected, "after {:?}", chunk.escape_ascii());
    }
    assert_eq!(frames, data(&["a\nb", "c"]));
}

#[test]
fn a_byte_order_mark_is_dropped_at_the_start_only() {
    assert_eq!(frames("\u{feff}data: a\n\n"), data(&["a"]));
    assert_eq!(frames("\u{feff}\ndata: a\n\n"), data(&["a"]));
    assert_eq!(
        frames("\u{feff}\u{feff}data: a\n\ndata: b\n\n"),
        data(&["b"]),
        "the second mark is part of a name"
    );
    assert_eq!(frames("\n\u{feff}data: a\n\n"), []);
    assert_eq!(
        frames("data: \u{feff}a\n\n"),
        data(&["\u{feff}a"]),
        "text keeps it"
    );
}

#[test]
fn half_a_byte_order_mark_is_part_of_the_first_line() {
    assert_eq!(frames(b"\xEF\xBBdata: a\n\ndata: b\n\n"), data(&["b"]));
    assert_eq!(
        frames(b"\xEF\ndata: b\n\n"),
        data(&["b"]),
        "an unknown field"
    );
    for body in [&b"\xEF"[..], b"\xEF\xBB", b"\xEF\xBB\xBF"] {
        let seen = read(sse(), body.chunks(1));
        assert_eq!((seen.frames, seen.outcome), (Vec::new(), Ok(())));
        assert_eq!(seen.framer, sse(), "at the start of a new body");
    }
}

#[test]
fn comments_and_unknown_fields_are_skipped() {
    assert_eq!(
        frames(": hello\n:\n:data: no\ndata: a\n: keepalive\n\n: alone\n\ndata: b\n\n"),
        data(&["a", "b"])
    );
    assert_eq!(
        frames("Data: a\ndatas: b\ndat: c\n data: d\nfoo\nfoo:bar\n{\"error\":1}\ndata: e\n\n"),
        data(&["e"])
    );
    assert_eq!(frames("data : a\n\n"), [], "the space is part of the name");
}

#[test]
fn one_space_after_the_colon_is_dropped() {
    assert_eq!(
        frames("data:a\ndata: b\ndata:  c\ndata:\td\ndata: \ndata:\ndata: e \n\n"),
        data(&["a\nb\n c\n\td\n\n\ne "])
    );
    assert_eq!(frames("data: a: b\n\n"), data(&["a: b"]));
    assert_eq!(frames("data::a\n\n"), data(&[":a"]));
}

#[test]
fn a_field_without_a_colon_is_empty() {
    assert_eq!(frames("data\n\n"), data(&[""]));
    assert_eq!(
        frames("event: a\nevent\nid: 1\nid\ndata: b\n\n"),
        data(&["b"])
    );
}

#[test]
fn a_block_without_data_gives_no_frame_and_takes_its_name_with_it() {
    assert_eq!(frames("event: a\n\ndata: b\n\n"), data(&["b"]));
    assert_eq!(frames("\n\n\n"), []);
    assert_eq!(
        frames("event: a\ndata: b\n\ndata: c\n\n"),
        [owned("a", "b", ""), owned("", "c", "")]
    );
    assert_eq!(
        frames("data: b\nevent: first\nevent: last\n\n"),
        [owned("last", "b", "")]
    );
}

#[test]
fn an_id_stays_until_the_next_one() {
    assert_eq!(
        frames("id: 1\ndata: a\n\ndata: b\n\nid: 2\n\ndata: c\n\nid\ndata: d\n\n"),
        [
            owned("", "a", "1"),
            owned("", "b", "1"),
            owned("", "c", "2"),
            owned("", "d", ""),
        ]
    );
    assert_eq!(
        frames("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\nid: \0\ndata: c\n\n"),
        [
            owned("", "a", "1"),
            owned("", "b", "1"),
            owned("", "c", "1")
        ],
        "an id with NUL is ignored"
    );
    assert_eq!(
        frames("data: a\nid: 1\nid: 2\n\n"),
        [owned("", "a", "2")],
        "also after the data"
    );
}

#[test]
fn the_last_event_id_counts_from_the_blank_line_on() {
    assert_eq!(sse_framer(b"id: 1\n\nid: 2\n").last_event_id(), b"1");
    assert_eq!(sse_framer(b"id: 1\n\nid: 2\n\n").last_event_id(), b"2");
    assert_eq!(sse_framer(b"id: 1\n\nid\n\n").last_event_id(), b"");
}

#[test]
fn retry_takes_digits_only() {
    let retry = |body: &str| sse_framer(body.as_bytes()).retry();
    assert_eq!(retry("data: a\n\n"), None);
    assert_eq!(
        retry("retry: 1500\n"),
        Some(Duration::from_millis(1500)),
        "at once"
    );
    assert_eq!(retry("retry:007\n"), Some(Duration::from_millis(7)));
    for ignored in ["+5", "-5", "1.5", "5 ", " 5", "5s", "", "٣"] {
        let body = format!("retry: 9\nretry: {ignored}\n");
        assert_eq!(retry(&body), Some(Duration::from_millis(9)), "{ignored:?}");
    }
    assert_eq!(
        retry("retry: 99999999999999999999999\n"),
        Some(Duration::from_millis(u64::MAX))
    );
}

#[test]
fn bytes_that_are_not_utf_8_are_handed_on() {
    assert_eq!(
        frames(b"event: \xFF\nid: \xC3\ndata: \xF0\x9F\ndata: \x80\n\n"),
        [owned(b"\xFF", b"\xF0\x9F\n\x80", b"\xC3")]
    );
    assert_eq!(frames("data: 👍é日\n\n"), data(&["👍é日"]));
}

#[test]
fn the_end_of_the_body_ends_the_last_block() {
    for body in [
        "event: e\nid: 1\ndata: a",
        "event: e\nid: 1\ndata: a\n",
        "event: e\rid: 1\rdata: a\r",
        "data: a\r\nevent: e\r\nid: 1",
        "data: a\nid: 1\nevent: e\n\n",
    ] {
        let seen = read(sse(), body.as_bytes().chunks(1));
        assert_eq!(seen.frames, [owned("e", "a", "1")], "{body:?}");
        assert_eq!(seen.last_event_id(), b"1");
    }
    let seen = read(sse(), [&b"data: a\n\nevent: b"[..]]);
    assert_eq!(seen.frames, data(&["a"]), "no data, no frame");
}

#[test]
fn after_the_end_a_new_body_starts_and_the_id_stays() {
    let seen = read(sse(), [&b"\xEF\xBB\xBFevent: e\ndata: a\ndata: b\r"[..]]);
    assert_eq!(seen.framer, sse());

    let mut seen = read(sse(), [&b"\xEF\xBB\xBFid: 1\ndata: a\n\nevent: e\r"[..]]);
    seen.receive(b"\n\xEF\xBB\xBFdata: b\n\n");
    seen.finish();
    seen.receive(b"\xEF\xBB\xBFdata: c\n\n");
    assert_eq!(seen.outcome, Ok(()));
    assert_eq!(
        seen.frames,
        [owned("", "a", "1"), owned("", "c", "1")],
        "an LF at the start is a line, and the mark after it no mark"
    );
}

#[test]
fn a_refused_frame_stops_the_body() {
    #[derive(Debug, PartialEq)]
    enum Mine {
        Refused,
        Wire(WireError),
    }
    impl From<WireError> for Mine {
        fn from(error: WireError) -> Self {
            Self::Wire(error)
        }
    }

    let mut framer = sse();
    let mut count = 0;
    // A receiver that is not known at compile time does as well.
    let mut refuse = |_: stepwell_core::wire::Frame<'_>| {
        count += 1;
        if count == 2 {
            Err(Mine::Refused)
        } else {
            Ok(())
        }
    };
    let refuse: &mut dyn FnMut(stepwell_core::wire::Frame<'_>) -> Result<(), Mine> = &mut refuse;
    let body = b"id: 1\ndata: a\n\ndata: b\n\ndata: c\n\nid: 2\ndata: d";
    assert_eq!(framer.receive(body, &mut *refuse), Err(Mine::Refused));
    for _ in 0..2 {
        assert_eq!(
            framer.receive(b"\n\n", &mut *refuse),
            Err(Mine::Wire(WireError::Stopped))
        );
        assert_eq!(
            framer.finish(&mut *refuse),
            Err(Mine::Wire(WireError::Stopped))
        );
    }
    assert_eq!(count, 2);
    let Framer::Sse(framer) = framer else {
        unreachable!()
    };
    assert_eq!(framer.last_event_id(), b"1");
}

#[test]
fn after_a_break_half_an_event_is_dropped_and_the_id_and_the_wait_stay() {
    let first = "\u{feff}retry: 7\nid: 1\ndata: one\n\nevent: half\nid: 2\ndata: lost\nda";
    for cut in 0..first.len() {
        let mut framer = Framer::Sse(SseFramer::default());
        let mut seen = Vec::new();
        let mut feed = |framer: &mut Framer, bytes: &[u8]| {
            let taken = framer.receive::<WireError>(bytes, |frame| {
                seen.push((frame.event.to_vec(), frame.data.to_vec()));
                Ok(())
            });
            taken.expect("nothing is too long");
        };
        feed(&mut framer, &first.as_bytes()[..cut]);
        let (id, retry) = (framer.last_event_id().to_vec(), framer.retry());
        framer.restart();
        assert!(framer.is_between_frames());
        assert_eq!((framer.last_event_id(), framer.retry()), (&*id, retry));
        // A new body, with a byte order mark of its own.
        feed(&mut framer, "\u{feff}data: two\n\n".as_bytes());
        assert_eq!(seen.last(), Some(&(Vec::new(), b"two".to_vec())));
        assert_eq!(seen.len(), 1 + usize::from(!id.is_empty()));
    }
}

#[test]
fn a_framer_says_whether_it_holds_part_of_an_event() {
    for (body, holds) in [
        ("", false),
        ("data: one\n\n", false),
        (": heartbeat\n", false),
        ("data: one\n", true),
        ("data: one\n\nda", true),
    ] {
        let framer = receive(sse(), [body.as_bytes()]).framer;
        assert_eq!(!framer.is_between_frames(), holds, "{body:?}");
    }
}
