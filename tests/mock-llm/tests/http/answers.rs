//! The content of a hop, in pieces and raw, as Chat Completions has it.

use serde_json::{Value, json};
use stepwell_mock_llm::Hop;

use crate::client::{ask, chat, events, frames, json_of, question, serve};

fn with_usage() -> Value {
    let mut question = question();
    question["stream_options"] = json!({"include_usage": true});
    question
}

/// The deltas of the only choice.
fn deltas(chunks: &[Value]) -> Vec<Value> {
    chunks
        .iter()
        .map(|chunk| chunk["choices"][0]["delta"].clone())
        .collect()
}

#[tokio::test]
async fn usage_is_sent_only_when_it_is_asked_for() {
    let server = serve(Hop::new().text("Hi").usage(1, 1)).await;
    let chunks = events(ask(&server).await).await;
    assert!(
        chunks.iter().all(|chunk| chunk.get("usage").is_none()),
        "{chunks:?}"
    );
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["choices"].as_array().unwrap().len() == 1)
    );
}

#[tokio::test]
async fn usage_is_estimated_when_the_script_is_silent() {
    let server = serve(Hop::new().text("12345")).await;
    let body = with_usage();
    let chunks = events(chat(&server, &body).await).await;
    let usage = &chunks.last().unwrap()["usage"];
    assert_eq!(usage["prompt_tokens"], body.to_string().len().div_ceil(4));
    assert_eq!(usage["completion_tokens"], 2);
}

#[tokio::test]
async fn interleaved_calls_mix_their_pieces() {
    let hop = Hop::new()
        .tool_call_raw("a", "f", "11112")
        .tool_call_raw("b", "g", "3333")
        .pieces(2)
        .interleave();
    let chunks = events(ask(&serve(hop).await).await).await;
    let seen: Vec<_> = deltas(&chunks)
        .iter()
        .filter_map(|delta| {
            let call = delta["tool_calls"].get(0)?;
            Some((
                call["index"].as_u64()?,
                call["function"]["arguments"].as_str()?.to_owned(),
            ))
        })
        .collect();
    let expected = [
        (0, ""),
        (1, ""),
        (0, "11"),
        (1, "33"),
        (0, "11"),
        (1, "33"),
        (0, "2"),
    ];
    assert_eq!(seen, expected.map(|(index, text)| (index, text.to_owned())));
}

#[tokio::test]
async fn raw_arguments_go_out_as_they_are() {
    for (raw, fragments) in [("", 1), ("null", 2), (r#"{"a": tru"#, 2)] {
        let server = serve(Hop::new().tool_call_raw("id", "f", raw).pieces(usize::MAX)).await;
        let chunks = events(ask(&server).await).await;
        let texts: Vec<_> = deltas(&chunks)
            .iter()
            .filter_map(|delta| {
                delta["tool_calls"][0]["function"]["arguments"]
                    .as_str()
                    .map(str::to_owned)
            })
            .collect();
        assert_eq!(texts.len(), fragments, "{raw}");
        assert_eq!(texts.concat(), raw);
    }
}

#[tokio::test]
async fn the_stop_reason_is_the_scripts_word() {
    let hop = Hop::new()
        .tool_call_raw("a", "f", "{\"x")
        .stop_reason("length");
    let chunks = events(ask(&serve(hop).await).await).await;
    assert_eq!(
        chunks.last().unwrap()["choices"][0]["finish_reason"],
        "length"
    );
}

#[tokio::test]
async fn pieces_never_split_a_character() {
    let text = "é日🎉 done";
    for size in 0..8 {
        let server = serve(Hop::new().text(text).pieces(size)).await;
        let chunks = events(ask(&server).await).await;
        let pieces: Vec<_> = deltas(&chunks)[1..]
            .iter()
            .filter_map(|delta| delta["content"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(pieces.concat(), text);
        let fits = |piece: &String| piece.len() <= size.max(1) || piece.chars().count() == 1;
        assert!(pieces.iter().all(fits), "{pieces:?}");
    }
}

#[tokio::test]
async fn an_error_event_ends_the_stream_without_its_end() {
    let hop = Hop::new()
        .text("Hi")
        .error_event_with_code("The server had an error", "overloaded")
        .text("no");
    let frames = frames(ask(&serve(hop).await).await).await;
    assert_eq!(frames.len(), 3);
    assert_eq!(
        frames[2],
        r#"{"error":{"message":"The server had an error","type":"server_error","param":null,"code":"overloaded"}}"#
    );
}

#[tokio::test]
async fn raw_frames_and_bytes_go_out_between_the_pieces() {
    let hop = Hop::new()
        .raw_bytes(": ping\r\n\r\n")
        .raw_frame(json!({"x": 1}))
        .raw_frame("a\nb")
        .bare();
    let body = ask(&serve(hop).await).await.text().await.unwrap();
    assert_eq!(
        body,
        ": ping\r\n\r\ndata: {\"x\":1}\n\ndata: a\ndata: b\n\n"
    );
    let hop = Hop::new().text("a").raw_bytes(&b": \xff\n\n"[..]).text("b");
    let body = ask(&serve(hop).await).await.bytes().await.unwrap();
    let place = body
        .windows(5)
        .position(|window| window == b": \xff\n\n")
        .unwrap();
    assert!(body[..place].ends_with(b"\n\n") && body[place + 5..].starts_with(b"data: {"));
    assert!(body.ends_with(b"data: [DONE]\n\n"));
}

#[tokio::test]
async fn the_models_are_listed_and_other_paths_are_not_found() {
    let server = serve(Hop::new()).await;
    let get = async |path: &str| {
        let url = server.root() + path;
        crate::client::client().get(url).send().await.unwrap()
    };
    let models = json_of(get("/v1/models").await).await;
    assert_eq!(models["object"], "list");
    assert_eq!(models["data"][0]["object"], "model");
    assert!(server.failures().is_empty());
    let missing = get("/v1/completions").await;
    assert_eq!(missing.status(), 404);
    assert_eq!(json_of(missing).await["error"]["code"], "unknown_url");
    assert_eq!(get("/v1/chat/completions").await.status(), 405);
    assert_eq!(server.failures().len(), 2);
}
