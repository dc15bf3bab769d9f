//! Typed answers.

use crate::world::{Cut, Reply, ToolReply, World, offer};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Message, MessageContent};
use stepwell_core::run::{
    CORRECTION, Durability, EffectId, Failure, Incomplete, Input, LimitPolicy, Outcome, Output,
    RunEvent, RunMachine, StateKind, TimerKey,
};
use stepwell_core::tool::{OutputMode, OutputType, Tool};
use stepwell_testing::history::check_history;
use stepwell_testing::reply::{Part, call, text};

fn trip() -> OutputType {
    let schema = json!({"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"]});
    OutputType::new("Trip", schema).expect("a type")
}

fn world(dialect: Dialect, output: OutputType) -> World {
    crate::world::with(dialect, |config| {
        offer(config, Tool::new("look", "Looks."));
        config.output = Some(output);
    })
    .tool("look", |_| ToolReply::text("seen"))
}

fn in_words() -> World {
    world(Dialect::OpenAiChat, trip().mode(OutputMode::Prompt))
}

fn by_tool() -> World {
    world(Dialect::OpenAiChat, trip().mode(OutputMode::Tool))
}

const FITS: &str = r#"{"city":"Bergen","days":3}"#;
const MISFIT: &str = r#"{"city":"Bergen","days":"three"}"#;

fn value() -> Value {
    json!({"city": "Bergen", "days": 3})
}

fn refusals(world: &World) -> Vec<(String, u32)> {
    let events = world.seen.events();
    let refused = events.filter_map(|event| match event {
        RunEvent::OutputRefused {
            reason,
            retries_left,
            ..
        } => Some((reason.clone(), *retries_left)),
        _ => None,
    });
    refused.collect()
}

/// What a UI makes of the updates; each begins anew with its hop.
fn shown(outputs: &[Output]) -> Vec<Value> {
    let mut views: Vec<(u32, Value)> = Vec::new();
    for output in outputs {
        let Output::Event(RunEvent::PartialOutput(update)) = output else {
            continue;
        };
        if views.last().is_none_or(|view| view.0 != update.hop) {
            views.push((update.hop, Value::Null));
        }
        let (_, view) = views.last_mut().expect("there is one");
        for change in &update.changes {
            change.apply(view).expect("in order");
        }
    }
    views.into_iter().map(|(_, view)| view).collect()
}

#[track_caller]
fn is_legal(world: &World) {
    let messages = world.machine.transcript().messages();
    check_history(messages).unwrap_or_else(|fault| panic!("{fault}: {messages:#?}"));
}

#[test]
fn an_answer_in_words_is_read_out_of_them() {
    for said in [
        FITS.to_owned(),
        format!("Here it is:\n```json\n{FITS}\n```\nGood?"),
        format!("The [answer] is {FITS}, I hope."),
    ] {
        let world = in_words().streams([text(&said)]).turn();
        assert_eq!(world.machine.outcome(), Some(&Outcome::Success), "{said}");
        assert_eq!(world.machine.output(), Some(&value()), "{said}");
        assert_eq!(world.machine.transcript().text(), said);
        assert_eq!(shown(&world.seen.outputs), [value()], "{said}");
        let request = &world.seen.requests()[0];
        let told = request["messages"][0]["content"].as_str().unwrap();
        assert!(told.contains("Answer with JSON that fits"), "{told}");
    }
}

#[test]
fn an_answer_natively_is_held_to_its_schema_by_the_provider() {
    let world = crate::world::with(Dialect::OpenAiChat, |config| config.output = Some(trip()));
    let world = world.streams([text(FITS)]).turn();
    assert_eq!(world.machine.output(), Some(&value()));
    let form = &world.seen.requests()[0]["response_format"];
    assert_eq!(form["json_schema"]["name"], "Trip", "{form}");
    assert_eq!(form["json_schema"]["strict"], true);
}

