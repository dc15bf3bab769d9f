use crate::chat::{Recorder, Stream, body, calls, delta, finish, text};
use proptest::prelude::*;
use serde_json::json;
use stepwell_core::dialect::Dialect;

fn sample() -> String {
    let stream = body(&[
        delta(json!({"role": "assistant", "content": "", "reasoning": "Hm, \u{1f980}"})),
        text("Grüße, \"you\""),
        delta(json!({"audio": {"id": "s", "transcript": "Ä"}})),
        delta(json!({"audio": {"data": "AQI="}})),
        delta(json!({"audio": {"data": "Aw=="}})),
        calls(json!([{"index": 0, "id": "a", "function": {"name": "f"}}])),
        calls(json!([{"index": 1, "id": "b", "function": {"name": "", "arguments": "{\"x\""}}])),
        calls(json!([{"index": 0, "function": {"arguments": "{\"y\": \"ä\"}"}}])),
        calls(json!([{"index": 1, "function": {"name": "g", "arguments": ":1}"}}])),
        delta(json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "z"}]})),
        finish("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
        json!("[DONE]"),
    ]);
    format!(": hello\n\n{}", stream.replace("\n\n", "\r\n\r\n"))
}

fn whole() -> Recorder {
    let (recorder, result) = Stream::new(Dialect::OpenAiChat).run(sample().as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()));
    recorder
}

#[test]
fn i03_every_size_of_chunk_gives_the_same_events() {
    let body = sample();
    for size in 1..80 {
        let (recorder, result) = Stream::new(Dialect::OpenAiChat).run(body.as_bytes(), size);
        assert_eq!((recorder, result), (whole(), Ok(())), "{size}");
    }
}

#[test]
fn i04_a_snapshot_after_every_frame_changes_nothing() {
    for size in [1, 7, 1_024] {
        let mut stream = Stream::new(Dialect::OpenAiChat);
        stream.snapshots = true;
        let (recorder, result) = stream.run(sample().as_bytes(), size);
        assert_eq!((recorder, result), (whole(), Ok(())), "{size}");
    }
}

proptest! {
    #[test]
    fn i03_any_cuts_give_the_same_events(mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let body = sample();
        cuts.sort_by_key(|cut| cut.index(body.len()));
        let mut stream = Stream::new(Dialect::OpenAiChat);
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
        let _ = Stream::new(Dialect::OpenAiChat).run(&body, size);
        let framed = [b"data: ".as_slice(), &body, b"\n\n"].concat();
        let _ = Stream::new(Dialect::OpenAiChat).run(&framed, size);
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
        let mut stream = Stream::new(Dialect::OpenAiChat);
        stream.snapshots = true;
        let _ = stream.run(&body, 64);
    }
}
