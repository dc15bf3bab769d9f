//! Sound that the model makes.

use crate::chat::{Stream, body, delta, events, finish, outline};
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{ContentPart, Event, made_media};

fn says(audio: &Value) -> Value {
    delta(json!({"audio": audio}))
}

fn made(events: &[Event]) -> Vec<ContentPart> {
    let media = events.iter().filter_map(|event| match event {
        Event::ActivitySnapshot(made) => made_media(&made.activity_type, &made.content),
        _ => None,
    });
    media.flatten().collect()
}

#[test]
fn what_it_says_is_the_text_and_its_samples_are_one_file_at_the_end() {
    let frames = [
        delta(json!({"role": "assistant", "refusal": null})),
        delta(json!({"content": null, "audio": {"id": "audio_1", "transcript": "Hi"}})),
        says(&json!({"transcript": " there"})),
        says(&json!({"data": "AQI="})),
        says(&json!({"data": "AwQF"})),
        says(&json!({"data": "Bg"})),
        says(&json!({"expires_at": 1_729_447_830})),
        finish("stop"),
    ];
    assert_eq!(
        outline(&frames),
        [
            "start",
            "text start r-message-0",
            "text r-message-0: Hi",
            "text r-message-0:  there",
            "text end r-message-0",
            "ACTIVITY_SNAPSHOT",
            "finish stop",
        ]
    );
    // Six bytes of samples behind the head of a file: 16 bits, one channel, 24 kHz.
    let file = "UklGRioAAABXQVZFZm10IBAAAAABAAEAwF0AAIC7AAACABAAZGF0YQYAAAABAgMEBQY=";
    let [part] = &made(&events(&body(&frames)))[..] else {
        panic!("one sound");
    };
    assert_eq!(
        serde_json::to_value(part).unwrap(),
        json!({"type": "audio", "source": {"type": "data", "value": file, "mimeType": "audio/wav"}})
    );
}

#[test]
fn a_piece_that_is_no_base64_is_left_out_and_told() {
    let body = body(&[
        says(&json!({"data": "?"})),
        says(&json!({"data": 5})),
        says(&Value::from("no object")),
        finish("stop"),
        json!("[DONE]"),
    ]);
    let (recorder, result) = Stream::new(Dialect::OpenAiChat).run(body.as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()));
    assert_eq!(
        recorder.warnings,
        ["a piece of the model's sound is no base64, and is left out"]
    );
    assert!(made(&recorder.events).is_empty());
}
