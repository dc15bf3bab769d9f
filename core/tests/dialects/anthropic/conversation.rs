//! From the stream to the conversation and back into the next request: the answer goes back as it came.

use super::support::{body, call, ids, input, start, stop, text, thinking, whole};
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::dialect::{Dialect, GenerationSettings, ModelRequest};
use stepwell_core::event::Message;
use stepwell_core::pipeline::{Pipeline, StreamEnd};
use stepwell_core::transcript::{ToolCallStatus, Transcript};
use stepwell_core::{Timestamp, provider};

/// A block as the model may send it.
#[derive(Clone, Debug)]
enum Said {
    Text(Vec<String>, Vec<Value>),
    Thinking(Vec<String>, String),
    Redacted(String),
    Call(String, Vec<String>, bool),
    Search(String, Value),
}

impl Said {
    /// The block on the wire, with its index, and in the next request. `n` tells one block from the others.
    fn write(&self, n: u64, wire: &mut Vec<Value>, request: &mut Vec<Value>) {
        let index = wire.len() as u64;
        match self {
            Self::Text(pieces, citations) => {
                let pieces = pieces
                    .iter()
                    .map(|piece| json!({"type": "text_delta", "text": piece}));
                let cited = citations
                    .iter()
                    .map(|citation| json!({"type": "citations_delta", "citation": citation}));
                let deltas = cited.chain(pieces).collect();
                wire.extend(whole(index, json!({"type": "text", "text": ""}), deltas));
                let text = self.text();
                let before = request.last_mut().filter(|before| {
                    before["type"] == "text"
                        && before["citations"].is_null()
                        && citations.is_empty()
                });
                match before {
                    // Plain text blocks side by side are one.
                    Some(before) => {
                        before["text"] =
                            format!("{}{text}", before["text"].as_str().unwrap_or_default()).into();
                    }
                    None => {
                        let mut block = json!({"type": "text", "text": text});
                        if !citations.is_empty() {
                            block["citations"] = json!(citations);
                        }
                        request.push(block);
                    }
                }
            }
            Self::Thinking(pieces, signature) => {
                let pieces: Vec<_> = pieces.iter().map(String::as_str).collect();
                wire.extend(thinking(index, &pieces, signature));
                request.push(json!({"type": "thinking", "thinking": pieces.concat(), "signature": signature}));
            }
            Self::Redacted(data) => {
                let block = json!({"type": "redacted_thinking", "data": data});
                wire.extend(whole(index, block.clone(), vec![]));
                request.push(block);
            }
            Self::Call(name, cuts, by_code) => {
                let arguments = json!({"key": cuts, "n": 1.5}).to_string();
                let half = arguments.len() / 2;
                let pieces = match arguments.split_at_checked(half) {
                    Some((first, second)) => vec!["", first, second],
                    None => vec![arguments.as_str()],
                };
                let id = format!("call_{n}");
                let mut block = json!({"type": "tool_use", "id": id, "name": name, "input": {"key": cuts, "n": 1.5}});
                if *by_code {
                    let caller = json!({"type": "code_execution_1", "tool_id": "s"});
                    block["caller"] = caller.clone();
                    let open = json!({"type": "tool_use", "id": id, "name": name, "input": {}, "caller": caller});
                    wire.extend(whole(index, open, input(&pieces)));
                } else {
                    wire.extend(call(index, &id, name, &pieces));
                }
                request.push(block);
            }
            Self::Search(query, result) => {
                let id = format!("search_{n}");
                let open =
                    json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {}});
                let query = json!({ "query": query });
                wire.extend(whole(index, open.clone(), input(&[&query.to_string()])));
                let mut asked = open;
                asked["input"] = query;
                let found =
                    json!({"type": "web_search_tool_result", "tool_use_id": id, "content": result});
                wire.extend(whole(index + 1, found.clone(), vec![]));
                request.extend([asked, found]);
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Text(pieces, _) => pieces.concat(),
            _ => String::new(),
        }
    }
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zé \n\"\\\\]{0,6}[a-z.🦀]",
        Just("so ".to_owned()),
        any::<String>().prop_map(|text| format!("{text}."))
    ]
}

