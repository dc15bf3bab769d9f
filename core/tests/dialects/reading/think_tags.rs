//! Thinking within the text of an answer, for servers that are known to send it so.

use crate::decoding::{Stream, body, short};
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::dialect::{Dialect, HopIds, ThinkTags};
use stepwell_core::event::Message;
use stepwell_core::pipeline::{Pipeline, StreamEnd};
use stepwell_core::transcript::Transcript;
use stepwell_core::wire::FrameLimits;

const DIALECTS: [Dialect; 3] = [Dialect::OpenAiChat, Dialect::Mistral, Dialect::Ollama];

fn text(dialect: Dialect, text: &str) -> Value {
    match dialect {
        Dialect::Ollama => {
            json!({"message": {"role": "assistant", "content": text}, "done": false})
        }
        _ => json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}),
    }
}

fn reasoning(dialect: Dialect, text: &str) -> Value {
    match dialect {
        Dialect::Ollama => {
            json!({"message": {"role": "assistant", "thinking": text}, "done": false})
        }
        _ => json!({"choices": [{"index": 0, "delta": {"reasoning_content": text}}]}),
    }
}

fn call(dialect: Dialect) -> Value {
    let arguments = match dialect {
        Dialect::Ollama => json!({}),
        _ => json!("{}"),
    };
    let calls =
        json!([{"index": 0, "id": "call_1", "function": {"name": "look", "arguments": arguments}}]);
    match dialect {
        Dialect::Ollama => {
            json!({"message": {"role": "assistant", "tool_calls": calls}, "done": false})
        }
        _ => json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}),
    }
}

fn finish(dialect: Dialect) -> Value {
    match dialect {
        Dialect::Ollama => json!({"message": {"content": ""}, "done": true, "done_reason": "stop"}),
        _ => json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    }
}

/// The events of an answer without those of the run, in short.
fn outline(dialect: Dialect, tags: ThinkTags, frames: &[Value]) -> Vec<String> {
    for snapshots in [false, true] {
        let mut stream = Stream::new(dialect);
        stream.decoder = stream.decoder.with_think_tags(tags);
        stream.snapshots = snapshots;
        let (recorder, result) = stream.run(body(dialect, frames).as_bytes(), usize::MAX);
        assert_eq!(result, Ok(()));
        let events = recorder.events.iter().map(short);
        let own = |event: &String| !matches!(&**event, "start" | "finish" | "finish stop");
        let events: Vec<_> = events.filter(own).collect();
        if snapshots {
            return events;
        }
    }
    unreachable!("the loop returns")
}

/// The reasoning and the text of a body, as a conversation has them, and the number of their messages.
fn blocks(dialect: Dialect, tags: ThinkTags, body: &[u8]) -> (String, String, usize) {
    let ids = HopIds {
        run_id: "r".into(),
        ..HopIds::default()
    };
    let mut endpoint = endpoint(dialect);
    endpoint.quirks.think_tags = tags;
    let mut pipeline = Pipeline::for_answer(&endpoint, "", ids, FrameLimits::default());
    let mut transcript = Transcript::default();
    pipeline
        .receive(body, &mut transcript, &mut ())
        .expect("a stream");
    let end = pipeline.end(&mut transcript, &mut ()).expect("an end");
    assert_eq!(end, StreamEnd::Finished);
    let (mut thinking, mut text, mut count) = (String::new(), String::new(), 0);
    for message in transcript.messages() {
        count += 1;
        match message {
            Message::Reasoning(message) => thinking.push_str(&message.content),
            Message::Assistant(message) => text.push_str(message.content.as_deref().unwrap_or("")),
            other => panic!("{other:?}"),
        }
    }
    (thinking, text, count)
}

fn endpoint(dialect: Dialect) -> stepwell_core::dialect::Endpoint {
    let name = match dialect {
        Dialect::Ollama => "ollama",
        Dialect::Mistral => "mistral",
        _ => "fireworks",
    };
    let provider = stepwell_core::provider::find(name).expect("a provider");
    let endpoint = provider.endpoint_for_host(None, "m", None, None);
    endpoint.expect("an endpoint")
}

#[test]
fn tags_become_reasoning_wherever_they_are_cut() {
    for dialect in DIALECTS {
        let deltas = [
            "<th",
            "ink>\nOkay",
            ", so <",
            "/b> it is",
            "\n</thi",
            "nk>\n",
            "\nHel",
            "lo </think>",
        ];
        let mut frames: Vec<_> = deltas.map(|delta| text(dialect, delta)).into();
        frames.push(finish(dialect));
        assert_eq!(
            outline(dialect, ThinkTags::AtStart, &frames),
            [
                "span r-reasoning-0",
                "reasoning start r-reasoning-0",
                "reasoning r-reasoning-0: Okay",
                "reasoning r-reasoning-0: , so ",
                "reasoning r-reasoning-0: <",
                "reasoning r-reasoning-0: /b> it is",
                "reasoning r-reasoning-0: \n",
                "reasoning end r-reasoning-0",
                "span end r-reasoning-0",
                "text start r-message-0",
                "text r-message-0: Hel",
                "text r-message-0: lo </think>",
                "text end r-message-0",
            ],
            "{dialect:?}"
        );
    }
}

#[test]
fn white_space_before_a_call_is_no_message() {
    for dialect in DIALECTS {
        let frames = [
            text(dialect, "<think>hm</think>\n\n"),
            call(dialect),
            text(dialect, "<think>"),
            finish(dialect),
        ];
        let events = outline(dialect, ThinkTags::AtStart, &frames);
        let before: Vec<_> = events
            .iter()
            .take_while(|event| !event.starts_with("call"))
            .collect();
        assert!(
            !before.iter().any(|event| event.starts_with("text")),
            "{dialect:?}: {events:?}"
        );
        // After a call there is nothing but text.
        assert!(
            events.iter().any(|event| event.ends_with(": <think>")),
            "{dialect:?}: {events:?}"
        );
    }
}

