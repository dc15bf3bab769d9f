use super::support::{outline, parts, text, thought};
use serde_json::json;

#[test]
fn a_signature_is_kept_with_what_it_came_with() {
    let events = outline(&[
        parts(json!([{"text": "Hm", "thought": true, "thoughtSignature": "t"}])),
        parts(json!([{"text": "a"}, {"text": "bc", "thoughtSignature": "m"}])),
        parts(json!([{"functionCall": {"name": "f"}, "thoughtSignature": "c"}])),
    ]);
    let sealed: Vec<_> = events
        .iter()
        .filter(|event| event.starts_with("sealed"))
        .collect();
    assert_eq!(
        sealed,
        [
            r#"sealed r-reasoning-0: {"thoughtSignature":"t","length":2}"#,
            r#"sealed r-message-0: {"thoughtSignature":"m","length":2}"#,
            r#"sealed r-call-0: {"thoughtSignature":"c"}"#,
        ]
    );
}

#[test]
fn a_signature_without_text_stands_on_what_came_before() {
    let signature = || parts(json!([{"text": "", "thoughtSignature": "e"}]));
    let trailing = |id: &str| format!(r#"sealed {id}: {{"trailing":"e"}}"#);
    let last = |frames: &[serde_json::Value]| {
        let events = outline(frames);
        let sealed = events
            .iter()
            .rev()
            .find(|event| event.starts_with("sealed"));
        sealed.expect("sealed").clone()
    };
    assert_eq!(last(&[text("a"), signature()]), trailing("r-message-0"));
    assert_eq!(
        last(&[thought("a"), signature()]),
        trailing("r-reasoning-0")
    );
    assert_eq!(
        last(&[
            text("a"),
            parts(json!([{"functionCall": {"name": "f"}}])),
            signature()
        ]),
        trailing("r-call-0")
    );
    assert_eq!(
        last(&[
            parts(json!([{"functionCall": {"name": "f"}, "thoughtSignature": "c"}])),
            signature()
        ]),
        r#"sealed r-call-0: {"thoughtSignature":"c","trailing":"e"}"#
    );
    assert_eq!(last(&[signature()]), trailing("r-message-0"));
    assert_eq!(
        last(&[text("a"), parts(json!([{"thoughtSignature": "e"}]))]),
        trailing("r-message-0")
    );
}

#[test]
fn text_behind_a_signed_part_is_another_message() {
    let events = outline(&[
        parts(json!([{"text": "a", "thoughtSignature": "1"}])),
        parts(json!([{"text": "b", "thoughtSignature": "2"}])),
        parts(
            json!([{"text": "", "thoughtSignature": "3"}, {"text": "", "thoughtSignature": "4"}]),
        ),
        parts(json!([{"text": "c", "thought": true, "thoughtSignature": "5"}])),
        parts(json!([{"text": "", "thought": true, "thoughtSignature": "6"}])),
    ]);
    let sealed: Vec<_> = events
        .iter()
        .filter(|event| event.starts_with("sealed"))
        .collect();
    assert_eq!(
        sealed,
        [
            r#"sealed r-message-0: {"thoughtSignature":"1","length":1}"#,
            r#"sealed r-message-1: {"thoughtSignature":"2","length":1}"#,
            r#"sealed r-message-1: {"thoughtSignature":"2","length":1,"trailing":"3"}"#,
            r#"sealed r-message-2: {"trailing":"4"}"#,
            r#"sealed r-reasoning-0: {"thoughtSignature":"5","length":1}"#,
            r#"sealed r-reasoning-1: {"thoughtSignature":"6","length":0}"#,
        ]
    );
}
