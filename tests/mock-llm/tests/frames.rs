//! The bytes of one answer in each dialect, as its service sends them.

use stepwell_core::wire::{EventStreamFramer, WireError};
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
        let body = match dialect {
            Dialect::BedrockConverse => messages(&body),
            _ => String::from_utf8(body).expect("text"),
        };
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

/// The messages of an event stream as server-sent events. The framer has checked their checksums.
fn messages(body: &[u8]) -> String {
    let mut text = String::new();
    let mut framer = EventStreamFramer::default();
    let read = framer.receive::<WireError>(body, |frame| {
        let [name, data] = [frame.event, frame.data].map(String::from_utf8_lossy);
        text.push_str(&format!("event: {name}\ndata: {data}\n\n"));
        Ok(())
    });
    assert_eq!(read, Ok(()));
    assert!(framer.is_between_frames());
    text
}