#[test]
fn thinking_that_no_tag_ends_is_all_reasoning() {
    for dialect in DIALECTS {
        for frames in [
            vec![
                text(dialect, "<think>hm"),
                text(dialect, "</thi"),
                finish(dialect),
            ],
            vec![text(dialect, "<think>hm"), text(dialect, "</thi")],
            vec![
                text(dialect, "<think>hm"),
                text(dialect, "</thi"),
                json!({"error": {"message": "busy"}}),
            ],
        ] {
            let events = outline(dialect, ThinkTags::AtStart, &frames);
            assert_eq!(
                events[2..4],
                [
                    "reasoning r-reasoning-0: hm",
                    "reasoning r-reasoning-0: </thi"
                ],
                "{dialect:?}"
            );
            assert!(
                !events.iter().any(|event| event.starts_with("text")),
                "{events:?}"
            );
        }
    }
}

#[test]
fn tags_are_text_after_a_field_of_reasoning() {
    for dialect in DIALECTS {
        let frames = [
            text(dialect, "<"),
            reasoning(dialect, "hm"),
            text(dialect, "<think>"),
            finish(dialect),
        ];
        let events = outline(dialect, ThinkTags::AtStart, &frames);
        let says = |what: &str| events.iter().any(|event| event.ends_with(what));
        assert!(
            says("message-0: <") && says("reasoning-0: hm") && says(": <think>"),
            "{events:?}"
        );
    }
}

#[test]
fn an_answer_may_begin_within_the_thinking() {
    for dialect in DIALECTS {
        let frames = [text(dialect, "Okay.\n</think>\n\nHello"), finish(dialect)];
        let (thinking, said, _) = blocks(
            dialect,
            ThinkTags::EndOnly,
            body(dialect, &frames).as_bytes(),
        );
        assert_eq!((&*thinking, &*said), ("Okay.\n", "Hello"));
    }
}

#[test]
fn a_held_tag_is_not_said_twice_by_a_complete_message() {
    let message = json!({"choices": [{"index": 0, "message": {"content": "<thought"}, "finish_reason": "stop"}]});
    let frames = [text(Dialect::OpenAiChat, "<th"), message];
    let (_, said, _) = blocks(
        Dialect::OpenAiChat,
        ThinkTags::AtStart,
        body(Dialect::OpenAiChat, &frames).as_bytes(),
    );
    assert_eq!(said, "<th");
}

#[test]
fn recorded_answers_of_fireworks_are_split() {
    let Some(fixtures) = crate::recorded::fixtures() else {
        return;
    };
    for name in [
        "thunderbolt-qwen3-think-tags",
        "thunderbolt-qwen3-think-after-tool-result",
    ] {
        let body = std::fs::read(fixtures.join(format!("streams/fireworks/{name}.sse")))
            .expect("a recorded stream");
        let provider = stepwell_core::provider::find("fireworks").expect("a provider");
        let tags = provider.apis[0].quirks.think_tags;
        let (thinking, said, count) = blocks(Dialect::OpenAiChat, tags, &body);
        assert!(
            thinking.starts_with("Okay, the user") && !thinking.contains("think>"),
            "{thinking}"
        );
        assert!(
            !said.is_empty() && !said.contains("think>") && !said.starts_with('\n'),
            "{said}"
        );
        assert_eq!(count, 2);
        let (_, all, _) = blocks(Dialect::OpenAiChat, ThinkTags::Never, &body);
        assert!(all.starts_with("<think>\nOkay"), "{all}");
    }
}

#[test]
fn events_are_the_same_with_and_without_the_quirk_where_there_is_no_tag() {
    for dialect in DIALECTS {
        let frames = [
            text(dialect, "Hel"),
            text(dialect, "lo <think>"),
            finish(dialect),
        ];
        let plain = outline(dialect, ThinkTags::Never, &frames);
        assert_eq!(outline(dialect, ThinkTags::AtStart, &frames), plain);
        let events = outline(
            dialect,
            ThinkTags::Never,
            &[text(dialect, "<think>"), finish(dialect)],
        );
        assert!(
            events.contains(&"text r-message-0: <think>".to_owned()),
            "{events:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_cut_of_the_text_gives_the_same_blocks(
        words in prop::collection::vec(
            prop::sample::select(vec!["<think>", "</think>", "<", "</thi", "\n", " ", "a", "é\""]),
            1..10,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        end_only in any::<bool>(),
        at in 0..DIALECTS.len(),
    ) {
        let (dialect, answer) = (DIALECTS[at], words.concat());
        let tags = if end_only { ThinkTags::EndOnly } else { ThinkTags::AtStart };
        let places: Vec<_> = answer.char_indices().map(|(at, _)| at).collect();
        let cuts = cuts.iter().map(|cut| *cut.get(&places));
        let mut cuts: Vec<_> = cuts.chain([0, answer.len()]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let frames = |cuts: &[usize]| {
            let deltas = cuts.windows(2).map(|cut| text(dialect, &answer[cut[0]..cut[1]]));
            deltas.chain([finish(dialect)]).collect::<Vec<_>>()
        };
        let cut = body(dialect, &frames(&cuts));
        let whole = body(dialect, &frames(&[0, answer.len()]));
        prop_assert_eq!(
            blocks(dialect, tags, cut.as_bytes()),
            blocks(dialect, tags, whole.as_bytes())
        );
    }
}
