//! What the user attaches, or a tool gives back, and the provider does not take.

use crate::world::{ToolReply, World, offer};
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Message, MessageContent};
use stepwell_core::run::{ErrorKind, Failure, Input, Outcome, Start};
use stepwell_core::tool::{Tool, ToolOutput};
use stepwell_testing::reply::{call, text};

fn world() -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        config.endpoint.quirks.media.documents = false;
        offer(config, Tool::new("read", "Reads."));
    })
    .tool("read", |_| ToolReply {
        result: Some(Ok(ToolOutput {
            content: content(&document()),
        })),
        takes: 5,
    })
}

fn document() -> Value {
    json!({"type": "document", "source": {"type": "data", "value": "QQ==", "mimeType": "application/pdf"}})
}

fn content(part: &Value) -> MessageContent {
    serde_json::from_value(json!([{"type": "text", "text": "Look"}, part])).expect("parts")
}

fn attached(id: &str) -> Message {
    let message = json!({"id": id, "role": "user", "content": content(&document())});
    serde_json::from_value(message).expect("a message")
}

#[test]
fn what_is_attached_now_is_refused_before_the_request() {
    let mut world = world();
    let start = Start::new("run-1", attached("m-1"));
    world
        .input(Input::Start(Box::new(start)))
        .expect("the run is idle");
    world.drive();
    let Outcome::Failed {
        failure: Failure::AttachmentRefused { message },
    } = world.outcome()
    else {
        panic!("{:?}", world.outcome());
    };
    assert!(message.contains("(document)"), "{message}");
    assert!(world.seen.requests().is_empty());
    let problem = world.outcome().problem().expect("a problem");
    assert_eq!(problem.kind, ErrorKind::InvalidRequest);
    assert!(!problem.is_retryable);
}

#[test]
fn bytes_that_are_no_base64_are_refused_before_the_request() {
    for (value, is_sent) in [
        ("QQ==", true),
        ("QUJD\r\nREVG", true),
        ("-_8", true),
        ("", false),
        ("====", false),
        ("<svg/>", false),
        ("QQ==é", false),
    ] {
        let mut world = crate::world::with(Dialect::OpenAiChat, |_| {}).streams([text("A dog.")]);
        let image = json!({"type": "image", "source": {"type": "data", "value": value, "mimeType": "image/png"}});
        let said = json!({"id": "m-1", "role": "user", "content": content(&image)});
        let said: Message = serde_json::from_value(said).expect("a message");
        let start = Start::new("run-1", said);
        world
            .input(Input::Start(Box::new(start)))
            .expect("the run is idle");
        world.drive();
        assert_eq!(world.seen.requests().len(), usize::from(is_sent), "{value}");
        if let Outcome::Failed { failure } = world.outcome() {
            assert!(
                failure.to_string().contains("(image) is no base64"),
                "{failure}"
            );
        } else {
            assert!(is_sent, "{value}");
        }
    }
}

#[test]
fn of_what_a_tool_gave_back_the_app_is_told_once() {
    let world = world()
        .streams([call("a", "read", "{}")])
        .streams([call("b", "work", "{}")])
        .streams([text("Well.")])
        .turn();
    assert_eq!(world.outcome(), &Outcome::Success);
    assert_eq!(world.seen.requests().len(), 3);
    let warnings = world.seen.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("document of `run-1-result-0`"),
        "{warnings:?}"
    );
}

#[test]
fn what_is_attached_to_a_message_typed_meanwhile_is_told_in_words() {
    let mut world = world()
        .streams([call("a", "work", "{}")])
        .streams([text("Well.")]);
    world.send("Go on");
    world.drive_until(|world| world.seen.requests().len() == 1);
    world
        .input(Input::Steer(Box::new(attached("m-2"))))
        .expect("the run goes on");
    world.drive();
    assert_eq!(world.outcome(), &Outcome::Success);
    let warnings = world.seen.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("document of `m-2`"), "{warnings:?}");
}
