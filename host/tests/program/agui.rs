use crate::file::File;
use crate::run::{Ran, run};
use serde_json::{Value, json};

fn sse(events: &[Value]) -> Vec<u8> {
    let frames = events.iter().map(|event| format!("data: {event}\n\n"));
    frames.collect::<String>().into_bytes()
}

fn lines(events: &[Value]) -> Vec<u8> {
    let lines = events.iter().map(|event| format!("{event}\n"));
    lines.collect::<String>().into_bytes()
}

fn protobuf(events: &[Value]) -> Vec<u8> {
    let mut body = Vec::new();
    for event in events {
        let event: stepwell_core::event::Event =
            serde_json::from_value(event.clone()).expect("an event");
        stepwell_core::event::protobuf::encode_frame((&event).into(), &mut body)
            .expect("a known event");
    }
    body
}

fn started() -> Value {
    json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
}

fn finished() -> Value {
    json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
}

fn piece(id: &str) -> Value {
    json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "Hi"})
}

fn text() -> Vec<Value> {
    vec![
        started(),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}),
        piece("m"),
        json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}),
        finished(),
    ]
}

fn check(more: &[&str], body: &[u8]) -> Ran {
    run(&[&["agui", "check", "-"], more].concat(), body)
}

/// The findings as (rule, severity, event).
fn findings(ran: &Ran) -> Vec<(String, String, u64)> {
    let report = ran.json();
    let findings = report["findings"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    findings
        .map(|finding| {
            assert!(!text(&finding["advice"]).is_empty(), "{finding}");
            assert!(!text(&finding["message"]).is_empty(), "{finding}");
            (
                text(&finding["rule"]),
                text(&finding["severity"]),
                finding["event"].as_u64().expect("a number"),
            )
        })
        .collect()
}

fn one(rule: &str, severity: &str, event: u64) -> Vec<(String, String, u64)> {
    vec![(rule.to_owned(), severity.to_owned(), event)]
}

#[test]
fn a_good_stream_is_good_in_every_encoding() {
    for (body, encoding) in [
        (sse(&text()), "sse"),
        (lines(&text()), "json-lines"),
        (protobuf(&text()), "protobuf"),
        (json!(text()).to_string().into_bytes(), "json-lines"),
    ] {
        let ran = check(&["--format", "json"], &body).succeeded();
        let report = ran.json();
        assert_eq!(report["encoding"], encoding);
        assert_eq!(report["findings"], json!([]));
        assert_eq!(
            (&report["fatal"], &report["warned"]),
            (&json!(0), &json!(0))
        );
        // Saying what it is changes nothing.
        let ran = check(&["--format", "json", "--encoding", encoding], &body);
        assert_eq!(ran.succeeded().json(), report);
    }
    let ran = check(&[], &sse(&text())).succeeded();
    assert_eq!(
        ran.out,
        "5 events in server-sent events: 0 fatal, 0 dropped, 0 warned\n"
    );
}

#[test]
fn a_broken_rule_is_named_with_its_event_and_advice() {
    let mut events = text();
    events.insert(4, piece("m\u{1b}[31m"));
    for body in [sse(&events), lines(&events), protobuf(&events)] {
        let ran = check(&["--format", "json"], &body);
        assert_eq!(
            ran.failed(1),
            "the stream breaks the protocol at event 5: O7"
        );
        assert_eq!(findings(&ran), one("O7", "fatal", 5));
        let ran = check(&["--format", "json", "--lenient"], &body).succeeded();
        assert_eq!(findings(&ran), one("O7", "dropped", 5));
        assert_eq!(ran.json()["events"], 6);
    }
    let ran = check(&[], &sse(&events));
    ran.failed(1);
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ran.out);
    assert!(lines[0].starts_with("event 5: fatal O7: TEXT_MESSAGE_CONTENT: no text message"));
    assert!(!ran.out.contains('\u{1b}'), "{:?}", ran.out);
    assert!(lines[1].contains("send TEXT_MESSAGE_START"), "{}", lines[1]);
}

#[test]
fn what_has_no_end_is_no_success_however_lenient() {
    let cut = sse(&text()[..4]);
    for (body, event) in [(cut, 5), (b": keep-alive\n\n".to_vec(), 1)] {
        for more in [
            &["--format", "json"][..],
            &["--format", "json", "--lenient"],
        ] {
            let ran = check(more, &body);
            ran.failed(1);
            assert_eq!(findings(&ran), one("O24", "fatal", event));
        }
    }
    let mut body = protobuf(&text());
    body.pop();
    let ran = check(&["--format", "json"], &body);
    ran.failed(1);
    assert_eq!(findings(&ran), one("framing", "fatal", 4));
    // Half an event at the end of a file.
    let mut body = sse(&text());
    body.truncate(body.len() - 10);
    let ran = check(&["--format", "json"], &body);
    ran.failed(1);
    let rules: Vec<_> = findings(&ran).into_iter().map(|(rule, ..)| rule).collect();
    assert_eq!(rules, ["json", "O24"]);
}

