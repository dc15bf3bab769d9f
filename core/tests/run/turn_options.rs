//! What is otherwise for one turn than its configuration says: in its requests, its tools and its limits, also after it
//! came back, and never with a secret in what is stored.

use crate::journal::{parsed, written};
use crate::world::{ToolReply, World, offer};
use serde_json::json;
use std::sync::Arc;
use stepwell_core::dialect::{Dialect, GenerationSettings, UserField};
use stepwell_core::event::Message;
use stepwell_core::run::{
    Effect, Input, Limits, Outcome, RunMachine, Start, StateKind, TurnLimit, TurnOptions,
};
use stepwell_core::tool::{Tool, ToolRegistry};
use stepwell_core::{Timestamp, provider};
use stepwell_testing::reply::{call, text};

fn world() -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        config.instructions = Some("Be kind.".to_owned());
        config.settings.temperature = Some(0.5);
        for name in ["work", "rest"] {
            offer(config, Tool::new(name, "Does it."));
        }
    })
    .tool("work", |_| ToolReply::text("done"))
    .tool("rest", |_| ToolReply::text("rested"))
    .tool("own", |_| ToolReply::text("of the turn"))
}

fn start(world: &mut World, options: TurnOptions) {
    let start = Start::new("run-1", Message::user("user-1", "Go on")).with_options(options);
    world
        .input(Input::Start(Box::new(start)))
        .expect("the run is idle");
}

fn own_tool(name: &str) -> ToolRegistry {
    let tool = Tool::new(name, "Of this turn.");
    ToolRegistry::new().register(tool).expect("a good tool")
}

fn names(request: &serde_json::Value) -> Vec<&str> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools
        .filter_map(|tool| tool["function"]["name"].as_str())
        .collect()
}

#[test]
fn the_turn_is_asked_for_as_its_options_say() {
    let mut world = world().streams([text("Yes.")]);
    let settings = GenerationSettings {
        temperature: Some(0.0),
        ..GenerationSettings::default()
    };
    let options = TurnOptions {
        instructions: Some("Be brief.".to_owned()),
        tool_names: Some(vec!["rest".to_owned()]),
        tools: own_tool("own"),
        settings: Some(settings),
        user: Some("user-7".to_owned()),
        ..TurnOptions::default()
    };
    let options = options
        .with_headers([("x-trace".to_owned(), "abc".to_owned())])
        .expect("a header");
    start(&mut world, options);
    world.drive();
    let request = &world.seen.requests()[0];
    assert_eq!(request["messages"][0]["content"], "Be brief.");
    assert_eq!(request["temperature"], 0.0);
    assert_eq!(request["user"], "user-7");
    assert_eq!(names(request), ["rest", "own"]);
    let sent = world.seen.effects().find_map(|(_, effect)| match effect {
        Effect::OpenStream { request } => Some(request.headers.clone()),
        _ => None,
    });
    let header = ("x-trace".to_owned(), "abc".to_owned());
    assert!(sent.expect("a request").contains(&header));
    assert!(world.seen.warnings().is_empty());
}

#[test]
fn without_options_the_turn_is_as_the_configuration_says() {
    let world = world().streams([text("Yes.")]).turn();
    let request = &world.seen.requests()[0];
    assert_eq!(request["messages"][0]["content"], "Be kind.");
    assert_eq!(names(request), ["work", "rest"]);
    assert!(!world.machine.snapshot().contains("options"));
}

#[test]
fn a_tool_that_the_turn_does_not_offer_is_not_run() {
    let mut world = world()
        .streams([call("call-1", "work", "{}")])
        .streams([text("Well.")]);
    let options = TurnOptions {
        tool_names: Some(vec!["rest".to_owned()]),
        ..TurnOptions::default()
    };
    start(&mut world, options);
    world.drive();
    assert!(world.seen.invocations().is_empty());
    assert!(world.result().contains("rest"), "{}", world.result());
}

#[test]
fn a_tool_of_the_turn_stands_in_the_place_of_the_one_of_its_name() {
    let mut world = world().streams([text("Yes.")]);
    let options = TurnOptions {
        tools: own_tool("work"),
        ..TurnOptions::default()
    };
    start(&mut world, options);
    world.drive();
    let request = &world.seen.requests()[0];
    assert_eq!(names(request), ["rest", "work"]);
    assert_eq!(
        request["tools"][1]["function"]["description"],
        "Of this turn."
    );
}

#[test]
fn a_name_that_no_tool_has_is_said() {
    let mut world = world().streams([text("Yes.")]);
    let options = TurnOptions {
        tool_names: Some(vec!["work".to_owned(), "wrok".to_owned()]),
        ..TurnOptions::default()
    };
    start(&mut world, options);
    world.drive();
    assert_eq!(
        world.seen.warnings(),
        ["the turn is to offer a tool named `wrok`, and there is none"]
    );
}

#[test]
fn the_turn_has_limits_of_its_own() {
    let mut world = world()
        .streams([call("call-1", "work", "{}")])
        .streams([call("call-2", "work", "{}")]);
    let options = TurnOptions {
        limits: Some(Limits {
            max_tool_rounds: 1,
            ..Limits::default()
        }),
        ..TurnOptions::default()
    };
    start(&mut world, options);
    world.drive();
    let limit = TurnLimit::MaxToolRounds { max: 1 };
    assert_eq!(*world.outcome(), Outcome::LimitReached { limit });
}

