use crate::chat::{Stream, body, events, finish, outline, short, text};
use serde_json::{Value, json};
use stepwell_core::dialect::{DecodeError, Dialect};
use stepwell_core::event::Event;

#[test]
fn an_error_in_any_form_ends_the_stream() {
    for (error, said) in [
        (
            json!({"error": {"message": "Too long", "type": "invalid", "param": null, "code": null}}),
            "error invalid: Too long",
        ),
        (
            json!({"error": {"code": 400, "message": "Bad", "type": "x"}}),
            "error 400: Bad",
        ),
        (json!({"error": "Out of memory"}), "error -: Out of memory"),
        (json!({"code": "E1", "error": "Text"}), "error E1: Text"),
        (
            json!({"error": {"object": "error", "message": "Busy", "type": "overloaded"}}),
            "error overloaded: Busy",
        ),
        (
            json!({"object": "error", "message": "Gone", "type": "t", "code": "1500"}),
            "error 1500: Gone",
        ),
        (
            json!({"object": "error", "message": {"detail": [1]}}),
            "error -: {\"detail\":[1]}",
        ),
        (json!({"error": {}}), "error -: {\"error\":{}}"),
    ] {
        let frames = [text("a"), error, text("late"), finish("stop")];
        let all = outline(&frames);
        assert_eq!(
            all[2..],
            ["text r-message-0: a".to_owned(), said.to_owned()],
            "{frames:?}"
        );
    }
}

#[test]
fn no_error_is_no_error() {
    for error in [Value::Null, json!(""), json!(false)] {
        let mut chunk = text("b");
        chunk["error"] = error;
        assert_eq!(
            outline(&[text("a"), chunk, finish("stop")])[3],
            "text r-message-0: b"
        );
    }
}

#[test]
fn a_named_error_event_is_one_whatever_it_holds() {
    for (data, said) in [
        (
            r#"{"error":{"message":"No","type":"t","code":"tool_use_failed","failed_generation":"x"}}"#,
            "error tool_use_failed: No",
        ),
        (r#"{"message":"No","code":7}"#, "error 7: No"),
        (r#""No""#, "error -: No"),
        ("gateway\ttimeout", "error -: gateway timeout"),
    ] {
        let body = format!(
            "{}event: error\ndata: {data}\n\ndata: [DONE]\n\n",
            body(&[text("a")])
        );
        let all = events(&body);
        assert_eq!(short(all.last().expect("an error")), said);
        assert_eq!(all.len(), 4);
    }
}

#[test]
fn an_error_keeps_the_stop_reason_and_the_usage_that_were_seen() {
    let error = json!({
        "model": "m", "choices": [{"index": 0, "delta": {"content": "last words"}, "finish_reason": null}],
        "error": {"code": 400, "message": "Limit"}, "usage": {"prompt_tokens": 43}
    });
    let all = events(&body(&[
        text("a"),
        finish("length"),
        error,
        json!("[DONE]"),
    ]));
    assert_eq!(short(&all[3]), "text r-message-0: last words");
    let Some(Event::RunError(error)) = all.last() else {
        panic!("{all:?}");
    };
    assert_eq!(
        short(&Event::RunError(error.clone())),
        "error 400: Limit length"
    );
    assert_eq!(
        error.usage.as_ref().and_then(|usage| usage[0].input_tokens),
        Some(43)
    );
}

#[test]
fn an_error_may_be_the_first_thing_to_come() {
    let all = events(&body(&[json!({"error": {"message": "No"}})]));
    assert_eq!(all.iter().map(short).collect::<Vec<_>>(), ["error -: No"]);
    let with_text = json!({"choices": [{"index": 0, "delta": {"content": "x"}}], "error": "No"});
    assert_eq!(events(&body(&[with_text])).len(), 4);
}

#[test]
fn what_is_not_json_is_refused_and_gives_no_event() {
    for bad in [
        "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]",
        "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}}",
        "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\",\"n\":NaN}}]",
        "[DONE",
    ] {
        let stream = format!("{}data: {bad}\n\n", body(&[text("a")]));
        let (recorder, result) =
            Stream::new(Dialect::OpenAiChat).run(stream.as_bytes(), usize::MAX);
        assert_eq!(recorder.events.len(), 3, "{bad}");
        assert!(
            matches!(
                result,
                Err(DecodeError::Json {
                    dialect: "openai-chat",
                    ..
                })
            ),
            "{bad}: {result:?}"
        );
    }
    let bad = [
        body(&[text("a")]).as_bytes(),
        b"data: {\"choices\":[],\"x\":\"\xff\"}\n\n",
    ]
    .concat();
    let (_, result) = Stream::new(Dialect::OpenAiChat).run(&bad, usize::MAX);
    assert!(
        matches!(result, Err(DecodeError::Json { .. })),
        "{result:?}"
    );
}
