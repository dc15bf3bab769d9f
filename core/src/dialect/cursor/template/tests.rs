use super::*;
use crate::dialect::cursor::Seen;
use proptest::prelude::*;

/// A frame's text and kind, its `n` and `pad` changing; two kinds are deep in it, as those of real formats are.
fn long_way(frame: &[u8]) -> Result<Plain<'_, u64>, Miss> {
    let (mut kind, mut text) = (None, None);
    let mut changing = Changing::default();
    let mut cursor = Cursor::new(frame);
    let mut seen = Seen::default();
    cursor.object(|cursor, key| match key {
        b"kind" => {
            seen.once(0)?;
            kind = Some(cursor.count()?);
            Ok(())
        }
        b"in" => {
            seen.once(1)?;
            let mut seen = Seen::default();
            cursor.object(|cursor, key| match key {
                b"text" => {
                    seen.once(0)?;
                    text = Some(cursor.text()?);
                    Ok(())
                }
                b"n" | b"pad" => cursor.skip_changing(&mut changing),
                _ => cursor.skip(),
            })
        }
        b"n" | b"pad" => cursor.skip_changing(&mut changing),
        _ => cursor.skip(),
    })?;
    cursor.end()?;
    let piece = text.map(|text| Ok((kind.ok_or(Miss)?, text)));
    Ok(Plain {
        piece: piece.transpose()?,
        changing,
    })
}

