//! Hooks: asked in their order at each moment, and what they change or refuse.

use crate::durability::kinds;
use crate::turn::secret_numbers;
use crate::world::{Hook, Reply, ToolReply, World, offer};
use serde_json::json;
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{
    Durability, Effect, EffectId, ErrorKind, Failure, HookAnswer, HookMoment, HookPlace, HookSpec,
    HookSubject, Input, Misuse, Outcome, Output, RunEvent, RunMachine, Start, StateKind, TimerKey,
};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::{ToolCallStatus, Transcript};
use stepwell_core::{CallKey, Timestamp};
use stepwell_testing::reply::{Part, call, text};

/// A world whose hooks are asked at these moments, one for each.
fn asking(moments: &[HookMoment]) -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        let parameters = json!({"type": "object", "properties": {"to": {"type": "string"}}});
        offer(config, Tool::new("work", "Works.").parameters(parameters));
        offer(config, Tool::new("ask", "Asks.").requires_approval());
        let hook =
            |(at, moment): (usize, &HookMoment)| HookSpec::new(format!("hook-{at}"), [*moment]);
        config.hooks = moments.iter().enumerate().map(hook).collect();
    })
    .tool("work", |call| ToolReply::text(&call.arguments.raw))
    .tool("ask", |_| ToolReply::text("asked"))
}

trait Hooked {
    fn hook(self, look: impl FnMut(&HookSubject) -> Option<HookAnswer> + 'static) -> Self;
    fn until_it_looks(self) -> Self;
    fn hook_says(self, answer: HookAnswer) -> Self;
}

impl Hooked for World {
    /// The next hook that is asked says this.
    fn hook(mut self, look: impl FnMut(&HookSubject) -> Option<HookAnswer> + 'static) -> Self {
        let look: Hook = Box::new(look);
        self.hooks.push_back(look);
        self
    }

    /// The user says something, and all is carried out until a hook is asked that does not answer.
    fn until_it_looks(mut self) -> Self {
        self.send("Go on");
        let looks = |id: &EffectId| matches!(id, EffectId::Hook { .. });
        while !(self.given.iter().any(looks) && self.scheduled.is_empty()) {
            assert!(self.step(), "no hook is asked");
        }
        self
    }