#[test]
fn what_is_no_event_is_fatal_and_what_is_only_unusual_is_said() {
    let with = |event: Value| {
        let mut events = text();
        events.insert(1, event);
        sse(&events)
    };
    for (event, rule) in [
        (json!({"type": "TEXT_MESSAGE_START"}), "malformed"),
        (
            json!({"type": "CUSTOM", "name": null, "value": 1}),
            "malformed",
        ),
        (
            json!({"type": "TEXT_MESSAGE_CHUNK", "delta": "whose?"}),
            "chunk",
        ),
        (json!("no object"), "json"),
    ] {
        let ran = check(&["--format", "json", "--lenient"], &with(event));
        ran.failed(1);
        assert_eq!(findings(&ran), one(rule, "fatal", 2));
    }
    for event in [
        json!({"type": "NEXT_YEARS_EVENT"}),
        json!({"type": "STEP_STARTED", "stepName": "s", "unknown": 1}),
        json!({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/nothing"}]}),
    ] {
        let mut body = with(event.clone());
        if event["type"] == "STEP_STARTED" {
            let end = json!({"type": "STEP_FINISHED", "stepName": "s"});
            let mut events = text();
            events.splice(1..1, [event, end]);
            body = sse(&events);
        }
        let ran = check(&["--format", "json"], &body).succeeded();
        assert_eq!(findings(&ran), one("unusual", "warned", 2));
    }
}

#[test]
fn the_rules_that_only_the_text_has_are_warned_of() {
    let mut events = text();
    events[4]["runId"] = "other".into();
    let ran = check(&["--format", "json"], &sse(&events)).succeeded();
    assert_eq!(findings(&ran), one("S1", "warned", 5));
}

#[test]
fn a_file_is_read_and_a_mistake_is_one_line() {
    let missing = run(&["agui", "check", "no-such-file"], b"");
    assert!(missing.failed(2).contains("no-such-file"));
    let wrong = run(&["agui", "check", "--format", "xml", "-"], b"");
    assert!(wrong.failed(2).contains("xml"));
    let file = File::with("events.jsonl", lines(&text()));
    let ran = run(&["agui", "check", file.as_str()], b"");
    assert!(ran.succeeded().out.starts_with("5 events in JSON lines"));
}

#[test]
fn what_is_allowed_and_a_mistake_all_the_same_is_a_hint() {
    let call = |arguments: &str| {
        let mut events = text();
        events.splice(
            1..1,
            [
                json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n"}),
                json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": arguments}),
                json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
                json!({"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": ""}),
            ],
        );
        events
    };
    for arguments in ["{}", "", " ", "null", "{\"a\": [1]}"] {
        let ran = check(&["--format", "json"], &sse(&call(arguments))).succeeded();
        assert_eq!(findings(&ran), [], "{arguments}");
    }
    let ran = check(&["--format", "json"], &protobuf(&call("{\"a\": "))).succeeded();
    assert_eq!(findings(&ran), one("hint", "warned", 4));

    let mut events = text();
    let unknown =
        json!({"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": ""});
    events.insert(1, unknown);
    let ran = check(&["--format", "json"], &lines(&events)).succeeded();
    assert_eq!(findings(&ran), one("hint", "warned", 2));

    let mut body = b"event: message\r\nid: 1\r\n\r\n: keep-alive\n\nretry: 1\n\n".to_vec();
    body.extend(sse(&text()[..4]));
    body.extend(b"{\"type\":\"STEP_STARTED\",\"stepName\":\"s\"}\n\n");
    body.extend(sse(&text()[4..]));
    let ran = check(&["--format", "json"], &body).succeeded();
    let hint = |event| one("hint", "warned", event);
    let outside = one("unusual", "warned", 5);
    assert_eq!(findings(&ran), [hint(1), outside, hint(5)].concat());
}

#[test]
fn what_is_no_stream_is_told_apart_from_a_broken_one() {
    let provider = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n";
    for (body, expected) in [
        (&b""[..], "it is empty"),
        (b" \r\n\n", "it is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is binary"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom", "it is binary"),
        (
            b"{\n  \"name\": \"page\",\n  \"type\": \"module\"\n}\n",
            "no `type` of an event",
        ),
        (b"[1, 2]", "no `type` of an event"),
        (b"# Notes\n\nNothing here.\n", "no server-sent events"),
        (provider, "stepwell decode"),
    ] {
        for more in [&[][..], &["--lenient"], &["--format", "json"]] {
            let ran = check(more, body);
            let line = ran.failed(2);
            let begin = "standard input is no AG-UI stream: ";
            assert!(line.starts_with(begin) && line.contains(expected), "{line}");
            assert_eq!(ran.out, "");
        }
    }
    // The author of a new encoder wants to see the errors in its events.
    for (body, encoding) in [
        (&b"\0\0\0\x02\xff\xff"[..], "protobuf"),
        (b"{\"kind\": 1}\n", "json-lines"),
    ] {
        let ran = check(&["--format", "json", "--encoding", encoding], body);
        ran.failed(1);
        assert!(!findings(&ran).is_empty());
    }
    let ran = check(
        &["--format", "json"],
        b"data: {\"type\": \"RUN_STARTED\"}\n\n",
    );
    ran.failed(1);
    assert_eq!(findings(&ran), one("malformed", "fatal", 1));
}
