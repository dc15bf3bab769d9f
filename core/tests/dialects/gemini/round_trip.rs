//! What the model said goes back to it as it came.

use super::support::{contents, finish, parts, text, thought};
use crate::validate;
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::pipeline::{Pipeline, StreamEnd};
use stepwell_core::transcript::Transcript;

/// The conversation after these chunks.
fn transcript(frames: &[Value]) -> Vec<Message> {
    let mut frames = frames.to_vec();
    frames.push(finish("STOP"));
    let body = crate::decoding::body(Dialect::Gemini, &frames);
    let ids = crate::decoding::ids(Dialect::Gemini);
    let mut pipeline = Pipeline::new(Dialect::Gemini, ids, Default::default());
    let mut transcript = Transcript::default();
    pipeline
        .receive(body.as_bytes(), &mut transcript, &mut ())
        .expect("decodes");
    assert_eq!(
        pipeline.end(&mut transcript, &mut ()),
        Ok(StreamEnd::Finished)
    );
    transcript.messages().to_vec()
}

#[test]
fn signed_parts_go_back_as_they_came() {
    let call = json!({"functionCall": {"id": "i1", "name": "f", "args": {"a": [1, "é"]}}, "thoughtSignature": "c"});
    let second = json!({"functionCall": {"id": "i2", "name": "f", "args": {}}});
    let picture =
        json!({"inlineData": {"mimeType": "image/png", "data": "aa=="}, "thoughtSignature": "p"});
    let mut thought_picture = picture.clone();
    thought_picture["thought"] = true.into();
    for said in [
        json!([{"text": "a", "thought": true, "thoughtSignature": "t"}, {"text": "b"}, call, second]),
        json!([{"text": "b", "thoughtSignature": "m"}, {"text": "c"}, call]),
        json!([{"text": "b"}, {"text": "", "thoughtSignature": "m"}]),
        json!([{"text": "b"}, {"text": "é", "thoughtSignature": "m"}]),
        json!([call, {"text": "", "thoughtSignature": "e"}]),
        json!([call, second, {"text": "after", "thoughtSignature": "m"}]),
        json!([{"text": "", "thoughtSignature": "alone"}]),
        json!([picture, {"text": "", "thoughtSignature": "m"}]),
        json!([{"text": "b", "thoughtSignature": "m"}, picture, {"text": "c"}, picture]),
        json!([thought_picture, call]),
        json!([
            {"executableCode": {"language": "PYTHON", "code": "1+1"}, "thoughtSignature": "x"},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
            {"text": "2"}
        ]),
        json!([
            {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}, "thoughtSignature": "x"},
            {"toolCall": {"id": "t2", "toolType": "GOOGLE_MAPS"}},
            {"toolResponse": {"id": "t2", "toolType": "GOOGLE_MAPS", "response": {}}, "thoughtSignature": "y"},
            {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}},
            call
        ]),
    ] {
        let together = transcript(&[parts(said.clone())]);
        let back = contents("gemini-3-flash", &together);
        assert_eq!(back, json!([{"role": "model", "parts": said}]));
        let apart: Vec<_> = said
            .as_array()
            .unwrap()
            .iter()
            .map(|part| parts(json!([part])))
            .collect();
        assert_eq!(contents("gemini-3-flash", &transcript(&apart)), back);
    }
}

#[test]
fn what_gemini_did_not_come_to_the_end_of_does_not_go_back() {
    let said = json!([
        {"text": "a"},
        {"executableCode": {"code": "1+1"}},
        {"toolCall": {"id": "t1"}},
        {"toolResponse": {"id": "t2", "response": {}}},
        {"codeExecutionResult": {"output": "2"}},
        {"executableCode": {"code": "2+2"}},
        {"codeExecutionResult": {"output": "2"}},
        {"codeExecutionResult": {"output": "3"}},
    ]);
    let back = contents("gemini-3-flash", &transcript(&[parts(said.clone())]));
    let kept: Vec<_> = [0, 1, 4, 5, 6].map(|at| said[at].clone()).into();
    assert_eq!(back[0]["parts"], json!(kept));
}

#[test]
fn a_picture_goes_in_geminis_form_to_gemini_alone() {
    let picture =
        json!([{"inlineData": {"mimeType": "image/png", "data": "aa=="}, "thoughtSignature": "p"}]);
    let mut history = vec![Message::user("1", "Draw.")];
    history.extend(transcript(&[parts(picture.clone())]));
    history.push(Message::user("2", "And blue."));
    for (provider, goes) in [
        ("gemini", true),
        ("openai", false),
        ("anthropic", false),
        ("mistral", false),
    ] {
        for endpoint in crate::legal::targets::endpoints(provider) {
            let request =
                crate::legal::targets::encode(&endpoint, &history, &[], &Default::default());
            let checked = validate::request(endpoint.dialect, provider, &request);
            assert_eq!(checked, Ok(()), "{provider}");
            let body = String::from_utf8(request.body).expect("JSON is UTF-8");
            let goes = goes && endpoint.dialect == Dialect::Gemini;
            assert_eq!(body.contains("inlineData"), goes, "{provider}: {body}");
            assert!(body.contains("aa=="), "{provider}: {body}");
        }
    }
}

#[test]
fn text_in_pieces_goes_back_as_one_part() {
    let said = transcript(&[thought("Hm"), text("He"), text("llo")]);
    assert_eq!(
        contents("gemini-2.5-flash", &said),
        json!([{"role": "model", "parts": [{"text": "Hello"}]}]),
        "a thought that is not signed is for reading alone"
    );
}
