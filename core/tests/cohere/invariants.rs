use crate::chat::{Recorder, Stream, body};
use crate::frames::*;
use proptest::prelude::*;
use serde_json::json;
use stepwell_core::dialect::Dialect;

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
        let decoded = Stream::of(Dialect::Cohere).run(body.as_bytes(), size);
        assert_eq!(decoded, (whole(), Ok(())), "{size}");
    }
}

#[test]
fn i04_a_snapshot_after_every_frame_changes_nothing() {
    let mut stream = Stream::of(Dialect::Cohere);
    stream.snapshots = true;
    assert_eq!(stream.run(sample().as_bytes(), 7), (whole(), Ok(())));
}

proptest! {
    #[test]
    fn i01_no_bytes_make_it_panic(body in any::<Vec<u8>>(), size in 1..64_usize) {
        let _ = Stream::of(Dialect::Cohere).run(&body, size);
        let framed = [b"data: ".as_slice(), &body, b"\n\n"].concat();
        let _ = Stream::of(Dialect::Cohere).run(&framed, size);
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
        let mut stream = Stream::of(Dialect::Cohere);
        stream.snapshots = true;
        let _ = stream.run(&body, 64);
    }
}
