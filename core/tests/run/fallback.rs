//! Another model takes the place of one that failed, and models that the host chooses.

use crate::world::{Reply, ToolReply, World, config};
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    BlockContent, Credentials, Durability, Effect, ErrorKind, Failure, Fallback, FallbackModel,
    HookMoment, HookSpec, Incomplete, Input, ModelChoice, Outcome, Refusal, RunConfig, RunEvent,
    RunMachine,
};
use stepwell_core::tool::{OutputType, Tool};
use stepwell_core::{Timestamp, event::Message};
use stepwell_testing::reply::{Part, call, text};

/// A configuration of three models, each of another provider.
pub(crate) fn three() -> RunConfig {
    let mut first = config(Dialect::OpenAiChat);
    first.retry.attempts = 1;
    first.endpoint.model = "first".to_owned();
    first.fallback.models = [(Dialect::Anthropic, "second"), (Dialect::Gemini, "third")]
        .map(|(dialect, model)| {
            let mut endpoint = config(dialect).endpoint;
            endpoint.model = model.to_owned();
            FallbackModel::from(endpoint)
        })
        .into();
    first.tools = first
        .tools
        .register(Tool::new("work", "Works."))
        .expect("a sound tool");
    first
}

fn overloaded() -> Reply {
    Reply::Refused(Refusal {
        status: 529,
        ..Refusal::default()
    })
}

/// The changes of model, as `first to second after overloaded`.
fn changes(world: &World) -> Vec<String> {
    let events = world.seen.events();
    let changes = events.filter_map(|event| match event {
        RunEvent::ModelChanged {
            model,
            previous,
            after,
            ..
        } => Some(match after {
            Some(kind) => format!("{} to {} after {kind:?}", previous.model, model.model),
            None => format!("{} to {}", previous.model, model.model),
        }),
        _ => None,
    });
    changes.collect()
}

#[test]
fn the_next_model_answers_where_one_has_failed() {
    let faults = [
        (overloaded(), "Overloaded"),
        (
            Reply::Refused(Refusal {
                status: 429,
                ..Refusal::default()
            }),
            "RateLimit",
        ),
        (
            Reply::Refused(Refusal {
                status: 500,
                ..Refusal::default()
            }),
            "ServerError",
        ),
        (Reply::Unreachable, "Connection"),
        (Reply::Silent, "Timeout"),
        (Reply::Stalled(vec![Part::Cut]), "Timeout"),
        (Reply::Broken(vec![Part::Cut]), "Connection"),
        (Reply::Complete(vec![Part::Cut]), "Connection"),
    ];
    for (fault, kind) in faults {
        let world = World::new(three())
            .reply(fault)
            .streams([text("I can.")])
            .turn();
        assert_eq!(*world.outcome(), Outcome::Success, "{kind}");
        assert_eq!(changes(&world), [format!("first to second after {kind}")]);
        assert_eq!(world.machine.transcript().text(), "I can.");
        let asked = world.seen.effect_names();
        let asked: Vec<_> = asked.iter().filter(|it| it.starts_with("open")).collect();
        assert_eq!(asked, ["open open:0:0", "open open:0:1"], "{kind}");
    }
}

#[test]
fn a_turn_fails_with_the_last_failure_once_no_model_is_left() {
    let world = World::new(three())
        .reply(overloaded())
        .reply(Reply::Unreachable)
        .reply(Reply::Silent)
        .turn();
    let problem = world.outcome().problem().map(|problem| problem.kind);
    assert_eq!(problem, Some(ErrorKind::Timeout));
    assert_eq!(
        changes(&world),
        [
            "first to second after Overloaded",
            "second to third after Connection"
        ]
    );
}