#[test]
fn the_final_tool_is_never_run_and_its_arguments_are_the_answer() {
    for dialect in [Dialect::OpenAiChat, Dialect::AgUi] {
        let world = world(dialect, trip().mode(OutputMode::Tool));
        let world = world
            .streams([text("Let me see."), call("c", "look", "{}")])
            .streams([text("There."), call("f", "final_result", FITS)])
            .turn();
        assert_eq!(world.machine.outcome(), Some(&Outcome::Success));
        assert_eq!(world.machine.output(), Some(&value()));
        assert_eq!(world.machine.transcript().text(), "Let me see.There.");
        assert_eq!(
            world.seen.invocations().len(),
            1,
            "only the app's tool is run"
        );
        assert_eq!(shown(&world.seen.outputs), [value()]);
        is_legal(&world);
        let tools = world.seen.requests()[0]["tools"].clone();
        assert!(tools.to_string().contains("final_result"), "{tools}");
    }
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again_with_the_path_and_the_reason() {
    let world = in_words()
        .streams([text(MISFIT)])
        .streams([text("I would rather not.")])
        .streams([text(FITS)])
        .turn();
    assert_eq!(world.machine.output(), Some(&value()));
    let refused = refusals(&world);
    assert!(refused[0].0.contains("(at /days)"), "{refused:?}");
    assert_eq!(refused[0].1, 1);
    assert_eq!(refused[1], ("there is no JSON in the answer".to_owned(), 0));
    let messages = world.machine.transcript().messages();
    let Message::User(told) = &messages[2] else {
        panic!("{messages:?}");
    };
    assert_eq!(told.metadata.as_ref().unwrap()[CORRECTION], true);
    let MessageContent::Text(words) = &told.content else {
        panic!("{told:?}");
    };
    assert!(words.contains("(at /days)"), "{words}");
    let last = world.seen.requests()[1]["messages"].clone();
    assert_eq!(last.as_array().unwrap().last().unwrap()["content"], *words);
    let views = shown(&world.seen.outputs);
    assert_eq!(views, [json!({"city": "Bergen", "days": "three"}), value()]);
}

#[test]
fn a_final_call_that_does_not_fit_has_a_result_that_says_why() {
    let world = by_tool()
        .streams([call("f", "final_result", MISFIT)])
        .streams([call("g", "final_result", r#"{"city": "Ber"#)])
        .streams([call("h", "final_result", FITS)])
        .turn();
    assert_eq!(world.machine.output(), Some(&value()));
    is_legal(&world);
    let results: Vec<_> = world
        .machine
        .transcript()
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Tool(result) => Some(result.content.to_text()),
            _ => None,
        })
        .collect();
    assert!(results[0].contains("(at /days)"), "{results:?}");
    assert!(results[1].contains("no JSON"), "{results:?}");
    assert_eq!(results[2], "the answer was taken");
}

#[test]
fn so_often_and_no_more() {
    for (mut world, said) in [
        (in_words(), text(MISFIT)),
        (by_tool(), call("f", "final_result", MISFIT)),
    ] {
        world.fallback_reply = Some(Reply::Complete(vec![said]));
        let world = world.turn();
        let Some(Outcome::Failed {
            failure: Failure::OutputInvalid { reason, text },
        }) = world.machine.outcome()
        else {
            panic!("{:?}", world.machine.outcome());
        };
        assert!(reason.contains("(at /days)"), "{reason}");
        assert_eq!(**text, *MISFIT, "the text is kept");
        assert_eq!(world.machine.hop(), 2, "asked again twice");
        assert_eq!(world.machine.output(), None);
        is_legal(&world);
    }
}

#[test]
fn a_cut_answer_and_a_refusal_are_not_asked_for_again() {
    let cut = Part::Raw(
        "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"city\\\":\"}}]}\n\n\
         data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n"
            .to_owned(),
    );
    let refused = Part::Raw(
        "data: {\"choices\":[{\"delta\":{\"refusal\":\"No.\"}}]}\n\n\
         data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
            .to_owned(),
    );
    let cut_call = Part::Raw(
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"f\",\"function\":{\"name\":\"final_result\",\"arguments\":\"{\\\"city\"}}]}}]}\n\n\
         data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n"
            .to_owned(),
    );
    for (world, said, reason) in [
        (in_words(), cut, Incomplete::Length),
        (in_words(), refused, Incomplete::Refusal),
        (by_tool(), cut_call, Incomplete::Length),
    ] {
        let world = world.streams([said, Part::Cut]).turn();
        assert_eq!(
            world.machine.outcome(),
            Some(&Outcome::Incomplete { reason })
        );
        assert_eq!(world.seen.requests().len(), 1);
        is_legal(&world);
    }
}

#[test]
fn tools_beside_the_answer_are_run_and_end_the_turn() {
    let world = by_tool()
        .streams([call("f", "final_result", FITS), call("c", "look", "{}")])
        .turn();
    assert_eq!(world.machine.output(), Some(&value()));
    assert_eq!(world.seen.invocations().len(), 1);
    assert_eq!(world.seen.requests().len(), 1);
    is_legal(&world);
    // One that does not fit goes on when they are done.
    let world = by_tool()
        .streams([call("f", "final_result", MISFIT), call("c", "look", "{}")])
        .streams([
            call("g", "final_result", FITS),
            call("h", "final_result", "{}"),
        ])
        .turn();
    assert_eq!(world.machine.output(), Some(&value()));
    is_legal(&world);
}

#[test]
fn what_the_user_types_meanwhile_is_answered_first() {
    for (mut world, first, last) in [
        (in_words(), text(FITS), text(r#"{"city":"Oslo","days":1}"#)),
        (
            by_tool(),
            call("f", "final_result", FITS),
            call("g", "final_result", r#"{"city":"Oslo","days":1}"#),
        ),
    ] {
        world = world.streams([first]).streams([last]);
        world.send("Go on");
        world.drive_to(StateKind::Streaming);
        let typed = Message::user("typed", "Rather Oslo");
        world.input(Input::Steer(Box::new(typed))).unwrap();
        world.drive();
        assert_eq!(
            world.machine.output(),
            Some(&json!({"city": "Oslo", "days": 1}))
        );
        assert!(
            refusals(&world).is_empty(),
            "that is no fault of the model's"
        );
        is_legal(&world);
    }
}

#[test]
fn the_final_tool_is_on_offer_where_the_turn_sums_up() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("look", "Looks."));
        config.output = Some(trip().mode(OutputMode::Tool));
        config.limits.max_tool_rounds = 1;
        config.limits.at_limit = LimitPolicy::SumUp;
    })
    .tool("look", |_| ToolReply::text("seen"));
    for id in ["a", "b"] {
        world = world.streams([call(id, "look", &format!("{{\"at\":\"{id}\"}}"))]);
    }
    let world = world.streams([call("f", "final_result", FITS)]).turn();
    assert_eq!(world.machine.output(), Some(&value()));
    let tools = &world.seen.requests()[2]["tools"];
    assert_eq!(tools.as_array().unwrap().len(), 1, "{tools}");
}

fn decoded(mode: OutputMode) -> World {
    world(Dialect::OpenAiChat, trip().mode(mode).decoded_by_host(true))
}

#[test]
fn the_hosts_decoder_has_the_last_word() {
    for (mode, said) in [
        (OutputMode::Prompt, text(FITS)),
        (OutputMode::Tool, call("f", "final_result", FITS)),
    ] {
        let mut world = decoded(mode);
        world.decodes.push_back(|value| {
            assert_eq!(value["city"], "Bergen");
            Err("`days` is more than there are (at /days)".to_owned())
        });
        world.decodes.push_back(|_| Ok(()));
        world.fallback_reply = Some(Reply::Complete(vec![said]));
        let world = world.turn();
        assert_eq!(world.machine.output(), Some(&value()));
        assert_eq!(
            refusals(&world),
            [("`days` is more than there are (at /days)".to_owned(), 1)]
        );
        is_legal(&world);
    }
}

#[test]
fn a_host_that_never_decodes_ends_the_turn_and_the_text_is_kept() {
    let mut world = decoded(OutputMode::Prompt).streams([text(FITS)]);
    world.send("Go on");
    world.drive_to(StateKind::Decoding);
    assert_eq!(world.machine.timeout_reason(), Some(TimerKey::Output));
    world.drive();
    let Some(Outcome::Failed {
        failure: Failure::OutputInvalid { reason, text },
    }) = world.machine.outcome()
    else {
        panic!("{:?}", world.machine.outcome());
    };
    assert!(reason.contains("in time"), "{reason}");
    assert_eq!(**text, *FITS);
    assert_eq!(world.machine.output(), None);
}

#[test]
fn the_host_is_asked_again_after_a_restart_and_only_what_is_stored_is_asked_for() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        config.output = Some(trip().mode(OutputMode::Tool).decoded_by_host(true));
        config.durability = Durability::Blocks { attempts: 2 };
        config.timeouts.tool = Some(Duration::from_secs(5));
    })
    .streams([call("f", "final_result", FITS)]);
    world.send("Go on");
    world.drive_to(StateKind::Decoding);
    let effect = EffectId::Output { hop: 0 };
    let is_out = |world: &World| world.seen.effects().any(|(id, _)| id == effect);
    while !is_out(&world) {
        assert!(world.step(), "the host is asked once the call is stored");
    }
    let now = Timestamp(world.now);
    let snapshot = world.machine.snapshot();
    let revived = RunMachine::revive(&snapshot, Arc::clone(&world.config), now);
    let mut revived = revived.expect("readable");
    let mut again = false;
    while let Some(output) = revived.poll_output() {
        again |= matches!(output, Output::Effect(id, _) if id == effect);
    }
    assert!(again);
    revived
        .handle(Input::OutputDecoded { effect }, now)
        .unwrap();
    assert_eq!(revived.output(), Some(&value()));
    assert_eq!(revived.outcome(), Some(&Outcome::Success));
}