#[test]
fn a_turn_that_comes_back_goes_on_with_its_options_and_without_its_headers() {
    for revives in [false, true] {
        let mut world = world()
            .streams([call("call-1", "own", "{}")])
            .streams([text("Yes.")]);
        let options = TurnOptions {
            instructions: Some("Be brief.".to_owned()),
            tools: own_tool("own"),
            user: Some("user-7".to_owned()),
            ..TurnOptions::default()
        };
        let options = options
            .with_headers([("x-token".to_owned(), "sk-turn".to_owned())])
            .expect("a header");
        start(&mut world, options);
        world.drive_to(StateKind::ExecutingTools);
        let snapshot = world.machine.snapshot();
        assert!(!snapshot.contains("sk-turn") && !snapshot.contains("x-token"));
        let config = Arc::clone(&world.config);
        if revives {
            let machine = RunMachine::revive(&snapshot, config, Timestamp(world.now));
            world.take_over(machine.expect("it was just written"));
        } else {
            let machine = RunMachine::restore(&snapshot, config);
            world.put_back(machine.expect("it was just written"));
        }
        world.drive();
        let request = &world.seen.requests()[1];
        assert_eq!(request["messages"][0]["content"], "Be brief.");
        assert_eq!(request["user"], "user-7");
        assert_eq!(names(request), ["work", "rest", "own"]);
        assert!(world.seen.warnings().is_empty(), "{revives}");
        let headers = world.seen.effects().filter_map(|(_, effect)| match effect {
            Effect::OpenStream { request } => Some(&request.headers),
            _ => None,
        });
        let has_token = headers.map(|headers| headers.iter().any(|(name, _)| name == "x-token"));
        assert_eq!(has_token.collect::<Vec<_>>(), [true, false]);
    }
}

#[test]
fn i04_a_restore_after_every_input_keeps_the_options() {
    let options = || TurnOptions {
        instructions: Some("Be brief.".to_owned()),
        tool_names: Some(vec!["work".to_owned()]),
        tools: own_tool("own"),
        ..TurnOptions::default()
    };
    let run = |restores| {
        let mut world = world()
            .streams([call("call-1", "own", "{}")])
            .streams([text("Yes.")]);
        world.restores = restores;
        start(&mut world, options());
        world.drive();
        world
    };
    let (plain, restored) = (run(false), run(true));
    assert_eq!(restored.seen.outputs, plain.seen.outputs);
    assert_eq!(restored.machine.snapshot(), plain.machine.snapshot());
}

#[test]
fn a_journal_replays_with_the_options_and_shows_no_header() {
    let mut world = world().journaled().streams([call("call-1", "own", "{}")]);
    world = world.streams([text("Yes.")]);
    let options = TurnOptions {
        instructions: Some("Zebra".to_owned()),
        tools: own_tool("own"),
        user: Some("Quagga".to_owned()),
        ..TurnOptions::default()
    };
    let options = options
        .with_headers([("x-token".to_owned(), "sk-turn".to_owned())])
        .expect("a header");
    start(&mut world, options);
    world.drive();
    let text = written(&mut world);
    assert!(text.contains("x-token") && !text.contains("sk-turn"));
    let journal = parsed(&text);
    journal.replay().expect("it replays");
    let text = journal.redact();
    for word in ["Zebra", "Quagga", "Of this turn", "sk-turn"] {
        assert!(!text.contains(word), "{word}");
    }
    assert!(text.contains(r#""name":"own""#), "the names of tools stay");
}

#[test]
fn each_provider_is_told_of_the_user_in_its_own_field() {
    for (name, api, path) in [
        ("openai", "chat", "/safety_identifier"),
        ("openai", "responses", "/safety_identifier"),
        ("openrouter", "chat", "/user"),
        ("groq", "chat", "/user"),
        ("anthropic", "messages", "/metadata/user_id"),
    ] {
        let endpoint = provider::find(name)
            .expect("it is known")
            .endpoint(Some(api), "m", None, Some("k".into()))
            .expect("nothing is missing");
        let mut config = stepwell_core::run::RunConfig::new(endpoint);
        config.settings.user = Some("user-7".to_owned());
        let mut machine = RunMachine::new(Arc::new(config), "thread".into(), Default::default());
        let start = Start::new("run-1", Message::user("user-1", "Go on"));
        machine.start(start, Timestamp(0)).expect("it is idle");
        let bodies =
            std::iter::from_fn(|| machine.poll_output()).filter_map(|output| match output {
                stepwell_core::run::Output::Effect(_, Effect::OpenStream { request }) => {
                    serde_json::from_slice::<serde_json::Value>(&request.body).ok()
                }
                _ => None,
            });
        let bodies: Vec<_> = bodies.collect();
        assert_eq!(
            bodies[0].pointer(path),
            Some(&json!("user-7")),
            "{name}: {}",
            bodies[0]
        );
    }
}

#[test]
fn who_cannot_be_told_of_the_user_is_named() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        config.endpoint.quirks.user = UserField::Never;
    })
    .streams([text("Yes.")]);
    let options = TurnOptions {
        user: Some("user-7".to_owned()),
        ..TurnOptions::default()
    };
    start(&mut world, options);
    world.drive();
    assert_eq!(
        world.seen.warnings(),
        ["openai-compatible is not told of the user: its requests have no field for one"]
    );
}