fn said() -> impl Strategy<Value = Said> {
    let pieces = || prop::collection::vec(words(), 1..4);
    prop_oneof![
        3 => pieces().prop_map(|pieces| Said::Text(pieces, vec![])),
        1 => (pieces(), words()).prop_map(|(pieces, cited)| Said::Text(
            pieces,
            vec![json!({"type": "web_search_result_location", "cited_text": cited, "encrypted_index": "e"})]
        )),
        2 => (prop::collection::vec(words(), 0..3), "[a-zA-Z0-9+/]{1,9}")
            .prop_map(|(pieces, signature)| Said::Thinking(pieces, signature)),
        1 => "[a-z]{1,5}".prop_map(Said::Redacted),
        2 => ("[a-z]{1,5}", pieces(), prop::bool::weighted(0.2))
            .prop_map(|(name, cuts, by_code)| Said::Call(name, cuts, by_code)),
        2 => (words(), words()).prop_map(|(query, title)| Said::Search(query, json!([{"title": title, "page_age": null}]))),
    ]
}

/// Decodes an answer, in chunks of `size`.
fn decode(wire: &[Value], size: usize) -> Transcript {
    let mut transcript = Transcript::new(vec![Message::user("u-1", "Hi")]);
    let mut pipeline = Pipeline::new(Dialect::Anthropic, ids(), Default::default());
    for chunk in body(wire).as_bytes().chunks(size) {
        pipeline
            .receive(chunk, &mut transcript, &mut ())
            .expect("a stream that decodes");
    }
    let end = pipeline.end(&mut transcript, &mut ());
    assert_eq!(end, Ok(StreamEnd::Finished));
    transcript
}

/// The next request, in which the user says something more.
fn next(provider: &str, transcript: &Transcript, settings: &GenerationSettings, now: u64) -> Value {
    let mut endpoint = provider::find("anthropic")
        .expect("a known provider")
        .endpoint(None, "claude-sonnet-4-5", None, Some("k".into()))
        .expect("complete");
    endpoint.provider = provider.to_owned();
    let mut messages = transcript.messages().to_vec();
    messages.push(Message::user("u-2", "More"));
    let request = Dialect::Anthropic.encoder().encode(&ModelRequest {
        endpoint: &endpoint,
        ids: &ids(),
        parent_run_id: None,
        instructions: None,
        messages: &messages.iter().collect::<Vec<_>>(),
        tools: &[],
        state: &Value::Null,
        settings,
        resume: &[],
        compact_above: None,
        now: Timestamp(now),
    });
    serde_json::from_slice(&request.body).expect("JSON")
}

/// Its turns.
fn turns(provider: &str, transcript: &Transcript) -> Value {
    next(provider, transcript, &GenerationSettings::default(), 0)["messages"].take()
}

proptest! {
    #[test]
    fn an_answer_goes_back_as_it_came(all in prop::collection::vec(said(), 1..9), size in 1..200_usize) {
        let mut wire = vec![start()];
        let mut request = Vec::new();
        let mut text = String::new();
        for (said, n) in all.iter().zip(0..) {
            said.write(n, &mut wire, &mut request);
            text.push_str(&said.text());
        }
        wire.extend([stop("end_turn"), json!({"type": "message_stop"})]);
        let transcript = decode(&wire, size);
        prop_assert_eq!(transcript.text(), text);
        let turns = turns("anthropic", &transcript);
        prop_assert_eq!(&turns[1], &json!({"role": "assistant", "content": request}));
        prop_assert_eq!(turns.as_array().map(Vec::len), Some(3));
    }
}

