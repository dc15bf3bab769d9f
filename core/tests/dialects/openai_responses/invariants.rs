use crate::chat::Recorder;
use crate::responses::{
    added, arguments_delta, body, call, completed, created, decoder, done, message, reasoning,
    stream, summary_delta, text_delta,
};
use proptest::prelude::*;
use serde_json::json;
use stepwell_core::dialect::{Decode, Sink};
use stepwell_core::event::{EventRef, Violation};
use stepwell_core::wire::Frame;

fn sample() -> String {
    let custom = |input: &str| json!({"type": "custom_tool_call", "id": "ctc_4", "call_id": "call_4", "name": "sql", "input": input});
    let stream = body(&[
        created(),
        added(0, reasoning(0, &[])),
        summary_delta(0, 0, "Hm, \u{1f980}"),
        summary_delta(0, 1, "Aha"),
        done(0, reasoning(0, &["Hm, \u{1f980}", "Aha"])),
        added(1, message(1, "")),
        text_delta(1, "Grüße, "),
        text_delta(1, "\"you\""),
        done(1, message(1, "Grüße, \"you\"")),
        added(2, call(2, "")),
        added(3, call(3, "")),
        arguments_delta(2, "{\"x\""),
        arguments_delta(3, "{\"y\": \"ä\"}"),
        arguments_delta(2, ":1}"),
        done(2, call(2, "{\"x\":1}")),
        added(4, custom("")),
        json!({"type": "response.custom_tool_call_input.delta", "output_index": 4, "delta": "SELECT \""}),
        done(4, custom("SELECT \"")),
        done(5, json!({"type": "web_search_call", "id": "ws_5"})),
        json!({"type": "response.refusal.delta", "output_index": 6, "content_index": 0, "delta": "No"}),
        completed(json!([call(3, "{\"y\": \"ä\"}"), call(7, "{}")])),
        json!("[DONE]"),
    ]);
    format!(": hello\n\n{}", stream.replace('\n', "\r\n"))
}

fn whole() -> Recorder {
    let (recorder, result) = stream().run(sample().as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()));
    recorder
}

#[test]
fn i03_every_size_of_chunk_gives_the_same_events() {
    let body = sample();
    for size in 1..80 {
        let (recorder, result) = stream().run(body.as_bytes(), size);
        assert_eq!((recorder, result), (whole(), Ok(())), "{size}");
    }
}

#[test]
fn i04_a_snapshot_after_every_frame_changes_nothing() {
    for size in [1, 7, 1_024] {
        let mut stream = stream();
        stream.snapshots = true;
        let (recorder, result) = stream.run(sample().as_bytes(), size);
        assert_eq!((recorder, result), (whole(), Ok(())), "{size}");
    }
}

/// Keeps nothing.
struct Deaf;

impl Sink for Deaf {
    fn event(&mut self, _event: EventRef<'_>) -> Result<(), Violation> {
        Ok(())
    }

    fn warning(&mut self, _message: &str) {}
}

#[test]
fn what_is_said_does_not_make_the_decoder_grow() {
    let size = |deltas: u64| {
        let mut decoder = decoder();
        let opening = [
            created(),
            added(0, reasoning(0, &[])),
            added(1, message(1, "")),
            added(2, call(2, "")),
            added(
                3,
                json!({"type": "custom_tool_call", "id": "c", "call_id": "call_3", "name": "sql"}),
            ),
        ];
        let deltas = (0..deltas).flat_map(|part| {
            [
                summary_delta(0, part, "thought"),
                text_delta(1, "text"),
                arguments_delta(2, "arguments"),
                arguments_delta(9, "of no call"),
                json!({"type": "response.custom_tool_call_input.delta", "output_index": 3, "delta": "input"}),
                json!({"type": "response.refusal.delta", "output_index": 1, "content_index": part, "delta": "no"}),
            ]
        });
        for frame in opening.into_iter().chain(deltas) {
            let data = frame.to_string();
            let frame = Frame {
                event: b"",
                id: b"",
                data: data.as_bytes(),
                ..Frame::default()
            };
            decoder.frame(frame, &mut Deaf).expect("a good frame");
        }
        serde_json::to_string(&decoder).expect("plain data").len()
    };
    // Counts have more digits, and that is all.
    assert!(size(2_000) < size(2) + 64, "{} {}", size(2), size(2_000));
}

proptest! {
    #[test]
    fn i03_any_cuts_give_the_same_events(mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let body = sample();
        cuts.sort_by_key(|cut| cut.index(body.len()));
        let mut stream = stream();
        let mut from = 0;
        for cut in cuts {
            let to = cut.index(body.len());
            prop_assert_eq!(stream.receive(&body.as_bytes()[from..to]), Ok(()));
            from = to;
        }
        prop_assert_eq!(stream.receive(&body.as_bytes()[from..]), Ok(()));
        prop_assert_eq!(stream.end(), Ok(()));
        prop_assert_eq!(stream.recorder, whole());
    }

    #[test]
    fn i01_no_bytes_make_it_panic(body in any::<Vec<u8>>(), size in 1..64_usize) {
        let _ = stream().run(&body, size);
        let framed = [b"data: ".as_slice(), &body, b"\n\n"].concat();
        let _ = stream().run(&framed, size);
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
        let mut stream = stream();
        stream.snapshots = true;
        let _ = stream.run(&body, 64);
    }

    /// The order check behind the decoder takes all that it says, whatever order the frames come in.
    #[test]
    fn frames_in_any_order_break_no_rule(order in prop::collection::vec(any::<prop::sample::Index>(), 1..40)) {
        let frames: Vec<_> = sample().split_inclusive("\r\n\r\n").map(str::to_owned).collect();
        let body: String = order.iter().map(|index| index.get(&frames).as_str()).collect();
        let mut pipeline = stepwell_core::pipeline::Pipeline::new(
            stepwell_core::dialect::Dialect::OpenAiResponses,
            crate::chat::ids(stepwell_core::dialect::Dialect::OpenAiResponses),
            Default::default(),
        );
        let mut conversation = stepwell_core::conversation::Conversation::default();
        prop_assert_eq!(pipeline.receive(body.as_bytes(), &mut conversation, &mut ()), Ok(()));
    }
}
