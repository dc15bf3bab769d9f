use super::support::{calls, done, text, thinking};
use crate::decoding::{Recorder, Stream, body};
use proptest::prelude::*;
use serde_json::json;
use stepwell_core::dialect::Dialect;

fn sample() -> String {
    body(
        Dialect::Ollama,
        &[
            thinking("Hm, \u{1f980}"),
            text("Grüße, \"you\""),
            calls(json!([{"id": "a", "function": {"name": "f", "arguments": {"x": "ä"}}}])),
            calls(json!([{"function": {"name": "g", "arguments": {}}}])),
            done("stop"),
        ],
    )
    .replace('\n', "\r\n")
}

fn whole() -> Recorder {
    let (recorder, result) = Stream::new(Dialect::Ollama).run(sample().as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()));
    recorder
}

#[test]
fn i03_every_size_of_chunk_gives_the_same_events() {
    let body = sample();
    for size in 1..80 {
        let cut = Stream::new(Dialect::Ollama).run(body.as_bytes(), size);
        assert_eq!(cut, (whole(), Ok(())), "{size}");
    }
}

#[test]
fn i04_a_snapshot_after_every_line_changes_nothing() {
    let mut stream = Stream::new(Dialect::Ollama);
    stream.snapshots = true;
    let (recorder, result) = stream.run(sample().as_bytes(), 7);
    assert_eq!((recorder, result), (whole(), Ok(())));
}

proptest! {
    #[test]
    fn i01_no_bytes_make_it_panic(body in any::<Vec<u8>>(), size in 1..64_usize) {
        let _ = Stream::new(Dialect::Ollama).run(&body, size);
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
        let mut stream = Stream::new(Dialect::Ollama);
        stream.snapshots = true;
        let _ = stream.run(&body, 64);
    }

    #[test]
    fn the_decoder_holds_no_text(pieces in prop::collection::vec("[a-z ]{1,40}", 1..200)) {
        let mut stream = Stream::new(Dialect::Ollama);
        let lines: Vec<_> = pieces.iter().map(|piece| text(piece)).collect();
        stream.receive(body(Dialect::Ollama, &lines).as_bytes()).unwrap();
        let size = serde_json::to_vec(&stream.decoder).unwrap().len();
        prop_assert!(size < 1_000, "{size}");
    }
}
