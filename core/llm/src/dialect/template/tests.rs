use super::*;
use proptest::prelude::*;
use serde_json::Value;
use std::str;

/// A reader of frames with a text; it ignores unknown keys, such as `n` and `pad`.
#[derive(Debug, Default)]
struct Reader {
    /// The emitted texts with their kinds.
    said: Vec<(u64, String)>,
    /// The number of frames that were read, not compared.
    read: usize,
    /// Whether the reader emits nothing for frames that fit a template.
    refuses: bool,
}

#[derive(Deserialize)]
struct Wire<'a> {
    kind: u64,
    #[serde(borrow, rename = "in")]
    inner: Inner<'a>,
    #[serde(borrow)]
    n: Raw<'a>,
    #[serde(borrow)]
    pad: Raw<'a>,
    #[serde(borrow)]
    count: Raw<'a>,
}

#[derive(Deserialize)]
struct Inner<'a> {
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    n: Raw<'a>,
    #[serde(borrow)]
    pad: Raw<'a>,
}

/// The kind of a frame that counts.
const COUNTS: u64 = 5;

impl Reader {
    fn say(&mut self, kind: u64, text: &str, count: u64) {
        let count = if kind == COUNTS { count } else { 0 };
        self.said.push((kind + 100 * count, text.to_owned()));
    }
}

fn invalid(reason: &dyn std::fmt::Display) -> DecodeError {
    DecodeError::Json {
        dialect: "test",
        reason: reason.to_string(),
    }
}

impl FrameReader for Reader {
    type DeltaKind = u64;

    fn takes_pieces(&self) -> bool {
        true
    }

    fn is_over(&self) -> bool {
        false
    }

    fn piece(&mut self, fit: Fit<'_, u64>, _: &mut dyn Sink) -> Result<bool, DecodeError> {
        if self.refuses {
            return Ok(false);
        }
        self.say(*fit.kind, fit.text, fit.counts[1]);
        Ok(true)
    }

    fn frame(
        &mut self,
        frame: Frame<'_>,
        templates: &mut Templates<u64>,
        _: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        self.read += 1;
        let text = str::from_utf8(frame.data).map_err(|error| invalid(&error))?;
        let wire: Wire<'_> = serde_json::from_str(text).map_err(|error| invalid(&error))?;
        let Wire { kind, inner, .. } = wire;
        let text = crate::dialect::lenient::string(inner.text).map_err(|error| invalid(&error))?;
        let count = crate::dialect::lenient::token_count(wire.count);
        self.say(kind, &text.unwrap_or_default(), count.unwrap_or_default());
        let passed = [wire.n, wire.pad, inner.n, inner.pad].map(|raw| (Gap::Passed, raw));
        let counted = (Gap::Count(1), wire.count.filter(|_| kind == COUNTS));
        let gaps = passed.into_iter().chain([(Gap::Text, inner.text), counted]);
        templates.learn(frame, gaps, || kind);
        Ok(())
    }
}

fn frame(data: &[u8]) -> Frame<'_> {
    Frame {
        event: b"",
        data,
        id: b"",
        ..Frame::default()
    }
}

struct Nobody;

impl Sink for Nobody {
    fn event(&mut self, _: crate::event::EventRef<'_>) -> Result<(), crate::event::Violation> {
        Ok(())
    }

    fn warning(&mut self, _: &str) {}
}

/// Returns the number of frames that fitted a template; all must read as they do without one.
fn read_all<F: AsRef<[u8]>>(frames: &[F]) -> usize {
    let mut templated = Templated::new(Reader::default());
    let mut alone = Reader::default();
    for data in frames {
        let data = data.as_ref();
        let read = templated.frame(frame(data), &mut Nobody);
        let expected = alone.frame(frame(data), &mut Templates::default(), &mut Nobody);
        assert_eq!(read, expected, "{}", data.escape_ascii());
        assert_eq!(templated.reader.said, alone.said, "{}", data.escape_ascii());
    }
    alone.read - templated.reader.read
}

#[test]
fn frames_that_differ_in_text_and_passed_values_fit() {
    assert_eq!(
        read_all(&[
            r#"{"n":1,"kind":3,"in":{"text":"a","pad":"xx"},"id":"same"}"#,
            r#"{"n":20,"kind":3,"in":{"text":"b\n\u00e4","pad":""},"id":"same"}"#,
            r#"{"n":-3.5e7,"kind":3,"in":{"text":"ü","pad":"ä\t"},"id":"same"}"#,
        ]),
        2
    );
}

