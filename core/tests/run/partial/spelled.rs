//! Arguments that the model writes otherwise than the tool has them.

use super::{follow, piecemeal};
use crate::world::{ToolReply, World, offer};
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::dialect::{Dialect, ResponseFormat};
use stepwell_core::run::RunEvent;
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{Part, text as said};

fn world(dialect: Dialect, schema: &Value) -> World {
    crate::world::with(dialect, |config| {
        offer(
            config,
            Tool::new("work", "Works.").parameters(schema.clone()),
        );
        config.partial_arguments = true;
    })
    .tool("work", |_| ToolReply::text("done"))
}

/// What the tool is given of a call that is written so, and what the model is sent of it; the partial arguments are held
/// to be what the tool is given.
fn given(schema: &Value, text: &str, lengths: &[usize]) -> (Value, Value) {
    let mut world = world(Dialect::OpenAiChat, schema)
        .streams([Part::Calls(vec![piecemeal(1, text, lengths)])])
        .streams([said("Done.")]);
    let views = follow(&mut world);
    let value = world.seen.invocations()[0].arguments.value.clone();
    assert_eq!(views["c1"].value, value, "{text}");
    let sent = &world.seen.requests()[1]["messages"][1]["tool_calls"][0]["function"]["arguments"];
    let sent = serde_json::from_str(sent.as_str().expect("text")).expect("JSON");
    (value, sent)
}

fn union() -> Value {
    json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}, {"type": "string"}, {"maxProperties": 0}]})
}

fn names() -> Value {
    json!({"type": "object", "properties": {"user name": {}, "a/b~c": {"type": "object"}, "d": {}}})
}

proptest! {
    #[test]
    fn the_tool_is_given_its_own_arguments(
        lengths in prop::collection::vec(1_usize..6, 1..6),
        own in prop::sample::select(vec![
            json!({"a": {"b": [1, "x"]}}), json!({}), json!({"a": 1, "c": {"d": "e"}}), json!("text"),
        ]),
        is_wrapped in any::<bool>(),
    ) {
        let wrapped = json!({"arguments": own});
        let is_wrapped = is_wrapped || !own.is_object();
        let written = if is_wrapped { wrapped.to_string() } else { own.to_string() };
        // A call without the wrapper is sent back with it: the schema that the model is shown has it.
        prop_assert_eq!(given(&union(), &written, &lengths), (own, wrapped));
    }

    #[test]
    fn other_names_are_the_tools_own_again(lengths in prop::collection::vec(1_usize..6, 1..6)) {
        // The provider takes all names: the model is shown the tool's own.
        let written = json!({"user_name": "Ann", "a_b_c": {"user_name": [1]}, "d": "e"});
        let own = json!({"user name": "Ann", "a/b~c": {"user_name": [1]}, "d": "e"});
        prop_assert_eq!(given(&names(), &written.to_string(), &lengths), (own.clone(), own));
    }
}

#[test]
fn what_was_left_out_or_loosened_is_said_once_a_turn() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        let open = json!({"type": "array", "prefixItems": [{}], "unevaluatedItems": false});
        offer(config, Tool::new("bad", "").parameters(json!({"properties": {"at": open}})));
        offer(config, Tool::new("work", "Works."));
        config.settings.response_format = ResponseFormat::Schema {
            name: "form".to_owned(),
            schema: json!({"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}, "required": ["a"]}),
            strict: true,
        };
    })
    .tool("work", |_| ToolReply::text("done"))
    .streams([Part::Calls(vec![piecemeal(1, "{}", &[2])])])
    .streams([said("Done.")]);
    world.send("Go on");
    world.drive();
    let warnings: Vec<_> = world
        .seen
        .events()
        .filter_map(|event| match event {
            RunEvent::Warning { message } => Some(message.as_str()),
            _ => None,
        })
        .collect();
    let [left_out, loosened] = warnings[..] else {
        panic!("{warnings:?}");
    };
    assert!(
        left_out.contains("the tool `bad` is not offered"),
        "{left_out}"
    );
    assert!(loosened.contains("`minLength`"), "{loosened}");
}
