//! The bytes of one answer in each dialect, as its service sends them.

use stepwell_mock_llm::{Answer, Call, Dialect, Setting};

/// Without the blank lines between events.
const FRAMES: &str = include_str!("frames.txt");

#[test]
fn an_answer_has_the_bytes_of_its_service() {
    let calls = [
        Call::unnamed("f", ["{\"x\"", ":1}"]),
        Call::new("b", "g", ["{}"]),
    ];
    let answer = Answer::new()
        .reasoning(["Hm"])
        .text(["Hel", "lo"])
        .calls(calls)
        .usage(3, 4);
    for dialect in Dialect::ALL {
        let body = answer.body(dialect, &Setting::new().signs());
        let body = String::from_utf8(body).expect("text");
        let between = match dialect {
            Dialect::Ollama => "\n",
            Dialect::Gemini => "\r\n\r\n",
            _ => "\n\n",
        };
        assert!(body.ends_with(between), "{dialect:?}");
        let frames: Vec<_> = body.split_terminator(between).collect();
        let (_, expected) = FRAMES
            .split_once(&format!("== {}\n", dialect.name()))
            .expect("it has them all");
        let (expected, _) = expected.split_once("== ").unwrap_or((expected, ""));
        assert_eq!(frames.join("\n") + "\n", expected, "{dialect:?}");
    }
}