#[test]
fn frames_that_differ_elsewhere_do_not() {
    assert_eq!(
        read_all(&[
            r#"{"n":1,"kind":3,"in":{"text":"a"},"id":"same"}"#,
            r#"{"n":1,"kind":4,"in":{"text":"a"},"id":"same"}"#,
            r#"{"n":1,"kind":3, "in":{"text":"a"},"id":"same"}"#,
            r#"{"n":1,"kind":3,"in":{"text":"a"},"id":"same"}}"#,
            r#"{"n":1,"kind":3,"in":{"text":"a"},"id":"same""#,
            r#"{"n":"1","kind":3,"in":{"text":"a"},"id":"same"}"#,
            r#"{"n":01,"kind":3,"in":{"text":"a"},"id":"same"}"#,
            r#"{"n":1,"kind":3,"in":{"text":""},"id":"same"}"#,
            r#"{"n":1,"kind":3,"in":{"text":"a","text":"b"},"id":"same"}"#,
            r#"{"n":1,"kind":3,"in":{"text":"\ud800"},"id":"same"}"#,
            r#"{"n":1,"kind":3,"in":{"text":"a"#,
            "{\"n\":1,\"kind\":3,\"in\":{\"text\":\"a\nb\"},\"id\":\"same\"}",
            "{\"n\":1,\"kind\":3,\"in\":{\"text\":\"a\"},\"id\":\"same\"\u{c}}",
        ]),
        0
    );
}

