//! What stands in the place of a text, character by character, and how far a body is understood.

use super::replays_alike;
use crate::journal::{parsed, written};
use crate::world::{Ending, Reply};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use stepwell_core::dialect::Dialect;
use stepwell_core::journal::{Journal, Step};
use stepwell_core::run::Input;

/// All bytes that streams brought.
pub(super) fn received(journal: &Journal) -> String {
    let bytes = journal.entries.iter().flat_map(|entry| match &entry.step {
        Step::Input(Input::Received { bytes, .. }) => bytes.to_vec(),
        _ => Vec::new(),
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned()
}

/// The redacted body of a stream, in a turn that goes on as with the original.
#[track_caller]
fn redacted(dialect: Dialect, body: &str) -> String {
    redacted_by(5, dialect, body)
}

#[track_caller]
fn redacted_by(seed: u64, dialect: Dialect, body: &str) -> String {
    let answer = Reply::Bytes(body.as_bytes().to_vec(), Ending::Complete);
    let mut world = crate::world::with(dialect, |config| config.retry.attempts = 1)
        .journaled()
        .reply(answer)
        .turn();
    let journal = parsed(&written(&mut world));
    assert_eq!(received(&journal), body);
    let redacted = journal.redact(seed).expect("it goes the same way");
    replays_alike(&journal, &redacted);
    let text = received(&redacted);
    assert_eq!(text.len(), body.len(), "{text}");
    text
}

/// A frame of a chat stream with these words, which are JSON already.
fn says(words: &str) -> String {
    format!(
        r#"data: {{"object":"chat.completion.chunk","model":"m-1","choices":[{{"index":0,"delta":{{"role":"assistant","content":"{words}"}},"finish_reason":null}}]}}"#
    ) + "\n\ndata: [DONE]\n\n"
}

#[test]
fn a_character_gives_way_to_one_of_its_kind_and_length_in_the_same_writing() {
    for (words, hidden) in [
        ("Aa1 é€🦓", "Xx0 ·•🔹"),
        ("azAZ09", "xxXX00"),
        (".,;-_ !?{}[]", ".,;-_ !?{}[]"),
        (
            r#"line\nline\ttab\"\\\/\b\f\r"#,
            r#"xxxx\nxxxx\txxx\"\\\/\b\f\r"#,
        ),
        (r"\u00e9\u20ac\ud83e\udd93.", r"\u00b7\u2022\ud83d\udd39."),
        (r"\u0041\u00E9b", r"\u0058\u00b7x"),
        (r"\ud83e\udd93\ud83e\udd93z", r"\ud83d\udd39\ud83d\udd39x"),
    ] {
        assert_eq!(redacted(Dialect::OpenAiChat, &says(words)), says(hidden));
    }
}

#[test]
fn what_breaks_off_or_is_no_json_is_hidden_to_its_end() {
    let deep = |depth: usize| format!("{}{{\"zebra\":1}}", "[".repeat(depth));
    let hidden = |depth: usize, key: &str| format!("{}{{\"{key}\":0}}", "[".repeat(depth));
    let (read, too_deep) = (deep(200), deep(201));
    let (read_hidden, too_deep_hidden) = (hidden(200, "zebra"), hidden(201, "xxxxx"));
    for (data, hidden) in [
        (r#"{"a": "zebra", oops "b"}"#, r#"{"a": "xxxxx", xxxx "x"}"#),
        (r#"{"a": "zebra" oops}"#, r#"{"a": "xxxxx" xxxx}"#),
        (r#"["zebra" "b", 7]"#, r#"["xxxxx" "x", 0]"#),
        (r#"["zebra", oops, 7]"#, r#"["xxxxx", xxxx, 0]"#),
        (r#"{"a" oops}"#, r#"{"a" xxxx}"#),
        (r#"{"a": oops}"#, r#"{"a": xxxx}"#),
        (r#"{"a": 12x}"#, r#"{"a": 00x}"#),
        (r#"{"a": - }"#, r#"{"a": - }"#),
        (r#"{"a": "zebra"} oops"#, r#"{"a": "xxxxx"} xxxx"#),
        ("12 oops", "12 xxxx"),
        ("oops 12", "xxxx 00"),
        (r#"{"a": "zebra"#, r#"{"a": "xxxxx"#),
        (r#"{"a": "zebra\"#, r#"{"a": "xxxxx\"#),
        (r#"{"a": "zebra\u00"#, r#"{"a": "xxxxx\u00"#),
        (r#"{"a": "\zb"}"#, r#"{"a": "\zx"}"#),
        (r#"{"a": "\ud83eb"}"#, r#"{"a": "\ud83ex"}"#),
        (r#"{"a": "\ud83e\u0041b"}"#, r#"{"a": "\ud83e\u0058x"}"#),
        (r#"{"a": "\ud83e\n1b"}"#, r#"{"a": "\ud83e\n0x"}"#),
        (&read, &read_hidden),
        (&too_deep, &too_deep_hidden),
    ] {
        for dialect in [Dialect::OpenAiChat, Dialect::AgUi] {
            let frame = |data: &str| format!("data: {data}\n\n");
            assert_eq!(redacted(dialect, &frame(data)), frame(hidden));
            // Without an end of its own.
            let frame = |data: &str| format!("data: {data}");
            assert_eq!(redacted(dialect, &frame(data)), frame(hidden));
        }
    }
}

#[test]
fn a_text_that_is_all_of_an_event_is_hidden_from_its_first_character_on() {
    let frame = redacted(Dialect::OpenAiChat, "data:\"🦓 zebra\"\n\n");
    assert_eq!(frame, "data:\"🔹 xxxxx\"\n\n");
}

#[test]
fn what_is_no_text_stays() {
    let data = r#"{ "a" : 12 , "b":-1.5e+3,"c":true,"d":null, "e":false,"f":[ ] ,"g":{ },"h":[1 ,[2], {"i":0}] } "#;
    let frame = format!("data: {data}\n\n");
    assert_eq!(redacted(Dialect::OpenAiChat, &frame), frame);
}

#[test]
fn of_the_framing_the_comments_and_what_is_unknown_is_hidden() {
    for end in ["\n", "\r", "\r\n"] {
        let lines = |lines: &[&str]| lines.join(end) + end;
        let body = lines(&[
            "\u{feff}: zebra 7",
            "event: message",
            "retry: 10",
            "zebra: quagga",
            "data",
            "",
            ":zebra",
            r#"data: {"a":"#,
            r#"data:"zebra"}"#,
            "",
        ]);
        let hidden = lines(&[
            "\u{feff}: xxxxx 0",
            "event: message",
            "retry: 10",
            "xxxxx: xxxxxx",
            "xxxx",
            "",
            ":xxxxx",
            r#"data: {"a":"#,
            r#"data:"xxxxx"}"#,
            "",
        ]);
        assert_eq!(redacted(Dialect::OpenAiChat, &body), hidden, "{end:?}");
    }
}

#[test]
fn the_ids_of_events_are_hidden_and_stay_apart() {
    let frame = |id: &str| format!("id: {id}\ndata: {{}}\n\n");
    let ids = ["zebra-1", "zebra-2", "quagga-12345", "zebra-1"];
    let body = ids.map(frame).concat();
    let redacted = redacted(Dialect::OpenAiChat, &body);
    let ids: Vec<_> = redacted
        .lines()
        .filter_map(|line| line.strip_prefix("id: "))
        .collect();
    let (zebra, _) = ids[0].split_once('-').expect("the sign stays");
    assert_ne!(zebra, "zebra");
    assert!(zebra.bytes().all(|byte| byte.is_ascii_lowercase()));
    assert_eq!(ids[0], format!("{zebra}-1"), "a small number stays");
    assert_eq!(ids[1], format!("{zebra}-2"));
    assert_eq!(ids[3], ids[0]);
    let (quagga, number) = ids[2].split_once('-').expect("the sign stays");
    assert!(quagga.len() == 6 && quagga != "quagga");
    assert!(
        number.len() == 5 && number != "12345",
        "a long one may tell"
    );
    assert!(number.bytes().all(|byte| byte.is_ascii_digit()));
}

#[test]
fn an_id_that_is_no_text_is_hidden_like_any_bytes() {
    let mut body = b"id: zebra\xff7\ndata: {}\n\n".to_vec();
    let answer = Reply::Bytes(body.clone(), Ending::Complete);
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| config.retry.attempts = 1)
        .journaled()
        .reply(answer)
        .turn();
    let journal = parsed(&written(&mut world));
    let redacted = journal.redact(5).expect("it goes the same way");
    body.splice(4..11, *b"xxxxx?0");
    assert_eq!(received(&redacted), String::from_utf8_lossy(&body));
}

/// The JSON of each frame of a redacted AG-UI stream.
fn redacted_events(events: &[Value]) -> Vec<Value> {
    redacted_events_by(5, events)
}

fn redacted_events_by(seed: u64, events: &[Value]) -> Vec<Value> {
    let begin = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
    let frames = [&begin].into_iter().chain(events);
    let frames = frames.map(|event| format!("data: {event}\n\n"));
    let text = redacted_by(seed, Dialect::AgUi, &frames.collect::<String>());
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.skip(1)
        .map(|data| serde_json::from_str(data).expect("JSON as before"))
        .collect()
}

/// An event that the agent passes on as it got it.
fn raw(event: &Value) -> Value {
    json!({"type": "RAW", "event": event})
}

#[test]
fn words_of_the_protocol_stay_and_other_words_in_their_place_do_not() {
    let word = |key: &str, word: &str| raw(&json!({ key: word }));
    for (key, word_of_it) in [
        ("role", "assistant"),
        ("type", "STATE_DELTA"),
        ("finish_reason", "tool_calls"),
        ("finishReason", "STOP"),
        ("stop_reason", "end_turn"),
        ("done_reason", "stop"),
        ("status", "completed"),
        ("status", "executing"),
        ("blockReason", "SAFETY"),
        ("reason", "max_output_tokens"),
        ("object", "response"),
        ("op", "replace"),
        ("subtype", "error"),
        ("kind", "timeout"),
        ("kind", "panicked"),
        ("decision", "granted"),
        ("entityType", "tool-call"),
        ("outcome", "interrupt"),
        ("activityType", "ping"),
        ("dialect", "anthropic"),
    ] {
        let kept = word(key, word_of_it);
        let other = word(key, "zebra");
        let seen = redacted_events(&[kept.clone(), other]);
        assert_eq!(seen[0], kept, "{key}");
        assert_eq!(seen[1], word(key, "xxxxx"), "{key}");
    }
    // Under another key it may be what somebody said.
    let said = redacted_events(&[word("content", "stop")]);
    assert_eq!(said, [word("content", "xxxx")]);
}

#[test]
fn a_media_type_keeps_what_all_have_in_common_wherever_it_stands() {
    for key in ["mimeType", "mime_type", "content_type"] {
        let of = |media_type: &str| raw(&json!({ key: media_type }));
        let seen = redacted_events(&[of("image/png"), of("zebra/quagga")]);
        assert_eq!(seen, [of("image/png"), of("xxxxx/xxxxxx")]);
    }
}

#[test]
fn arguments_in_a_text_are_hidden_as_the_json_that_they_are() {
    let arguments = json!({"zebra": "Quagga", "days": 2}).to_string();
    let seen = redacted_events(&[
        raw(&json!({ "arguments": arguments })),
        raw(&json!({"value": {"zebra": "Quagga"}})),
    ]);
    let arguments = seen[0]["event"]["arguments"].as_str().expect("a text");
    let arguments: Value = serde_json::from_str(arguments).expect("JSON as before");
    let own = seen[1]["event"]["value"].as_object().expect("an object");
    let (zebra, quagga) = own.iter().next().expect("one");
    assert_eq!(arguments[zebra], *quagga);
    let numbers = arguments.as_object().expect("an object").values();
    assert_eq!(numbers.filter(|value| **value == json!(2)).count(), 1);
}

#[test]
fn of_what_tools_gave_back_different_texts_stay_different() {
    for key in ["Ok", "result"] {
        let given = ["Quagga", "Wombat", "Quagga"].map(|text| raw(&json!({ key: text })));
        let seen = redacted_events(&given);
        assert_eq!(seen[0], seen[2], "{key}");
        assert_ne!(seen[0], seen[1], "{key}");
        assert_ne!(seen[0], given[0], "{key}");
    }
}

#[test]
fn an_id_is_the_same_stand_in_wherever_it_stands() {
    let keys = [
        "id",
        "call_id",
        "item_id",
        "tool_use_id",
        "responseId",
        "response_id",
        "message_id",
        "messageId",
        "tool_call_id",
        "toolCallId",
        "run_id",
        "runId",
        "thread_id",
        "threadId",
        "parent_run_id",
        "parentRunId",
        "parentMessageId",
        "interrupt_id",
        "interruptId",
        "subagentRunId",
        "subagent_run_id",
        "entityId",
    ];
    let events = keys.map(|key| raw(&json!({key: "zebra_9"})));
    let seen = redacted_events(&events);
    let first = seen[0]["event"]["id"].as_str().expect("a text");
    assert!(first.ends_with("_9") && first.len() == 7 && !first.starts_with("zebra"));
    for (key, event) in keys.iter().zip(&seen) {
        assert_eq!(event["event"][key], first, "{key}");
    }
}

#[test]
fn the_agents_own_data_keeps_its_shape_with_equal_keys_and_texts_equal() {
    for own in [
        "snapshot",
        "state",
        "value",
        "metadata",
        "payload",
        "rawEvent",
        "raw_event",
        "forwardedProps",
        "context",
        "extra",
        "responseSchema",
        "parameters",
    ] {
        let data = json!({"zebra": ["Quagga", 1.5, null, {"zebra": "Quagga"}], "role": "zebra"});
        let seen = redacted_events(&[raw(&json!({ own: data }))]);
        let data = seen[0]["event"][own].as_object().expect("an object");
        let mut fields = data.iter();
        let (zebra, list) = fields.next().expect("the first");
        assert!(zebra.len() == 5 && zebra != "zebra", "{own}: {zebra}");
        let quagga = list[0].as_str().expect("a text");
        assert!(quagga.len() == 6 && quagga != "Quagga", "{own}: {quagga}");
        assert_eq!(*list, json!([quagga, 1.5, null, {zebra: quagga}]));
        let (role, value) = fields.next().expect("the second");
        assert!(role.len() == 4 && role != "role", "no word of the protocol");
        assert!(value != "zebra" && value != "xxxxx", "{own}: {value}");
    }
}

#[test]
fn a_pointer_keeps_its_indices_and_its_keys_are_those_of_the_state() {
    let state = json!({"zebra": [{"a/b~c": 1, "x": 2}], "12": 0});
    let delta = json!([
        {"op": "replace", "path": "/zebra/0/a~1b~0c", "value": 2},
        {"op": "add", "path": "/zebra/-", "value": 3},
        {"op": "move", "from": "/zebra/0/x", "path": "/quagga"},
        {"op": "remove", "path": "/12"},
    ]);
    let seen = redacted_events(&[
        json!({"type": "STATE_SNAPSHOT", "snapshot": state}),
        json!({"type": "STATE_DELTA", "delta": delta}),
    ]);
    let state = seen[0]["snapshot"].as_object().expect("an object");
    let zebra = state.keys().next().expect("a key");
    let inner: Vec<_> = state[zebra][0].as_object().expect("one").keys().collect();
    let escaped = inner[0].replace('~', "~0").replace('/', "~1");
    assert_ne!(escaped, "a~1b~0c");
    let path = |at: usize, key: &str| seen[1]["delta"][at][key].as_str().map(str::to_owned);
    assert_eq!(path(0, "path"), Some(format!("/{zebra}/0/{escaped}")));
    assert_eq!(path(1, "path"), Some(format!("/{zebra}/-")));
    assert_eq!(path(2, "from"), Some(format!("/{zebra}/0/{}", inner[1])));
    assert_eq!(path(3, "path"), Some("/12".to_owned()));
    assert_ne!(path(2, "path"), Some("/quagga".to_owned()));
}

#[test]
fn a_pointer_with_an_escape_that_is_none_is_hidden_in_its_own_length() {
    let pointer = "/zebra~2é/quagga";
    let seen = redacted_events(&[raw(&json!({ "path": pointer }))]);
    let path = seen[0]["event"]["path"].as_str().expect("a text");
    assert_eq!(path.len(), pointer.len(), "{path}");
    assert!(path.starts_with('/') && !path.contains("zebra"), "{path}");
    assert!(!path.contains('é') && !path.contains("quagga"), "{path}");
}

/// All 20 are found though there are but 26.
#[test]
fn short_texts_that_differ_have_stand_ins_that_differ() {
    let letters: Vec<_> = ('a'..='t').map(String::from).collect();
    let ids: Vec<_> = letters.iter().map(|id| raw(&json!({ "id": id }))).collect();
    let seen = redacted_events_by(u64::MAX, &ids);
    let stand_ins: BTreeSet<_> = seen
        .iter()
        .map(|event| event["event"]["id"].as_str())
        .collect();
    assert_eq!(stand_ins.len(), letters.len(), "{stand_ins:?}");
}

/// By an independent writing of SplitMix64: what two versions make of a journal with one seed can be compared.
#[test]
fn a_seed_gives_the_same_stand_ins_in_every_version() {
    let zebra = "Zebra77";
    let seen = redacted_events(&[
        raw(&json!({ "id": zebra })),
        raw(&json!({"state": {zebra: zebra}})),
        raw(&json!({ "toolCallName": zebra })),
    ]);
    let expected = [
        raw(&json!({"id": "Pmzqh86"})),
        raw(&json!({"state": {"Halro27": "Leomu45"}})),
        raw(&json!({"toolCallName": "Hmvtp21"})),
    ];
    assert_eq!(seen, expected);
}