#[test]
fn a_type_of_any_root_comes_out_as_it_is() {
    let cities = json!({"type": "array", "items": {"type": "string"}});
    let cities = OutputType::new("Cities", cities).unwrap();
    for (mode, said) in [
        (
            OutputMode::Native,
            text(r#"{"arguments":["Bergen","Oslo"]}"#),
        ),
        (OutputMode::Prompt, text(r#"["Bergen","Oslo"]"#)),
        (
            OutputMode::Tool,
            call("f", "final_result", r#"{"arguments":["Bergen","Oslo"]}"#),
        ),
    ] {
        let world = world(Dialect::OpenAiChat, cities.clone().mode(mode));
        let world = world.streams([said]).turn();
        assert_eq!(world.machine.output(), Some(&json!(["Bergen", "Oslo"])));
        assert_eq!(
            shown(&world.seen.outputs),
            [json!(["Bergen", "Oslo"])],
            "{mode:?}"
        );
    }
}

#[test]
fn however_the_bytes_are_cut_and_wherever_it_is_stored_the_same_is_shown() {
    let said = format!("So [1] it {{is}}:\n```json\n{FITS}\n```");
    for mode in [OutputMode::Prompt, OutputMode::Tool] {
        let answer = match mode {
            OutputMode::Tool => call("f", "final_result", FITS),
            _ => text(&said.replace("[1] ", "")),
        };
        let seen = |cut, restores| {
            let mut world = world(Dialect::OpenAiChat, trip().mode(mode));
            world.cut = cut;
            world.restores = restores;
            let world = world.streams([answer.clone()]).turn();
            assert_eq!(world.machine.output(), Some(&value()));
            shown(&world.seen.outputs)
        };
        for restores in [false, true] {
            for cut in [Cut::Whole, Cut::Every(1), Cut::Every(7), Cut::Seeded] {
                assert_eq!(
                    seen(cut, restores),
                    [value()],
                    "{mode:?} {cut:?} {restores}"
                );
            }
        }
    }
}

#[test]
fn a_bracket_that_was_no_beginning_may_stand_at_the_end_of_a_piece() {
    let mut world = in_words();
    world.cut = Cut::Whole;
    let said = [
        text("So ["),
        text("note] {\"city\":\"Ber"),
        text("gen\",\"days\":3} [2]"),
    ];
    let world = world.streams(said).turn();
    assert_eq!(world.machine.output(), Some(&value()));
    assert_eq!(shown(&world.seen.outputs), [value()]);
}

#[test]
fn what_a_provider_cannot_do_is_said_so_and_done_otherwise() {
    let world = world(Dialect::AgUi, trip().mode(OutputMode::Native));
    let world = world.streams([call("f", "final_result", FITS)]).turn();
    assert_eq!(world.machine.output(), Some(&value()));
    let warned = world.seen.events().any(|event| {
        matches!(event, RunEvent::Warning { message }
            if message.contains("`Trip` by a final tool"))
    });
    assert!(warned, "{:?}", world.seen.events().collect::<Vec<_>>());
}
