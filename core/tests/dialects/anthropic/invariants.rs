use super::support::{
    Recorder, Stream, block, body, call, delta, input, start, stop, text, thinking, whole,
};
use proptest::prelude::*;
use serde_json::json;
use stepwell_core::dialect::Dialect;

fn sample() -> String {
    let stream = body(
        &[
            vec![start(), json!({"type": "ping"})],
            thinking(0, &["Hm, \u{1f980}"], "c2ln"),
            whole(1, json!({"type": "redacted_thinking", "data": "x"}), vec![]),
            text(2, &["Grüße, \"you\"", "\n"]),
            vec![delta(
                2,
                json!({"type": "citations_delta", "citation": {"cited_text": "é"}}),
            )],
            whole(
                3,
                json!({"type": "server_tool_use", "id": "s", "name": "n", "input": {}}),
                input(&["{\"q\"", ":\"ä\"}"]),
            ),
            whole(
                4,
                json!({"type": "n_tool_result", "tool_use_id": "s", "content": []}),
                vec![],
            ),
            text(5, &["So"]),
            call(6, "a", "f", &["{\"y\"", ": \"ä\"}"]),
            vec![block(
                7,
                json!({"type": "tool_use", "id": "b", "name": "g", "input": {"x": 1}}),
            )],
            vec![stop("tool_use"), json!({"type": "message_stop"})],
        ]
        .concat(),
    );
    format!(": hello\n\n{}", stream.replace("\n\n", "\r\n\r\n"))
}

fn expected() -> Recorder {
    let (recorder, result) = Stream::new(Dialect::Anthropic).run(sample().as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()));
    assert_eq!(recorder.events.len(), 31);
    recorder
}

#[test]
fn i03_every_size_of_chunk_gives_the_same_events() {
    let body = sample();
    for size in 1..80 {
        let (recorder, result) = Stream::new(Dialect::Anthropic).run(body.as_bytes(), size);
        assert_eq!((recorder, result), (expected(), Ok(())), "{size}");
    }
}

#[test]
fn i04_a_snapshot_after_every_frame_changes_nothing() {
    for size in [1, 7, 1_024] {
        let mut stream = Stream::new(Dialect::Anthropic);
        stream.snapshots = true;
        let (recorder, result) = stream.run(sample().as_bytes(), size);
        assert_eq!((recorder, result), (expected(), Ok(())), "{size}");
    }
}

proptest! {
    #[test]
    fn i03_any_cuts_give_the_same_events(mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let body = sample();
        cuts.sort_by_key(|cut| cut.index(body.len()));
        let mut stream = Stream::new(Dialect::Anthropic);
        let mut from = 0;
        for cut in cuts {
            let to = cut.index(body.len());
            prop_assert_eq!(stream.receive(&body.as_bytes()[from..to]), Ok(()));
            from = to;
        }
        prop_assert_eq!(stream.receive(&body.as_bytes()[from..]), Ok(()));
        prop_assert_eq!(stream.end(), Ok(()));
        prop_assert_eq!(stream.recorder, expected());
    }

    #[test]
    fn i01_no_bytes_make_it_panic(body in any::<Vec<u8>>(), size in 1..64_usize) {
        let _ = Stream::new(Dialect::Anthropic).run(&body, size);
        let framed = [b"data: ".as_slice(), &body, b"\n\n"].concat();
        let _ = Stream::new(Dialect::Anthropic).run(&framed, size);
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
        let mut stream = Stream::new(Dialect::Anthropic);
        stream.snapshots = true;
        let _ = stream.run(&body, 64);
    }
}