#[test]
fn another_provider_gets_the_words_alone() {
    let wire = [
        vec![start()],
        thinking(0, &["Hm"], "s"),
        text(1, &["So "]),
        whole(
            2,
            json!({"type": "server_tool_use", "id": "s", "name": "n", "input": {"a": 1}}),
            vec![],
        ),
        whole(
            3,
            json!({"type": "n_tool_result", "tool_use_id": "s", "content": []}),
            vec![],
        ),
        text(4, &["it is."]),
        vec![stop("end_turn"), json!({"type": "message_stop"})],
    ]
    .concat();
    let transcript = decode(&wire, usize::MAX);
    let turn = &turns("other", &transcript)[1];
    assert_eq!(
        turn["content"],
        json!([{"type": "text", "text": "So "}, {"type": "text", "text": "it is."}])
    );
}

#[test]
fn what_the_provider_did_to_the_conversation_goes_back_to_it_alone() {
    let compaction = json!({"type": "compaction", "content": "c", "encrypted_content": "e"});
    let wire = [
        vec![start()],
        whole(
            0,
            json!({"type": "compaction", "content": null}),
            vec![json!({"type": "compaction_delta", "content": "c", "encrypted_content": "e"})],
        ),
        text(1, &["Hi"]),
        vec![stop("end_turn"), json!({"type": "message_stop"})],
    ]
    .concat();
    let transcript = decode(&wire, usize::MAX);
    let said = json!({"type": "text", "text": "Hi"});
    assert_eq!(
        turns("anthropic", &transcript)[1]["content"],
        json!([compaction, said])
    );
    assert_eq!(turns("other", &transcript)[1]["content"], json!([said]));
}

#[test]
fn a_result_that_nothing_asked_for_does_not_go_back() {
    let wire = [
        vec![start()],
        text(0, &["So"]),
        whole(
            1,
            json!({"type": "n_tool_result", "tool_use_id": "s", "content": []}),
            vec![],
        ),
        vec![stop("end_turn"), json!({"type": "message_stop"})],
    ]
    .concat();
    let transcript = decode(&wire, usize::MAX);
    assert_eq!(
        turns("anthropic", &transcript)[1]["content"],
        json!([{"type": "text", "text": "So"}])
    );
}

#[test]
fn a_turn_of_the_providers_own_tools_that_paused_goes_back_whole() {
    let asked = json!({"type": "server_tool_use", "id": "s", "name": "n", "input": {}});
    let wire = [
        vec![start()],
        text(0, &["Wait"]),
        whole(1, asked.clone(), vec![]),
        vec![stop("pause_turn"), json!({"type": "message_stop"})],
    ]
    .concat();
    let transcript = decode(&wire, usize::MAX);
    let mut endpoint = provider::find("anthropic")
        .expect("a known provider")
        .endpoint(None, "m", None, Some("k".into()))
        .expect("complete");
    endpoint.provider = "anthropic".to_owned();
    let request = Dialect::Anthropic.encoder().encode(&ModelRequest {
        endpoint: &endpoint,
        ids: &ids(),
        parent_run_id: None,
        instructions: None,
        messages: &transcript.messages().iter().collect::<Vec<_>>(),
        tools: &[],
        state: &Value::Null,
        settings: &GenerationSettings::default(),
        resume: &[],
        compact_above: None,
        now: Timestamp(0),
    });
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    assert_eq!(
        body["messages"][1]["content"],
        json!([{"type": "text", "text": "Wait"}, asked])
    );
    // Once the user has gone on, what was never answered is left out.
    assert_eq!(
        turns("anthropic", &transcript)[1]["content"],
        json!([{"type": "text", "text": "Wait"}])
    );
}

/// An answer that ran in a container until the second of the epoch.
fn in_container(blocks: Vec<Value>) -> Transcript {
    let mut end = stop("end_turn");
    end["delta"]["container"] =
        json!({"id": "container_1", "expires_at": "1970-01-01T00:00:01Z", "skills": null});
    let wire = [
        vec![start()],
        blocks,
        vec![end, json!({"type": "message_stop"})],
    ];
    decode(&wire.concat(), usize::MAX)
}

