use super::*;
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::str;

/// serde_json's verdict, with UTF-8 required everywhere.
fn oracle(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

fn skips(bytes: &[u8]) -> bool {
    let mut cursor = Cursor::new(bytes);
    cursor.skip().and_then(|()| cursor.end()).is_ok()
}

/// Reads everything there is by the cursor's typed methods.
fn read(bytes: &[u8]) -> Result<Value, Miss> {
    fn value(cursor: &mut Cursor<'_>, scratch: &mut String) -> Result<Value, Miss> {
        Ok(match cursor.peek()? {
            b'{' => {
                let mut map = Map::new();
                cursor.object(|cursor, key| {
                    let key = String::from_utf8(key.to_vec()).map_err(|_| Miss)?;
                    let value = value(cursor, scratch)?;
                    map.insert(key, value);
                    Ok(())
                })?;
                Value::Object(map)
            }
            b'[' => {
                let mut items = Vec::new();
                cursor.array(|cursor| {
                    items.push(value(cursor, scratch)?);
                    Ok(())
                })?;
                Value::Array(items)
            }
            b'"' => cursor.text()?.unescape(scratch)?.into(),
            b'0'..=b'9' => cursor.count()?.into(),
            b'n' => {
                cursor.null()?;
                Value::Null
            }
            _ => return Err(Miss),
        })
    }
    let mut cursor = Cursor::new(bytes);
    let value = value(&mut cursor, &mut String::new())?;
    cursor.end()?;
    Ok(value)
}

const FRAMES: &[&str] = &[
    r#"{"id":"c-1","object":"chat.completion.chunk","created":17,"model":"m","choices":[{"index":0,"delta":{"content":" häppy 🦀"},"logprobs":null,"finish_reason":null}],"usage":null}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":3,"function":{"arguments":"{\"a\\b\":\"\u00e4\ud83e\udd80\"}"}}]}}],"x":[-0.5e+10,1E-2,true,false,[],{}]}"#,
    r#" [ 1 , "two" , { "three" : [ 4 ] } , null ] "#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\tb\n\/\b\f\r"}"#,
];

/// What mutations are made of: the bytes that JSON is sensitive to.
const BYTES: &[u8] = b"\"\\{}[]:,0123456789.eE+-truefalsn u\x00\x1f\x7f\x80\xc3\xff\t\n";

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let edit = (
        any::<prop::sample::Index>(),
        0..4_u8,
        prop::sample::select(BYTES),
    );
    (
        prop::sample::select(FRAMES),
        prop::collection::vec(edit, 0..4),
    )
        .prop_map(|(frame, edits)| {
            let mut bytes = frame.as_bytes().to_vec();
            for (index, kind, byte) in edits {
                if bytes.is_empty() {
                    break;
                }
                let at = index.index(bytes.len());
                match kind {
                    0 => bytes[at] = byte,
                    1 => bytes.insert(at, byte),
                    2 => {
                        bytes.remove(at);
                    }
                    _ => bytes.truncate(at),
                }
            }
            bytes
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn skips_exactly_what_serde_skips_in_broken_frames(bytes in frame()) {
        prop_assert_eq!(skips(&bytes), oracle(&bytes), "{}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn skips_exactly_what_serde_skips_in_noise(bytes in prop::collection::vec(prop::sample::select(BYTES), 0..24)) {
        prop_assert_eq!(skips(&bytes), oracle(&bytes), "{}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn skips_exactly_what_serde_skips_in_strings(inner in prop::collection::vec(prop::sample::select(BYTES), 0..40)) {
        let bytes = [b"\"".as_slice(), &inner, b"\""].concat();
        prop_assert_eq!(skips(&bytes), oracle(&bytes), "{}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn reads_what_serde_reads(bytes in frame()) {
        if let Ok(value) = read(&bytes) {
            let text = str::from_utf8(&bytes).expect("the cursor checks UTF-8");
            prop_assert_eq!(value, serde_json::from_str::<Value>(text).expect("the cursor is strict"));
        }
    }

    #[test]
    fn reads_any_string_in_any_spelling(text in any::<String>(), escape in any::<Vec<bool>>()) {
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
        prop_assert_eq!(read(spelled.as_bytes()), Ok(Value::from(text)));
    }

    #[test]
    fn never_panics(bytes in any::<Vec<u8>>()) {
        let _ = skips(&bytes);
        let _ = read(&bytes);
    }
}

#[test]
fn a_stop_is_found_at_every_place() {
    for length in 0..40 {
        for stop in [b'"', b'\\', 0x1f, 0] {
            for filler in [b'a', 0x21, 0x23, 0x5b, 0x5d, 0x7f] {
                let mut bytes = vec![b'"'];
                bytes.extend(vec![filler; length]);
                bytes.push(stop);
                bytes.extend(b"n\"");
                assert_eq!(skips(&bytes), oracle(&bytes), "{length} {stop} {filler}");
            }
        }
    }
}

#[test]
fn nesting_ends_where_serde_json_ends_it() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [1, 126, 127, 128, 129, 200] {
            let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let built = serde_json::from_str::<Value>(&text).is_ok();
            assert_eq!(skips(text.as_bytes()), built, "skip {depth}");
            assert_eq!(read(text.as_bytes()).is_ok(), built, "read {depth}");
        }
    }
    assert!(!skips(&b"[".repeat(1 << 20)));
}

#[test]
fn brackets_must_match() {
    for text in [
        "[}",
        "{]",
        "[1}",
        "{\"a\":1]",
        "[[]",
        "[1,]",
        "{\"a\":1,}",
        "{,}",
        "{1:2}",
        "[]]",
    ] {
        assert!(!skips(text.as_bytes()), "{text}");
    }
}

#[test]
fn half_a_surrogate_pair_may_be_skipped_but_not_read() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
    ] {
        assert!(skips(text.as_bytes()), "{text}");
        assert!(serde_json::from_str::<IgnoredAny>(text).is_ok(), "{text}");
        assert_eq!(read(text.as_bytes()), Err(Miss), "{text}");
        assert!(serde_json::from_str::<String>(text).is_err(), "{text}");
    }
}

#[test]
fn unread_text_must_be_utf8_too() {
    assert!(!skips(b"{\"a\":\"\xff\"}"));
    assert!(!skips(b"{\"\xff\":1}"));
    assert!(!skips(b"[\"12345678\xc3\"]"));
    assert!(skips("[\"1234567ä\"]".as_bytes()));
}

#[test]
fn keys_with_an_escape_are_a_miss() {
    assert_eq!(read(br#"{"\u0061":1}"#), Err(Miss));
    assert!(skips(br#"{"\u0061":1}"#));
}

#[test]
fn a_key_is_seen_once() {
    let mut seen = Seen::default();
    assert_eq!(
        [seen.once(0), seen.once(31), seen.once(0)],
        [Ok(()), Ok(()), Err(Miss)]
    );
}

#[test]
fn counts_are_plain_and_fit() {
    let count = |text: &str| Cursor::new(text.as_bytes()).count();
    assert_eq!(count("0"), Ok(0));
    assert_eq!(count(" 1023,"), Ok(1_023));
    assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
    for text in [
        "18446744073709551616",
        "-1",
        "1.0",
        "1e3",
        "01",
        "",
        "\"1\"",
    ] {
        assert_eq!(count(text), Err(Miss), "{text}");
    }
}
