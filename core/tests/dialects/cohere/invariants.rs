use super::frames::*;
use crate::chat::{Recorder, Stream, body};
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Event, ReasoningMessageContent, TextMessageContent, ToolCallArgs};

fn sample() -> String {
    let stream = body(&[
        start(),
        thinking("Hm, \u{1f980}"),
        plan("Ich prüfe"),
        call_start(0, "a", "f"),
        arguments(0, json!("{\"x\": \"ä\"")),
        call_start(1, "b", "g"),
        arguments(0, json!("}")),
        call_end(1),
        text("Grüße, \"you\""),
        end("TOOL_CALL"),
        json!("[DONE]"),
    ]);
    stream.replace("\n\n", "\r\n\r\n")
}

fn whole() -> Recorder {
    let (recorder, result) = decode(sample().as_bytes());
    assert_eq!(result, Ok(()));
    recorder
}

#[test]
fn i03_every_size_of_chunk_gives_the_same_events() {
    let body = sample();
    for size in 1..80 {
        let decoded = Stream::new(Dialect::Cohere).run(body.as_bytes(), size);
        assert_eq!(decoded, (whole(), Ok(())), "{size}");
    }
}

#[test]
fn i04_a_snapshot_after_every_frame_changes_nothing() {
    let mut stream = Stream::new(Dialect::Cohere);
    stream.snapshots = true;
    assert_eq!(stream.run(sample().as_bytes(), 7), (whole(), Ok(())));
}

/// What a model says, one after another.
#[derive(Clone, Debug, PartialEq)]
enum Said {
    Text(String),
    Thinking(String),
    Plan(String),
    Call(String, String),
}

/// The answer as the service would send it, its texts in pieces of so many characters.
fn frames(answer: &[Said], size: usize) -> Vec<Value> {
    let pieces = |text: &str| -> Vec<String> {
        let characters: Vec<_> = text.chars().collect();
        characters
            .chunks(size)
            .map(|piece| piece.iter().collect())
            .collect()
    };
    let mut frames = vec![start()];
    for (index, said) in (0..).zip(answer) {
        match said {
            Said::Text(all) => {
                frames.push(content(
                    "content-start",
                    index,
                    json!({"type": "text", "text": ""}),
                ));
                frames.extend(pieces(all).iter().map(|piece| text(piece)));
                frames.push(json!({"type": "content-end", "index": index}));
            }
            Said::Thinking(all) => {
                frames.push(content(
                    "content-start",
                    index,
                    json!({"type": "thinking", "thinking": ""}),
                ));
                frames.extend(pieces(all).iter().map(|piece| thinking(piece)));
                frames.push(json!({"type": "content-end", "index": index}));
            }
            Said::Plan(all) => frames.extend(pieces(all).iter().map(|piece| plan(piece))),
            Said::Call(name, all) => {
                frames.push(call_start(index, &format!("id{index}"), name));
                frames.extend(
                    pieces(all)
                        .iter()
                        .map(|piece| arguments(index, json!(piece))),
                );
                frames.push(call_end(index));
            }
        }
    }
    frames.push(end("COMPLETE"));
    frames
}

/// What the events say, neighbours of a kind as one where nothing parts them.
fn gathered(recorder: &Recorder) -> Vec<Said> {
    let mut all = Vec::new();
    for event in &recorder.events {
        match event {
            Event::TextMessageStart(_) => all.push(Said::Text(String::new())),
            Event::ReasoningMessageStart(event) => all.push(match event.common {
                Some(_) => Said::Plan(String::new()),
                None => Said::Thinking(String::new()),
            }),
            Event::ToolCallStart(event) => {
                all.push(Said::Call(event.tool_call_name.clone(), String::new()));
            }
            Event::TextMessageContent(TextMessageContent { delta, .. })
            | Event::ReasoningMessageContent(ReasoningMessageContent { delta, .. })
            | Event::ToolCallArgs(ToolCallArgs { delta, .. }) => match all.last_mut() {
                Some(
                    Said::Text(text)
                    | Said::Thinking(text)
                    | Said::Plan(text)
                    | Said::Call(_, text),
                ) => {
                    text.push_str(delta);
                }
                None => panic!("a piece of nothing"),
            },
            _ => {}
        }
    }
    all
}

fn answer() -> impl Strategy<Value = Vec<Said>> {
    let said = prop_oneof![
        "\\PC{1,20}".prop_map(Said::Text),
        "\\PC{1,20}".prop_map(Said::Thinking),
        "\\PC{1,20}".prop_map(Said::Plan),
        ("[a-z]{1,8}", "\\PC{0,20}").prop_map(|(name, arguments)| Said::Call(name, arguments)),
    ];
    // Two plans in a row are one.
    prop::collection::vec(said, 0..8).prop_map(|mut all| {
        all.dedup_by(|next, before| matches!((next, before), (Said::Plan(_), Said::Plan(_))));
        all
    })
}

proptest! {
    #[test]
    fn what_the_service_says_is_what_the_events_say(answer in answer(), size in 1..8_usize, chunk in 1..100_usize) {
        let body = body(&frames(&answer, size));
        let (recorder, result) = Stream::new(Dialect::Cohere).run(body.as_bytes(), chunk);
        prop_assert_eq!(result, Ok(()));
        prop_assert_eq!(gathered(&recorder), answer);
    }

    #[test]
    fn i01_no_bytes_make_it_panic(body in any::<Vec<u8>>(), size in 1..64_usize) {
        let _ = Stream::new(Dialect::Cohere).run(&body, size);
        let framed = [b"data: ".as_slice(), &body, b"\n\n"].concat();
        let _ = Stream::new(Dialect::Cohere).run(&framed, size);
    }

    #[test]
    fn i01_a_damaged_stream_gives_events_or_an_error(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut body = sample().into_bytes();
        for (index, byte) in edits {
            let at = index.index(body.len());
            body[at] = byte;
        }
        let mut stream = Stream::new(Dialect::Cohere);
        stream.snapshots = true;
        let _ = stream.run(&body, 64);
    }
}