#[test]
fn the_container_is_named_until_it_is_gone_and_to_whose_it_is_alone() {
    let search = |id: &str| {
        [
            whole(
                0,
                json!({"type": "server_tool_use", "id": id, "name": "n", "input": {}}),
                vec![],
            ),
            whole(
                1,
                json!({"type": "n_tool_result", "tool_use_id": id, "content": []}),
                vec![],
            ),
        ]
        .concat()
    };
    let plain = GenerationSettings::default();
    for blocks in [
        vec![],
        text(0, &["Done"]),
        [search("s"), text(2, &["Done"])].concat(),
        [search("s"), call(2, "c", "f", &["{}"])].concat(),
        [text(0, &["Go"]), call(1, "c", "f", &["{}"])].concat(),
        [call(0, "c", "f", &["{}"]), thinking(1, &["Hm"], "s")].concat(),
    ] {
        let transcript = in_container(blocks.clone());
        let request = next("anthropic", &transcript, &plain, 999);
        assert_eq!(request["container"], "container_1", "{blocks:?}");
        // All else is as without.
        let mut wire = vec![start()];
        wire.extend(blocks);
        wire.extend([stop("end_turn"), json!({"type": "message_stop"})]);
        let without = decode(&wire, usize::MAX);
        assert_eq!(request["messages"], turns("anthropic", &without));
        for (provider, now) in [("anthropic", 1000), ("other", 999)] {
            let request = next(provider, &transcript, &plain, now);
            assert_eq!(request.get("container"), None);
        }
    }
}

#[test]
fn the_apps_own_container_wins_and_is_told_which_it_was() {
    let transcript = in_container(text(0, &["Done"]));
    let asked = |container: Value| {
        let settings = GenerationSettings {
            extra: [("container".to_owned(), container)].into_iter().collect(),
            ..GenerationSettings::default()
        };
        next("anthropic", &transcript, &settings, 0)["container"].take()
    };
    let skills = json!([{"type": "anthropic", "skill_id": "xlsx"}]);
    assert_eq!(
        asked(json!({"skills": skills})),
        json!({"id": "container_1", "skills": skills})
    );
    for own in [
        json!("container_2"),
        json!({"id": "container_2", "skills": skills}),
        Value::Null,
    ] {
        assert_eq!(asked(own.clone()), own);
    }
}

#[test]
fn of_a_model_that_declined_goes_back_what_the_provider_wants() {
    let fallback = json!({
        "type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "trigger": {"type": "refusal"},
    });
    let used =
        |id: &str| json!({"type": "server_tool_use", "id": id, "name": "n", "input": {"q": 1}});
    let found = |id: &str| json!({"type": "n_tool_result", "tool_use_id": id, "content": []});
    let wire = [
        vec![start()],
        thinking(0, &["Hm"], "s1"),
        text(1, &["So "]),
        whole(2, used("paired"), vec![]),
        whole(3, found("paired"), vec![]),
        call(4, "cut", "f", &["{\"half"]),
        whole(5, used("alone"), vec![]),
        whole(6, fallback.clone(), vec![]),
        thinking(7, &["Well"], "s2"),
        text(8, &["it is."]),
        call(9, "c", "f", &["{}"]),
    ]
    .concat();
    let mut wire = wire;
    wire.extend([stop("tool_use"), json!({"type": "message_stop"})]);
    for size in [1, 7, usize::MAX] {
        let transcript = decode(&wire, size);
        let open = transcript.calls().iter();
        let open: Vec<_> = open
            .filter(|call| call.status == ToolCallStatus::Pending)
            .map(|call| call.id.as_str())
            .collect();
        assert_eq!(
            open,
            ["c"],
            "the call of the model that declined is not run"
        );
        let turns = turns("anthropic", &transcript);
        assert_eq!(
            turns[1],
            json!({"role": "assistant", "content": [
                {"type": "text", "text": "So "}, used("paired"), found("paired"), fallback,
                {"type": "thinking", "thinking": "Well", "signature": "s2"},
                {"type": "text", "text": "it is."},
                {"type": "tool_use", "id": "c", "name": "f", "input": {}},
            ]})
        );
        assert_eq!(turns[2]["role"], "user");
        assert!(!turns.to_string().contains("cut"));
    }
}