#[test]
fn a_model_is_retried_before_another_one_is_asked() {
    let mut config = three();
    config.retry.attempts = 2;
    let world = World::new(config)
        .reply(overloaded())
        .reply(overloaded())
        .reply(overloaded())
        .streams([text("I can.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(changes(&world), ["first to second after Overloaded"]);
    let names = world.seen.effect_names();
    assert_eq!(names.len(), 4, "each model has two tries: {names:?}");
}

#[test]
fn other_failures_end_the_turn_unless_they_are_named() {
    let refused = || {
        Reply::Refused(Refusal {
            status: 401,
            ..Refusal::default()
        })
    };
    let world = World::new(three()).reply(refused()).turn();
    let kind = world.outcome().problem().map(|problem| problem.kind);
    assert_eq!(kind, Some(ErrorKind::Authentication));

    let mut config = three();
    config.fallback.after.push(ErrorKind::Authentication);
    let world = World::new(config)
        .reply(refused())
        .streams([text("I can.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn what_the_user_has_seen_is_not_followed_by_another_model() {
    let broken = || Reply::Broken(vec![text("I th"), Part::Cut]);
    let world = World::new(three()).reply(broken()).turn();
    assert!(matches!(
        world.outcome(),
        Outcome::Failed {
            failure: Failure::Connection { .. }
        }
    ));
    assert_eq!(world.machine.transcript().text(), "I th");

    let mut config = three();
    config.fallback.after_text = true;
    config.durability = Durability::Blocks { attempts: 1 };
    let world = World::new(config)
        .reply(broken())
        .streams([text("I can.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(changes(&world), ["first to second after Connection"]);
    let said: Vec<_> = world
        .machine
        .transcript()
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Assistant(message) => message.content.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["I th", "I can."], "each in a message of its own");
    let second = &world.seen.requests()[1];
    assert!(!second.to_string().contains("I th"), "{second}");
}

#[test]
fn a_turn_stays_with_the_model_that_answers() {
    let world = World::new(three())
        .reply(overloaded())
        .streams([call("a", "work", "{}")])
        .streams([text("Done.")])
        .tool("work", |_| ToolReply::text("worked"))
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(changes(&world), ["first to second after Overloaded"]);
}

#[test]
fn the_history_is_made_valid_for_the_model_that_takes_over() {
    let world = World::new(three())
        .streams([
            Part::Reasoning("Hm.".into()),
            text("Let me see."),
            call("a", "work", "{}"),
        ])
        .reply(overloaded())
        .streams([text("Done.")])
        .tool("work", |_| ToolReply::text("worked"))
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let last = world.seen.requests().pop().expect("a request");
    assert_eq!(last["model"], "second");
    assert!(last.to_string().contains("tool_result"), "{last}");
}

#[test]
fn a_model_that_rests_is_asked_last() {
    let mut world = World::new(three());
    let until = Timestamp(world.now + 5_000);
    world
        .input(Input::ModelResting { model: 0, until })
        .expect("it is valid in every state");
    let world = world.streams([text("I can.")]).turn();
    assert_eq!(changes(&world), ["first to second"]);

    let mut world = World::new(three());
    for model in 0..3 {
        world
            .input(Input::ModelResting { model, until })
            .expect("it is valid in every state");
    }
    let world = world.streams([text("I can.")]).turn();
    assert!(changes(&world).is_empty(), "all of them rest");

    let mut world = World::new(three());
    let until = Timestamp(world.now);
    world
        .input(Input::ModelResting { model: 0, until })
        .expect("it is valid in every state");
    let world = world.streams([text("I can.")]).turn();
    assert!(changes(&world).is_empty(), "its rest is over");
}

#[test]
fn an_empty_answer_or_one_of_another_type_may_be_asked_of_another_model() {
    let mut config = three();
    config.fallback.after = vec![ErrorKind::OutputInvalid];
    let world = World::new(config.clone())
        .streams([])
        .streams([text("I can.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(changes(&world), ["first to second after OutputInvalid"]);

    let schema = serde_json::json!({"type": "object", "properties": {"n": {"type": "integer"}},
        "required": ["n"]});
    let output = OutputType::new("Number", schema)
        .expect("a type")
        .retries(1);
    config.output = Some(output);
    // The second model has as many attempts as the first.
    let none = || [text("none")];
    let world = World::new(config.clone())
        .streams(none())
        .streams(none())
        .streams(none())
        .streams([text(r#"{"n": 1}"#)])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success, "{:?}", changes(&world));
    assert_eq!(changes(&world), ["first to second after OutputInvalid"]);
    let world = World::new(config)
        .streams([text("none")])
        .streams([text("none")])
        .streams([text(r#"{"n": 1}"#)])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success, "{:?}", changes(&world));
    assert_eq!(changes(&world), ["first to second after OutputInvalid"]);
    assert_eq!(world.seen.requests().len(), 3);
}

#[test]
fn a_filtered_answer_may_be_asked_of_another_model() {
    let filtered = || {
        Reply::Bytes(
            b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\ndata: [DONE]\n\n"
                .to_vec(),
            crate::world::Ending::Complete,
        )
    };
    let world = World::new(three()).reply(filtered()).turn();
    let reason = Incomplete::ContentFilter;
    assert_eq!(*world.outcome(), Outcome::Incomplete { reason });

    let mut config = three();
    config.fallback.after = vec![ErrorKind::ContentFilter];
    let world = World::new(config)
        .reply(filtered())
        .streams([text("I can.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn a_request_too_long_for_one_model_goes_to_a_larger_one() {
    let mut config = three();
    config.fallback.after = vec![ErrorKind::ContextTooLong];
    let world = World::new(config)
        .reply(Reply::Refused(Refusal {
            status: 400,
            body: br#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#.to_vec(),
            ..Refusal::default()
        }))
        .streams([text("I can.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(changes(&world), ["first to second after ContextTooLong"]);
}

#[test]
fn each_model_has_credentials_and_settings_of_its_own() {
    let mut config = three();
    config.settings.temperature = Some(0.5);
    config.settings.extra.insert("own".to_owned(), true.into());
    let second = &mut config.fallback.models[0];
    second.credentials = Credentials::Host;
    second.settings = Some(Default::default());
    let mut world = World::new(config)
        .reply(overloaded())
        .reply(overloaded())
        .streams([text("I can.")]);
    world.credentials.push_back(Ok("sk-of-now"));
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let names = world.seen.effect_names();
    assert_eq!(names[1], "authorize authorize:0:1", "{names:?}");
    let requests = world.seen.requests();
    assert!(requests[0].get("temperature").is_some());
    assert!(requests[1].get("temperature").is_none());
    // The third has no settings of its own, and is of another provider.
    assert!(requests[2].to_string().contains("0.5"), "{}", requests[2]);
    assert!(requests[0].get("own").is_some() && requests[2].get("own").is_none());
}

#[test]
fn another_model_of_the_provider_has_the_providers_own_settings() {
    let mut config = three();
    config.settings.extra.insert("own".to_owned(), true.into());
    config.fallback.models[0].endpoint = config.endpoint.clone();
    config.fallback.models[0].endpoint.model = "second".to_owned();
    let world = World::new(config)
        .reply(overloaded())
        .streams([text("I can.")])
        .turn();
    let requests = world.seen.requests();
    assert_eq!(requests[1]["model"], "second");
    assert_eq!(requests[1]["own"], true);
}

#[test]
fn a_model_alone_may_be_an_agent_and_one_among_others_may_not() {
    let mut config = three();
    assert_eq!(config.check_fallback(), Ok(()));
    config.fallback.models[1].endpoint = crate::world::config(Dialect::AgUi).endpoint;
    assert!(config.check_fallback().is_err());
    let alone = crate::world::config(Dialect::AgUi);
    assert_eq!(alone.check_fallback(), Ok(()));
}

#[test]
fn the_host_chooses_the_model_of_each_hop() {
    let mut config = three();
    config.fallback.choice = ModelChoice::Host;
    let mut world = World::new(config.clone())
        .streams([call("a", "work", "{}")])
        .streams([text("Done.")])
        .tool("work", |_| ToolReply::text("worked"));
    world.models = [Ok(2), Ok(1)].into();
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let asked: Vec<_> = world
        .seen
        .effects()
        .filter_map(|(_, effect)| match effect {
            Effect::ChooseModel { context } => Some(context.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(asked.len(), 2);
    for context in &asked {
        let models = context.models.iter();
        let names: Vec<_> = models.map(|model| &*model.name.model).collect();
        assert_eq!(names, ["first", "second", "third"]);
        assert_eq!(context.number_of("second"), Some(1));
        assert_eq!(context.number_of("fourth"), None);
    }
    assert_eq!((asked[0].current, &*asked[0].tools), (0, &[][..]));
    assert_eq!(
        (asked[1].current, &*asked[1].tools),
        (2, &["work".to_owned()][..])
    );
    assert_eq!(changes(&world), ["first to third", "third to second"]);

    // A host that cannot choose, and one that chooses what there is not.
    let mut world = World::new(config).streams([text("Done.")]);
    world.models = [Err("no rule")].into();
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(changes(&world).is_empty());
}

#[test]
fn a_host_that_chooses_what_has_failed_is_not_followed_for_ever() {
    let mut config = three();
    config.fallback.after = vec![ErrorKind::OutputInvalid];
    config.fallback.choice = ModelChoice::Host;
    let schema = serde_json::json!({"type": "object", "properties": {"n": {"type": "integer"}},
        "required": ["n"]});
    config.output = Some(
        OutputType::new("Number", schema)
            .expect("a type")
            .retries(0),
    );
    let mut world = World::new(config);
    world.fallback_reply = Some(Reply::Complete(vec![text("none")]));
    world.models = [Ok(0); 4].into();
    let world = world.turn();
    let problem = world.outcome().problem().map(|problem| problem.kind);
    assert_eq!(problem, Some(ErrorKind::OutputInvalid));
    assert_eq!(world.seen.requests().len(), 3, "each model is asked once");
}

#[test]
fn a_model_that_does_not_exist_is_a_mistake_of_the_host() {
    let mut config = three();
    config.fallback.choice = ModelChoice::Host;
    let mut world = World::new(config).streams([text("Done.")]);
    world.send("Go on");
    let effect = *world.given.iter().next().expect("the host is asked");
    let error = world
        .machine
        .handle(
            Input::ModelChosen { effect, model: 3 },
            Timestamp(world.now),
        )
        .expect_err("there are three");
    assert_eq!(
        error.to_string(),
        "there is no model 3: choose one from 0 to 2"
    );
    world.models = [Ok(0)].into();
    world
        .input(Input::ModelChosen { effect, model: 0 })
        .expect("it still waits for a choice");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn a_turn_goes_on_with_its_model_on_another_host() {
    let mut config = three();
    config.durability = Durability::Blocks { attempts: 1 };
    let mut world = World::new(config)
        .reply(overloaded())
        .reply(Reply::Silent)
        .streams([call("a", "work", "{}")])
        .streams([text("Done.")])
        .tool("work", |_| ToolReply::text("worked"));
    world.send("Go on");
    world.drive_until(|world| world.seen.requests().len() == 2);
    let snapshot = world.machine.snapshot();
    let machine = RunMachine::revive(&snapshot, world.config.clone(), Timestamp(world.now));
    world.take_over(machine.expect("a snapshot"));
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let models: Vec<_> = world.seen.requests();
    let models: Vec<_> = models
        .iter()
        .map(|request| request["model"].clone())
        .collect();
    assert_eq!(models, ["first", "second", "second", "second"]);
    let blocks = &world.store.turn.turn.blocks;
    let changed = blocks
        .iter()
        .filter(|block| matches!(block.block.content, BlockContent::ModelChanged { .. }));
    assert_eq!(changed.count(), 1);
}

#[test]
fn an_agent_takes_no_models_place() {
    let mut config = three();
    let agent = crate::world::config(Dialect::AgUi).endpoint;
    config.fallback.models.push(agent.into());
    let error = config.check_fallback().expect_err("an agent");
    assert!(error.to_string().contains("AG-UI agent"), "{error}");
}

#[test]
fn a_rest_lasts_as_long_as_the_configuration_says() {
    let fallback = Fallback::default();
    assert_eq!(fallback.rest, Duration::from_secs(60));
}

#[test]
fn a_filtered_answer_that_a_hook_has_seen_goes_to_another_model() {
    let mut config = three();
    config.fallback.after = vec![ErrorKind::ContentFilter];
    config.fallback.after_text = true;
    config.hooks = vec![HookSpec::new("look", [HookMoment::AfterAnswer])];
    let frames = [
        r#"{"id":"x","choices":[{"index":0,"delta":{"content":"t"},"finish_reason":null}]}"#,
        r#"{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}"#,
        "[DONE]",
    ];
    let frames = frames.map(|frame| format!("data: {frame}\n\n")).concat();
    let world = World::new(config)
        .reply(Reply::Bytes(
            frames.into_bytes(),
            crate::world::Ending::Complete,
        ))
        .streams([text("I can.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(changes(&world), ["first to second after ContentFilter"]);
    // What was shown of the first answer stays, and the second model is not sent it.
    let said = world.messages().iter().filter_map(|message| match message {
        Message::Assistant(said) => Some((said.content.as_deref(), said.metadata.is_some())),
        _ => None,
    });
    let said: Vec<_> = said.collect();
    assert_eq!(said, [(Some("t"), true), (Some("I can."), false)]);
    let sent = world.seen.requests()[1]["messages"].to_string();
    assert!(!sent.contains("assistant"), "{sent}");
}
