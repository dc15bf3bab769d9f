use crate::run::run;
use serde_json::json;

fn stream() -> String {
    let call =
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{\"x\":1}" } }]);
    [
        json!({ "choices": [{ "delta": { "content": "é" } }] }),
        json!({ "choices": [{ "delta": { "content": "!" } }] }),
        json!({ "choices": [{ "delta": { "tool_calls": call }, "finish_reason": "tool_calls" }] }),
    ]
    .iter()
    .map(|chunk| format!("data: {chunk}\n\n"))
    .collect()
}

#[test]
fn the_figures_count_bytes_and_every_decoding() {
    let arguments = [
        "bench",
        "--provider",
        "openai",
        "--api",
        "chat",
        "--iters",
        "3",
        "--chunk",
        "5",
        "--json",
        "-",
    ];
    let figures = run(&arguments, stream().as_bytes()).succeeded().json();
    assert_eq!((&figures["text"], &figures["args"]), (&json!(3), &json!(7)));
    let times = figures["times_ms"].as_array().expect("times");
    assert_eq!(times.len(), 3);
    assert!(
        times
            .iter()
            .all(|time| time.as_f64().is_some_and(|time| time > 0.0))
    );
    assert!(figures["ttfe_ms"].as_f64().is_some_and(|time| time > 0.0));
    assert_eq!(figures["hwm_mb"].is_f64(), cfg!(target_os = "linux"));
}

#[test]
fn without_json_it_is_a_line_to_read() {
    let ran = run(&["bench", "--provider", "openai"], stream().as_bytes()).succeeded();
    assert_eq!(ran.out.lines().count(), 1);
    assert!(
        ran.out.contains("3 bytes of text, 7 of arguments"),
        "{}",
        ran.out
    );
}

#[test]
fn a_stream_that_fails_has_no_figures() {
    let stream = stream();
    let cut = &stream.as_bytes()[..stream.len() / 2];
    let ran = run(&["bench", "--provider", "openai", "--json"], cut);
    assert_eq!(ran.out, "");
    assert!(ran.failed(1).contains("ended before the answer did"));
}
