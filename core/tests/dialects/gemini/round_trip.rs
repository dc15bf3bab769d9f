//! What the model said goes back to it as it came.

use super::support::{contents, finish, parts, text, thought};
use serde_json::{Value, json};
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::pipeline::{Pipeline, StreamEnd};

/// The conversation after these chunks.
fn conversation(frames: &[Value]) -> Vec<Message> {
    let mut frames = frames.to_vec();
    frames.push(finish("STOP"));
    let body = crate::decoding::body(Dialect::Gemini, &frames);
    let ids = crate::decoding::ids(Dialect::Gemini);
    let mut pipeline = Pipeline::new(Dialect::Gemini, ids, Default::default());
    let mut conversation = Conversation::default();
    pipeline
        .receive(body.as_bytes(), &mut conversation, &mut ())
        .expect("decodes");
    assert_eq!(
        pipeline.end(&mut conversation, &mut ()),
        Ok(StreamEnd::Finished)
    );
    conversation.messages().to_vec()
}

#[test]
fn signed_parts_go_back_as_they_came() {
    let call = json!({"functionCall": {"id": "i1", "name": "f", "args": {"a": [1, "é"]}}, "thoughtSignature": "c"});
    let second = json!({"functionCall": {"id": "i2", "name": "f", "args": {}}});
    for said in [
        json!([{"text": "a", "thought": true, "thoughtSignature": "t"}, {"text": "b"}, call, second]),
        json!([{"text": "b", "thoughtSignature": "m"}, {"text": "c"}, call]),
        json!([{"text": "b"}, {"text": "", "thoughtSignature": "m"}]),
        json!([{"text": "b"}, {"text": "é", "thoughtSignature": "m"}]),
        json!([call, {"text": "", "thoughtSignature": "e"}]),
        json!([call, second, {"text": "after", "thoughtSignature": "m"}]),
        json!([{"text": "", "thoughtSignature": "alone"}]),
    ] {
        let together = conversation(&[parts(said.clone())]);
        let back = contents("gemini-3-flash", &together);
        assert_eq!(back, json!([{"role": "model", "parts": said}]));
        let apart: Vec<_> = said
            .as_array()
            .unwrap()
            .iter()
            .map(|part| parts(json!([part])))
            .collect();
        assert_eq!(contents("gemini-3-flash", &conversation(&apart)), back);
    }
}

#[test]
fn text_in_pieces_goes_back_as_one_part() {
    let said = conversation(&[thought("Hm"), text("He"), text("llo")]);
    assert_eq!(
        contents("gemini-2.5-flash", &said),
        json!([{"role": "model", "parts": [{"text": "Hello"}]}]),
        "a thought that is not signed is for reading alone"
    );
}
