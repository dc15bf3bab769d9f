//! One JSON text a line.

use super::support::{Owned, owned, read, receive};
use proptest::prelude::*;
use stepwell_core::wire::{Framer, JsonLinesFramer, WireError};

fn json_lines() -> Framer {
    Framer::JsonLines(JsonLinesFramer::default())
}

fn data(texts: &[&str]) -> Vec<Owned> {
    texts.iter().map(|text| owned("", text, "")).collect()
}

fn lines(body: impl AsRef<[u8]>) -> Vec<Owned> {
    let body = body.as_ref();
    let whole = read(json_lines(), [body]);
    for at in 0..=body.len() {
        let (left, right) = body.split_at(at);
        assert_eq!(read(json_lines(), [left, right]), whole, "cut at {at}");
    }
    assert_eq!(read(json_lines(), body.chunks(1)), whole);
    assert_eq!(whole.outcome, Ok(()));
    whole.frames
}

#[test]
fn each_line_is_a_frame() {
    assert_eq!(
        lines("{\"a\":1}\n{\"b\":\"é\"}\n"),
        data(&["{\"a\":1}", "{\"b\":\"é\"}"])
    );
    assert_eq!(lines("{}\r\n[]\r\n"), data(&["{}", "[]"]));
    assert_eq!(lines(""), []);
}

#[test]
fn blank_lines_and_a_byte_order_mark_are_skipped() {
    assert_eq!(
        lines("\u{feff}\n{}\n\n\r\n \t\r\n[]\n \n"),
        data(&["{}", "[]"])
    );
    assert_eq!(lines("\u{feff}{}\n"), data(&["{}"]));
    assert_eq!(
        lines(b"\xEF\xBB{}\n"),
        [owned("", b"\xEF\xBB{}", "")],
        "half a mark is for the decoder to refuse"
    );
}

#[test]
fn only_lf_ends_a_line() {
    assert_eq!(lines("{\"a\":\r1}\n"), data(&["{\"a\":\r1}"]));
    assert_eq!(lines(" {} \r\r\n"), data(&[" {} \r"]));
}

#[test]
fn the_end_of_the_body_ends_the_last_line() {
    let open = receive(json_lines(), [&b"{}\n[1,"[..], b"2]"]);
    assert_eq!(open.frames, data(&["{}"]));
    assert_eq!(lines("{}\n[1,2]"), data(&["{}", "[1,2]"]));
    assert_eq!(lines("{}\r"), data(&["{}"]));
    assert_eq!(lines("{}\n  "), data(&["{}"]));
}

#[test]
fn a_refused_line_stops_the_body() {
    let mut framer = JsonLinesFramer::default();
    let mut refused = 0;
    for _ in 0..3 {
        let outcome = framer.receive(b"1\n2\n", |_| {
            refused += 1;
            Err(WireError::LineTooLong { limit: 0 })
        });
        assert!(outcome.is_err());
    }
    assert_eq!(refused, 1);
    assert_eq!(framer.finish(|_| Ok(())), Err(WireError::Stopped));
}

proptest! {
    #[test]
    fn i03_whole_texts_come_out_as_they_went_in(
        texts in prop::collection::vec("\\PC*[^\\s\\p{C}]\\PC*", 0..8),
        end in prop::sample::select(&["\n", "\r\n", "\n\n"][..]),
        size in 1..40_usize,
    ) {
        let body = texts.iter().map(|text| format!("{text}{end}")).collect::<String>();
        let seen = read(json_lines(), body.as_bytes().chunks(size));
        let texts: Vec<_> = texts.iter().map(|text| owned("", text, "")).collect();
        prop_assert_eq!(seen.frames, texts);
    }
}
