//! Servers that send a whole message in place of its pieces, usage within the choice, errors within the choice.

use crate::chat::{body, events, finish, outline, short, text};
use serde_json::{Value, json};
use stepwell_core::event::Event;

fn whole(content: &str) -> Value {
    json!({"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]})
}

fn call(message: &mut Value) {
    message["choices"][0]["message"]["tool_calls"] = json!([{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"e\":1}"}}]);
}

/// The text of an answer, and its calls.
fn said(frames: &[Value]) -> (String, Vec<String>) {
    let all = outline(frames);
    assert!(
        all.last().is_some_and(|end| end.starts_with("finish")),
        "{all:?}"
    );
    let text = all
        .iter()
        .filter_map(|event| event.strip_prefix("text r-message-0: "));
    let calls = all
        .iter()
        .filter(|event| event.starts_with("call a") || event.starts_with("args"));
    (text.collect(), calls.cloned().collect())
}

#[test]
fn a_message_in_place_of_a_delta_is_read() {
    let mut only = whole("Let me add.");
    call(&mut only);
    only["choices"][0]["finish_reason"] = "tool_calls".into();
    let expected = vec!["call a f".to_owned(), "args a: {\"e\":1}".to_owned()];
    assert_eq!(
        said(&[only.clone()]),
        ("Let me add.".to_owned(), expected.clone())
    );
    // Once more with all that came before.
    assert_eq!(
        said(&[only.clone(), only]),
        ("Let me add.".to_owned(), expected)
    );
    for delta in [json!(null), json!("")] {
        let mut chunk = whole("Hi");
        chunk["choices"][0]["delta"] = delta;
        assert_eq!(said(&[chunk, finish("stop")]).0, "Hi");
    }
}

#[test]
fn a_message_that_grows_is_said_once() {
    let frames = [
        whole("He"),
        whole("Hello"),
        whole("Hello"),
        whole("Hello you"),
        finish("stop"),
    ];
    assert_eq!(said(&frames).0, "Hello you");
    let pieces = [whole("He"), whole("llo"), finish("stop")];
    assert_eq!(said(&pieces).0, "Hello");
}

#[test]
fn a_message_beside_the_delta_says_nothing() {
    let both = |delta: &str, so_far: &str| {
        let mut chunk = text(delta);
        chunk["choices"][0]["message"] = json!({"role": "assistant", "content": so_far});
        chunk
    };
    let mut last = whole("Hello");
    call(&mut last);
    last["choices"][0]["finish_reason"] = "stop".into();
    let frames = [both("Hel", "Hel"), both("lo", "Hello"), last];
    assert_eq!(said(&frames), ("Hello".to_owned(), Vec::new()));
}

#[test]
fn a_call_that_is_announced_must_come() {
    for reason in ["tool_calls", "function_call"] {
        for before in [vec![], vec![text("Let me see.")]] {
            let all = outline(&[&before[..], &[finish(reason)]].concat());
            let end = all.last().expect("an end");
            assert!(end.starts_with("error no_call: "), "{all:?}");
        }
    }
}

#[test]
fn usage_within_the_choice_counts() {
    let usage = json!({"prompt_tokens": 1336, "completion_tokens": 31, "total_tokens": 1367, "cached_tokens": 1280});
    let mut last = finish("stop");
    last["choices"][0]["usage"] = usage.clone();
    let mut other = last.clone();
    other["usage"] = json!({"prompt_tokens": 5});
    for (last, input, cached) in [(last, 1336, Some(1280)), (other, 5, None)] {
        let all = events(&body(&[text("Name"), last, json!("[DONE]")]));
        let Some(Event::RunFinished(end)) = all.last() else {
            panic!("{all:?}")
        };
        let usage = end.usage.as_ref().expect("usage");
        assert_eq!(usage[0].input_tokens, Some(input));
        assert_eq!(usage[0].cached_input_tokens, cached);
    }
}

#[test]
fn an_error_within_the_choice_keeps_its_words() {
    for (error, said) in [
        (
            json!({"code": 502, "message": "Upstream idle timeout exceeded"}),
            "error 502: Upstream idle timeout exceeded error",
        ),
        (json!("Upstream broke"), "error -: Upstream broke error"),
    ] {
        let mut last = finish("error");
        last["choices"][0]["error"] = error;
        let all = events(&body(&[text("Par"), last, json!("[DONE]")]));
        assert_eq!(short(all.last().expect("an end")), said);
    }
    for none in [json!(null), json!(""), json!(false)] {
        let mut last = finish("stop");
        last["choices"][0]["error"] = none;
        assert_eq!(
            outline(&[text("a"), last]).last().map(String::as_str),
            Some("finish stop")
        );
    }
}