    fn hook_says(self, answer: HookAnswer) -> Self {
        self.hook(move |_| Some(answer.clone()))
    }
}

fn refused(world: &World) -> (String, HookMoment, String) {
    match world.outcome() {
        Outcome::Failed {
            failure:
                Failure::RefusedByHook {
                    hook,
                    moment,
                    reason,
                },
        } => (hook.clone(), *moment, reason.clone()),
        other => panic!("no hook has refused: {other:?}"),
    }
}

fn told(world: &World) -> Vec<(&str, &str)> {
    let events = world.seen.events();
    let refusals = events.filter_map(|event| match event {
        RunEvent::HookRefused { hook, reason, .. } => Some((&**hook, &**reason)),
        _ => None,
    });
    refusals.collect()
}

const REQUEST: HookMoment = HookMoment::BeforeRequest;
const ANSWER: HookMoment = HookMoment::AfterAnswer;
const CALL: HookMoment = HookMoment::BeforeTool;
const RESULT: HookMoment = HookMoment::AfterTool;

#[test]
fn each_moment_is_asked_in_its_place_and_nothing_else_changes() {
    let world = asking(&HookMoment::ALL)
        .streams([text("Hm."), call("call-1", "work", "{}")])
        .streams([text("Yes.")])
        .turn();
    assert_eq!(
        world.seen.effect_names(),
        [
            "hook hook:before_request:0:0",
            "open open:0:0",
            "hook hook:after_answer:0:1",
            "hook hook:before_tool:0:0:2",
            "run tool:0:0",
            "hook hook:after_tool:0:0:3",
            "hook hook:before_request:1:0",
            "open open:1:0",
            "hook hook:after_answer:1:1",
        ]
    );
    assert_eq!(*world.outcome(), Outcome::Success);
    let without = asking(&[])
        .streams([text("Hm."), call("call-1", "work", "{}")])
        .streams([text("Yes.")])
        .turn();
    assert_eq!(world.messages(), without.messages());
    assert_eq!(world.seen.requests(), without.seen.requests());
}

#[test]
fn several_hooks_are_asked_in_their_order_and_see_what_was_changed() {
    let world = asking(&[CALL, CALL])
        .hook_says(HookAnswer::arguments(&json!({"to": "Ada"})))
        .hook(|subject| {
            let HookSubject::Call(call) = subject else {
                panic!("{subject:?}")
            };
            assert_eq!(call.arguments.value, json!({"to": "Ada"}));
            Some(HookAnswer::arguments(&json!({"to": "Bob"})))
        })
        .streams([call("call-1", "work", r#"{"to":"Eve"}"#)])
        .streams([text("Yes.")])
        .turn();
    assert_eq!(
        world.result(),
        r#"{"to":"Bob"}"#,
        "and the model is not told of it"
    );
}

#[test]
fn a_request_is_sent_as_a_hook_changes_it_and_the_history_stays() {
    let world = asking(&[REQUEST])
        .hook_says(HookAnswer::ChangeRequest {
            instructions: Some("Be brief.".to_owned()),
            messages: Some(vec![Message::user("user-1", "What is ***?")]),
        })
        .reply(Reply::Unreachable)
        .streams([text("Yes.")])
        .turn();
    let requests = world.seen.requests();
    assert_eq!(requests.len(), 2, "asked once, tried twice");
    assert_eq!(requests[0], requests[1]);
    assert_eq!(
        requests[0]["messages"],
        json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is ***?"}])
    );
    assert_eq!(world.messages()[0], Message::user("user-1", "Go on"));
}

#[test]
fn a_refused_request_is_not_sent() {
    let world = asking(&[REQUEST])
        .hook_says(HookAnswer::refuse("not on Sundays"))
        .turn();
    assert_eq!(world.seen.effect_names(), ["hook hook:before_request:0:0"]);
    assert_eq!(
        refused(&world),
        ("hook-0".to_owned(), REQUEST, "not on Sundays".to_owned())
    );
    assert_eq!(told(&world), [("hook-0", "not on Sundays")]);
    let problem = world.outcome().problem().expect("it failed");
    assert_eq!(problem.kind, ErrorKind::Refused);
    assert!(problem.message.contains("hook-0") && problem.message.contains("Sundays"));
}

#[test]
fn a_refused_answer_ends_the_turn_and_is_not_sent_again() {
    let world = asking(&[ANSWER])
        .hook(|subject| {
            let HookSubject::Answer(answer) = subject else {
                panic!("{subject:?}")
            };
            Some(HookAnswer::refuse(format!("it says {}", answer.text)))
        })
        .streams([text("The secret."), call("call-1", "work", "{}")])
        .turn();
    assert_eq!(refused(&world).2, "it says The secret.");
    assert!(
        world.seen.invocations().is_empty(),
        "nothing follows from it"
    );
    world.assert_valid_history();
    // The user has read it; the next turn's model does not.
    assert_eq!(world.machine.transcript().text(), "The secret.");
    let history = Transcript::new(world.messages().to_vec());
    let mut next = RunMachine::new(Arc::clone(&world.config), "thread".into(), history);
    let start = Start::new("run-2", Message::user("user-2", "And?"));
    next.start(start, Timestamp(0)).expect("idle");
    let asked = std::iter::from_fn(|| next.poll_output()).find_map(|output| match output {
        Output::Effect(_, Effect::OpenStream { request }) => String::from_utf8(request.body).ok(),
        _ => None,
    });
    let asked = asked.expect("it is asked");
    assert!(!asked.contains("The secret."), "{asked}");
    assert!(
        asked.contains("call-1") && asked.contains("And?"),
        "{asked}"
    );
}

#[test]
fn what_no_hook_could_look_at_is_not_sent_again() {
    let broken = asking(&[ANSWER])
        .reply(Reply::Broken(vec![text("The sec"), Part::Cut]))
        .turn();
    let marked = |world: &World| match world.messages().last() {
        Some(Message::Assistant(said)) => said
            .metadata
            .as_ref()
            .is_some_and(|metadata| metadata.contains_key("refused")),
        other => panic!("it said nothing: {other:?}"),
    };
    assert!(marked(&broken));
    let mut cancelled = asking(&[ANSWER])
        .streams([text("The secret.")])
        .hook(|_| None)
        .until_it_looks();
    assert_eq!(cancelled.machine.state(), StateKind::Reviewing);
    cancelled.input(Input::Cancel).expect("it is active");
    assert_eq!(*cancelled.outcome(), Outcome::Cancelled);
    assert!(marked(&cancelled));
    let without = asking(&[])
        .reply(Reply::Broken(vec![text("The sec"), Part::Cut]))
        .turn();
    assert!(!marked(&without));
}

#[test]
fn a_refused_call_is_told_to_the_model_and_the_user_is_not_asked() {
    let world = asking(&[CALL])
        .hook_says(HookAnswer::refuse("not from here"))
        .streams([call("call-1", "ask", "{}")])
        .streams([text("Then not.")])
        .turn();
    assert_eq!(world.result(), "the call was not run: not from here");
    assert_eq!(told(&world), [("hook-0", "not from here")]);
    assert_eq!(
        world.seen.effect_names(),
        [
            "open open:0:0",
            "hook hook:before_tool:0:0:0",
            "open open:1:0"
        ]
    );
    assert_eq!(world.seen.statuses("call-1"), [ToolCallStatus::Denied]);
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn the_user_is_asked_about_the_arguments_that_a_hook_gives() {
    let world = asking(&[CALL])
        .hook_says(HookAnswer::arguments(&json!({"n": 7})))
        .streams([call("call-1", "ask", "{}")])
        .turn();
    let asked = world.seen.effects().find_map(|(_, effect)| match effect {
        Effect::AskApproval { invocation } => Some(invocation.arguments.value.clone()),
        _ => None,
    });
    assert_eq!(asked, Some(json!({"n": 7})));
}

#[test]
fn arguments_of_a_hook_that_do_not_fit_fail_the_turn() {
    let world = asking(&[CALL])
        .hook_says(HookAnswer::arguments(&json!({"to": 7})))
        .streams([call("call-1", "work", "{}")])
        .turn();
    let (hook, moment, reason) = refused(&world);
    assert_eq!((&*hook, moment), ("hook-0", CALL));
    assert!(
        reason.contains("do not fit") && reason.contains("to"),
        "{reason}"
    );
    world.assert_valid_history();
}

#[test]
fn a_result_is_told_as_a_hook_changes_it_or_withheld() {
    let world = asking(&[RESULT])
        .hook_says(HookAnswer::result("***"))
        .streams([call("call-1", "work", "{}")])
        .streams([text("Yes.")])
        .turn();
    assert_eq!(world.result(), "***");
    let world = asking(&[RESULT])
        .hook_says(HookAnswer::refuse("it has a card's number"))
        .streams([call("call-1", "work", "{}")])
        .streams([text("Yes.")])
        .turn();
    assert_eq!(
        world.result(),
        "the result was withheld: it has a card's number"
    );
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn a_hook_that_fails_ends_the_turn_at_each_moment() {
    for moment in HookMoment::ALL {
        let world = asking(&[moment])
            .hook_says(HookAnswer::Failed {
                message: "no such table".to_owned(),
            })
            .streams([text("Hm."), call("call-1", "work", "{}")])
            .turn();
        let expected = (
            "hook-0".to_owned(),
            moment,
            "it failed: no such table".to_owned(),
        );
        assert_eq!(refused(&world), expected);
        world.assert_valid_history();
    }
}

#[test]
fn a_hook_that_does_not_answer_is_waited_for_so_long_and_no_longer() {
    for moment in HookMoment::ALL {
        let mut world = asking(&[moment])
            .hook(|_| None)
            .streams([text("Hm."), call("call-1", "work", "{}")])
            .until_it_looks();
        assert!(
            matches!(world.machine.timeout_reason(), Some(TimerKey::Hook(place)) if place.moment() == moment)
        );
        world.now = world.machine.poll_timeout().expect("it has an end").0;
        world.input(Input::Timeout).expect("it is active");
        assert_eq!(
            refused(&world),
            ("hook-0".to_owned(), moment, "it took too long".to_owned())
        );
        assert!(world.given.is_empty(), "the hook is told to stop");
    }
}

#[test]
fn an_answer_that_changes_something_else_is_a_mistake() {
    let mut world = asking(&[ANSWER])
        .hook(|_| None)
        .streams([text("Hm.")])
        .until_it_looks();
    let effect = EffectId::Hook {
        place: HookPlace::Answer { hop: 0 },
        hook: 0,
    };
    let answer = HookAnswer::result("not asked about");
    let mistake = world.input(Input::HookAnswered { effect, answer });
    assert!(matches!(mistake, Err(Misuse::WrongEffect { .. })));
}

#[test]
fn a_call_that_is_stopped_is_asked_about_no_more() {
    let call_key = CallKey { hop: 0, index: 0 };
    for moment in [CALL, RESULT] {
        let mut world = asking(&[moment])
            .hook(|_| None)
            .streams([call("call-1", "work", "{}")])
            .streams([text("Yes.")])
            .until_it_looks();
        world
            .input(Input::CancelCall { call: call_key })
            .expect("it is open");
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert!(world.result().contains("stopped"));
    }
}

#[test]
fn a_run_that_comes_back_asks_again_what_was_not_answered() {
    for moment in HookMoment::ALL {
        let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
            offer(config, Tool::new("work", "Works.").idempotent());
            config.durability = Durability::Blocks { attempts: 1 };
            config.hooks = vec![HookSpec::new("guard", [moment])];
        })
        .tool("work", |_| ToolReply::text("done"))
        .hook(|_| None)
        .streams([text("Hm."), call("call-1", "work", "{}")]);
        world = world.until_it_looks();
        let snapshot = world.machine.snapshot();
        let revived =
            RunMachine::revive(&snapshot, Arc::clone(&world.config), Timestamp(world.now));
        let mut revived = revived.expect("readable");
        let mut asks = Vec::new();
        while let Some(output) = revived.poll_output() {
            asks.push(output);
        }
        let asks = asks.iter().any(|output| {
            matches!(output, Output::Effect(_, Effect::RunHook { hook, .. }) if hook == "guard")
        });
        assert!(asks, "{moment}");
    }
}

/// What the hook passed is stored before the tool begins: after a crash the tool is not begun again.
#[test]
fn i07_a_call_that_hooks_let_pass_begins_once_that_is_stored() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.durability = Durability::Blocks { attempts: 1 };
        config.hooks = vec![HookSpec::new("guard", [CALL])];
    })
    .tool("work", |_| ToolReply::text("done").after(1_000))
    .hook_says(HookAnswer::arguments(&json!({"to": "Bob"})))
    .streams([call("call-1", "work", "{}")])
    .streams([text("Yes.")]);
    world.send("Go on");
    let key = CallKey { hop: 0, index: 0 };
    world.drive_until(|world| world.given.contains(&EffectId::Tool(key)));
    let mut revived = world.stored_run();
    let begins = std::iter::from_fn(|| revived.poll_output()).any(|output| {
        matches!(
            output,
            Output::Effect(_, Effect::RunTool { .. } | Effect::RunHook { .. })
        )
    });
    assert!(!begins, "it has begun before");
    world.drive();
    assert_eq!(
        kinds(&world)[..3],
        ["tool_use", "hooks_passed", "tool_result"]
    );
}

#[test]
fn other_hooks_than_before_are_said() {
    let world = asking(&[ANSWER])
        .hook(|_| None)
        .streams([text("Hm.")])
        .until_it_looks();
    let mut config = (*world.config).clone();
    config.hooks.clear();
    let snapshot = world.machine.snapshot();
    let mut restored = RunMachine::restore(&snapshot, Arc::new(config)).expect("readable");
    let warned = std::iter::from_fn(|| restored.poll_output()).any(|output| {
        matches!(output, Output::Event(RunEvent::Warning { message }) if message.contains("hooks have changed"))
    });
    assert!(warned);
}

#[test]
fn without_hooks_nothing_is_asked_and_nothing_is_stored_of_them() {
    let world = secret_numbers(Dialect::OpenAiChat).turn();
    assert!(!world.machine.snapshot().contains("hooks"));
    assert!(!world.seen.effect_names().concat().contains("hook"));
}