fn said(read: Result<Option<(u64, RawText<'_>)>, Miss>) -> Result<Option<(u64, String)>, Miss> {
    let Some((kind, text)) = read? else {
        return Ok(None);
    };
    let text = text.unescape(&mut String::new()).map(str::to_owned);
    Ok(Some((
        kind,
        text.unwrap_or_else(|Miss| "half a pair".into()),
    )))
}

/// How many of the frames fitted a template; all must read as they do without one.
fn read_all(frames: &[Vec<u8>]) -> usize {
    let mut templates = Templates::default();
    let mut fitted = 0;
    for frame in frames {
        let mut long = false;
        let read = templates.read_or(frame, |frame| {
            long = true;
            long_way(frame)
        });
        let alone = long_way(frame).map(|plain| plain.piece);
        assert_eq!(said(read), said(alone), "{}", frame.escape_ascii());
        fitted += usize::from(!long);
    }
    fitted
}

fn owned(frames: &[&str]) -> Vec<Vec<u8>> {
    frames
        .iter()
        .map(|frame| frame.as_bytes().to_vec())
        .collect()
}

#[test]
fn frames_that_differ_in_text_and_changing_values_fit() {
    let frames = owned(&[
        r#"{"n":1,"kind":3,"in":{"text":"a","pad":"xx"},"id":"same"}"#,
        r#"{"n":20,"kind":3,"in":{"text":"b\n\u00e4","pad":""},"id":"same"}"#,
        r#"{"n":-3.5e7,"kind":3,"in":{"text":"ü","pad":"ä\t"},"id":"same"}"#,
    ]);
    assert_eq!(read_all(&frames), 2);
}

#[test]
fn frames_that_differ_elsewhere_do_not() {
    let frames = owned(&[
        r#"{"n":1,"kind":3,"in":{"text":"a"},"id":"same"}"#,
        r#"{"n":1,"kind":4,"in":{"text":"a"},"id":"same"}"#,
        r#"{"n":1,"kind":3,"in":{"text":"a"},"id":"same" }"#,
        r#"{"n":1,"kind":3,"in":{"text":"a"},"id":"same"}}"#,
        r#"{"n":1,"kind":3,"in":{"text":"a"},"id":"same""#,
        r#"{"n":"1","kind":3,"in":{"text":"a"},"id":"same"}"#,
        r#"{"n":01,"kind":3,"in":{"text":"a"},"id":"same"}"#,
        r#"{"n":1,"kind":3,"in":{"text":""},"id":"same"}"#,
        r#"{"n":1,"kind":3,"in":{"text":"a","text":"b"},"id":"same"}"#,
        r#"{"n":1,"kind":3,"in":{"text":"a"#,
        "{\"n\":1,\"kind\":3,\"in\":{\"text\":\"a\nb\"},\"id\":\"same\"}",
    ]);
    assert_eq!(read_all(&frames), 0);
}

#[test]
fn streams_of_calls_side_by_side_fit_in_turns() {
    let frames: Vec<_> = (0..40)
        .map(|at| format!(r#"{{"n":{at},"kind":{},"in":{{"text":"x"}}}}"#, at % 4).into_bytes())
        .collect();
    assert_eq!(read_all(&frames), 36);
}

#[test]
fn more_kinds_than_there_is_room_for_are_read_all_the_same() {
    let frames: Vec<_> = (0..100)
        .map(|at| format!(r#"{{"kind":{},"in":{{"text":"x"}}}}"#, at % 11).into_bytes())
        .collect();
    read_all(&frames);
}

#[test]
fn a_stream_that_never_repeats_is_given_up() {
    let mut templates = Templates::default();
    for at in 0..=2 * PATIENCE {
        let frame = format!(r#"{{"id":{at},"kind":1,"in":{{"text":"x"}}}}"#);
        let read = templates.read_or(frame.as_bytes(), long_way);
        assert_eq!(said(read), Ok(Some((1, "x".into()))));
        assert!(templates.known.len() <= MOST);
    }
    assert_eq!(templates.known.len(), 0);
}

#[test]
fn a_stream_that_begins_to_repeat_itself_is_read_by_comparing() {
    let different =
        (0..3 * PATIENCE).map(|at| format!(r#"{{"id":{at},"kind":1,"in":{{"text":"x"}}}}"#));
    let same = (0..2 * PATIENCE).map(|at| format!(r#"{{"kind":1,"in":{{"text":"{at}"}}}}"#));
    let frames: Vec<_> = different.chain(same).map(String::into_bytes).collect();
    assert!(read_all(&frames) >= PATIENCE as usize);
}

#[test]
fn a_long_text_is_no_reason_not_to_keep_what_stands_around_it() {
    let frame = |text: &str| format!(r#"{{"kind":1,"in":{{"text":"{text}"}}}}"#).into_bytes();
    assert_eq!(read_all(&[frame(&"x".repeat(2 * LONGEST)), frame("y")]), 1);
}

#[test]
fn what_is_too_long_is_not_kept() {
    let frame = format!(
        r#"{{"kind":1,"id":"{}","in":{{"text":"x"}}}}"#,
        "i".repeat(LONGEST)
    );
    assert_eq!(read_all(&[frame.clone().into(), frame.into()]), 0);
}

#[test]
fn what_was_forgotten_is_read_anew() {
    let mut templates = Templates::default();
    let frame = br#"{"kind":1,"in":{"text":"x"}}"#;
    for meaning in [1, 2] {
        let read = templates.read_or(frame, |frame| {
            let plain = long_way(frame)?;
            let piece = plain.piece.map(|(_, text)| (meaning, text));
            Ok(Plain { piece, ..plain })
        });
        assert_eq!(said(read), Ok(Some((meaning, "x".into()))));
        templates.forget();
    }
}

/// What mutations are made of: the bytes that JSON is sensitive to.
const BYTES: &[u8] = b"\"\\{}[]:,019.eE+-un \x1f\xc3\xff\t";

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let edit = (
        any::<prop::sample::Index>(),
        0..3_u8,
        prop::sample::select(BYTES),
    );
    (
        0..3_u8,
        any::<u16>(),
        "[a-c\"\\\\ä]{0,4}",
        prop::option::weighted(0.4, edit),
    )
        .prop_map(|(kind, n, text, edit)| {
            let text = serde_json::Value::from(text);
            let frame = match kind {
                0 => format!(r#"{{"n":{n},"kind":0,"in":{{"text":{text},"pad":"{n}"}}}}"#),
                1 => format!(r#"{{"kind":1,"in":{{"x":[1,{{}}],"text":{text}}},"pad":"ä{n}"}}"#),
                _ => format!(r#"{{"in":{{"n":{n},"pad":{text}}},"kind":2,"text":{text}}}"#),
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_frame_reads_the_same_with_and_without_templates(frames in prop::collection::vec(frame(), 1..12)) {
        read_all(&frames);
    }
}
