use super::support::{finish, parts, text, thought};
use crate::decoding::{Recorder, Stream, body};
use proptest::prelude::*;
use serde_json::json;
use stepwell_core::dialect::Dialect;

fn sample() -> String {
    let stream = body(
        Dialect::Gemini,
        &[
            thought("Hm, \u{1f980}"),
            text("Grüße, \"you\""),
            parts(json!([{"text": "", "thoughtSignature": "s1"}])),
            parts(
                json!([{"functionCall": {"name": "f", "id": "a", "args": {"x": 1}}, "thoughtSignature": "s2"}]),
            ),
            parts(json!([{"functionCall": {"name": "g", "willContinue": true}}])),
            parts(
                json!([{"functionCall": {"partialArgs": [{"jsonPath": "$.y[0]", "stringValue": "ä"}], "willContinue": true}}]),
            ),
            parts(
                json!([{"functionCall": {"partialArgs": [{"jsonPath": "$.y[0]", "stringValue": "b"}], "willContinue": true}}]),
            ),
            parts(json!([{"functionCall": {}}])),
            parts(json!([{"executableCode": {"code": "1"}}])),
            finish("STOP"),
        ],
    );
    format!(": hello\r\n\r\n{stream}")
}

fn whole() -> Recorder {
    let (recorder, result) = Stream::new(Dialect::Gemini).run(sample().as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()));
    recorder
}

#[test]
fn i03_every_size_of_chunk_gives_the_same_events() {
    let body = sample();
    for size in 1..80 {
        let cut = Stream::new(Dialect::Gemini).run(body.as_bytes(), size);
        assert_eq!(cut, (whole(), Ok(())), "{size}");
    }
}

#[test]
fn i04_a_snapshot_after_every_frame_changes_nothing() {
    let mut stream = Stream::new(Dialect::Gemini);
    stream.snapshots = true;
    let (recorder, result) = stream.run(sample().as_bytes(), 7);
    assert_eq!((recorder, result), (whole(), Ok(())));
}

proptest! {
    #[test]
    fn i01_no_bytes_make_it_panic(body in any::<Vec<u8>>(), size in 1..64_usize) {
        let _ = Stream::new(Dialect::Gemini).run(&body, size);
        let framed = [b"data: ".as_slice(), &body, b"\n\n"].concat();
        let _ = Stream::new(Dialect::Gemini).run(&framed, size);
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
        let mut stream = Stream::new(Dialect::Gemini);
        stream.snapshots = true;
        let _ = stream.run(&body, 64);
    }

    #[test]
    fn the_decoder_holds_no_text(pieces in prop::collection::vec("[a-z ]{1,40}", 1..200)) {
        let mut stream = Stream::new(Dialect::Gemini);
        let frames: Vec<_> = pieces.iter().map(|piece| text(piece)).collect();
        stream.receive(body(Dialect::Gemini, &frames).as_bytes()).unwrap();
        let size = serde_json::to_vec(&stream.decoder).unwrap().len();
        prop_assert!(size < 1_000, "{size}");
    }
}