#[test]
fn a_frame_of_another_name_does_not_fit() {
    let mut templated = Templated::new(Reader::default());
    for event in [b"a".as_slice(), b"a", b"b", b""] {
        let frame = Frame {
            event,
            ..frame(br#"{"kind":1,"in":{"text":"x"}}"#)
        };
        assert_eq!(templated.frame(frame, &mut Nobody), Ok(()));
    }
    assert_eq!(templated.reader.read, 3);
}

#[test]
fn space_before_the_last_brace_and_behind_it_makes_no_difference() {
    assert_eq!(
        read_all(&[
            "{\"kind\":3,\"in\":{\"text\":\"a\"}  }",
            "{\"kind\":3,\"in\":{\"text\":\"b\"}}",
            "{\"kind\":3,\"in\":{\"text\":\"c\"}\t\r\n } \n",
        ]),
        2
    );
}

#[test]
fn counts_are_read() {
    assert_eq!(
        read_all(&[
            r#"{"kind":5,"count":1,"in":{"text":"a"}}"#,
            r#"{"kind":5,"count":9007199254740991,"in":{"text":"b"}}"#,
            r#"{"kind":5,"count":0,"in":{"text":"c"}}"#,
        ]),
        2
    );
}

#[test]
fn what_is_no_plain_count_does_not_fit() {
    assert_eq!(
        read_all(&[
            r#"{"kind":5,"count":1,"in":{"text":"a"}}"#,
            r#"{"kind":5,"count":9007199254740992,"in":{"text":"b"}}"#,
            r#"{"kind":5,"count":2.0,"in":{"text":"c"}}"#,
            r#"{"kind":5,"count":-0,"in":{"text":"d"}}"#,
            r#"{"kind":5,"count":01,"in":{"text":"e"}}"#,
            r#"{"kind":5,"count":"2","in":{"text":"f"}}"#,
            r#"{"kind":5,"count":null,"in":{"text":"g"}}"#,
        ]),
        0
    );
}

#[test]
fn streams_of_calls_side_by_side_fit_in_turns() {
    let frames: Vec<_> = (0..40)
        .map(|at| format!(r#"{{"n":{at},"kind":{},"in":{{"text":"x"}}}}"#, at % 4))
        .collect();
    assert_eq!(read_all(&frames), 36);
}

#[test]
fn more_kinds_than_there_is_room_for_are_read_all_the_same() {
    let frames: Vec<_> = (0..100)
        .map(|at| format!(r#"{{"kind":{},"in":{{"text":"x"}}}}"#, at % 11))
        .collect();
    read_all(&frames);
}

#[test]
fn a_stream_that_never_repeats_is_given_up() {
    let mut templated = Templated::new(Reader::default());
    for at in 0..=2 * MAX_MISSES {
        let data = format!(r#"{{"id":{at},"kind":1,"in":{{"text":"x"}}}}"#);
        let read = templated.frame(frame(data.as_bytes()), &mut Nobody);
        assert_eq!(read, Ok(()));
        assert!(templated.templates.known.len() <= MAX_TEMPLATES);
    }
    assert_eq!(templated.templates.known.len(), 0);
}

#[test]
fn a_stream_that_begins_to_repeat_itself_is_read_by_comparing() {
    let different =
        (0..3 * MAX_MISSES).map(|at| format!(r#"{{"id":{at},"kind":1,"in":{{"text":"x"}}}}"#));
    let same = (0..2 * MAX_MISSES).map(|at| format!(r#"{{"kind":1,"in":{{"text":"{at}"}}}}"#));
    let frames: Vec<_> = different.chain(same).collect();
    assert!(read_all(&frames) >= MAX_MISSES as usize);
}

#[test]
fn a_long_text_is_no_reason_not_to_keep_what_stands_around_it() {
    let frame = |text: &str| format!(r#"{{"kind":1,"in":{{"text":"{text}"}}}}"#);
    assert_eq!(
        read_all(&[frame(&"x".repeat(2 * MAX_TEMPLATE_BYTES)), frame("y")]),
        1
    );
}

#[test]
fn what_is_too_long_is_not_kept() {
    let id = "i".repeat(MAX_TEMPLATE_BYTES);
    let frame = format!(r#"{{"kind":1,"id":"{id}","in":{{"text":"x"}}}}"#);
    assert_eq!(read_all(&[frame.clone(), frame]), 0);
}

#[test]
fn a_piece_that_the_reader_does_not_say_is_read_and_kept_once() {
    let mut templated = Templated::new(Reader {
        refuses: true,
        ..Reader::default()
    });
    let data = br#"{"kind":1,"in":{"text":"x"}}"#;
    for _ in 0..3 {
        assert_eq!(templated.frame(frame(data), &mut Nobody), Ok(()));
    }
    assert_eq!(templated.reader.said.len(), 3);
    assert_eq!(templated.templates.known.len(), 1);
}

#[test]
fn a_value_of_another_text_is_no_gap() {
    let raw: Box<serde_json::value::RawValue> = serde_json::from_str(r#""x""#).expect("JSON");
    let mut templates = Templates::default();
    templates.learn(frame(br#"{"text":"x"}"#), [(Gap::Text, Some(&*raw))], || 1);
    assert_eq!(templates.known.len(), 0);
}

/// The bytes for mutations, to which JSON is sensitive.
const BYTES: &[u8] = b"\"\\{}[]:,019.eE+-un \x0c\x1f\xc3\xff\t";

fn odd_frame() -> impl Strategy<Value = Vec<u8>> {
    let edit = (
        any::<prop::sample::Index>(),
        0..3_u8,
        prop::sample::select(BYTES),
    );
    (
        0..4_u8,
        any::<u16>(),
        "[a-c\"\\\\ä]{0,4}",
        prop::option::weighted(0.4, edit),
    )
        .prop_map(|(kind, n, text, edit)| {
            let text = Value::from(text);
            let frame = match kind {
                0 => format!(r#"{{"n":{n},"kind":0,"in":{{"text":{text},"pad":"{n}"}}}}"#),
                1 => format!(r#"{{"kind":1,"in":{{"x":[1,{{}}],"text":{text}}},"pad":"ä{n}"}}"#),
                2 => format!(r#"{{"count":{n},"kind":5,"in":{{"text":{text}}}}}"#),
                _ => format!(r#"{{"in":{{"n":{n},"text":{text}}},"kind":2,"text":{text}}}"#),
            };
            let mut frame = frame.into_bytes();
            if let Some((index, what, byte)) = edit {
                let at = index.index(frame.len());
                match what {
                    0 => frame[at] = byte,
                    1 => frame.insert(at, byte),
                    _ => {
                        frame.remove(at);
                    }
                }
            }
            frame
        })
}

/// The text of a string, where all is one.
fn text(bytes: &[u8]) -> Option<String> {
    let mut scan = Scan::new(bytes);
    scan.piece(b"\"")?;
    let text = scan.string()?;
    let text = text.unescape(&mut String::new())?.to_owned();
    scan.rest().is_empty().then_some(text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_frame_reads_the_same_with_and_without_templates(frames in prop::collection::vec(odd_frame(), 1..12)) {
        read_all(&frames);
    }

    #[test]
    fn a_string_is_what_serde_reads(inner in prop::collection::vec(prop::sample::select(BYTES), 0..40)) {
        let bytes = [b"\"".as_slice(), &inner, b"\""].concat();
        prop_assert_eq!(text(&bytes), serde_json::from_slice::<String>(&bytes).ok(), "{}", bytes.escape_ascii());
    }

    #[test]
    fn any_string_in_any_spelling_is_read(text in any::<String>(), escape in any::<Vec<bool>>()) {
        let mut spelled = String::from("\"");
        for (index, c) in text.chars().enumerate() {
            let plain = !matches!(c, '"' | '\\' | '\0'..' ');
            if plain && !escape.get(index).copied().unwrap_or(false) {
                spelled.push(c);
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    spelled.push_str(&format!("\\u{unit:04X}"));
                }
            }
        }
        spelled.push('"');
        prop_assert_eq!(super::tests::text(spelled.as_bytes()), Some(text));
    }

    #[test]
    fn a_number_is_what_serde_reads(bytes in prop::collection::vec(prop::sample::select(&b"0123.eE+-x"[..]), 0..10)) {
        let mut scan = Scan::new(&bytes);
        let is_number = scan.number().is_some() && scan.rest().is_empty();
        let expected = serde_json::from_slice::<&serde_json::value::RawValue>(&bytes).is_ok();
        prop_assert_eq!(is_number, expected, "{}", bytes.escape_ascii());
    }
}

#[test]
fn a_string_stops_at_every_place() {
    for length in 0..40 {
        for stop in [b'"', b'\\', 0x1f, 0] {
            for filler in [b'a', 0x21, 0x23, 0x5b, 0x5d, 0x7f] {
                let mut bytes = vec![b'"'];
                bytes.extend(vec![filler; length]);
                bytes.push(stop);
                bytes.extend(b"n\"");
                assert_eq!(
                    text(&bytes),
                    serde_json::from_slice(&bytes).ok(),
                    "{length} {stop} {filler}"
                );
            }
        }
    }
}
