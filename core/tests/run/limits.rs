//! How many rounds of tools a turn may take.

use crate::cases::cases;
use crate::interrupts::{answer, asks};
use crate::world::{Reply, ToolReply, World, offer};
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::provider::ModelPrice;
use stepwell_core::run::{
    Decision, EffectId, Failure, Input, LimitPolicy, Outcome, StateKind, TurnLimit,
};
use stepwell_core::tool::Tool;
use stepwell_core::{CallKey, Usd};
use stepwell_testing::reply::{Call, Part, call, text};

/// A model that never stops asking, under a limit of two rounds.
pub fn greedy(policy: LimitPolicy) -> World {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.limits.max_tool_rounds = 2;
        config.limits.at_limit = policy;
        config.limits.repeats = None;
    })
    .tool("work", |_| ToolReply::text("ok"));
    world.fallback_reply = Some(Reply::Complete(vec![
        text("more "),
        call("c", "work", "{}"),
    ]));
    world
}

pub fn rounds(max: u32) -> Outcome {
    Outcome::LimitReached {
        limit: TurnLimit::MaxToolRounds { max },
    }
}

#[test]
fn the_default_is_to_complete_and_say_that_the_limit_was_reached() {
    let world = greedy(LimitPolicy::Complete).turn();
    assert_eq!(*world.outcome(), rounds(2));
    assert_eq!(world.machine.hop(), 2);
    assert_eq!(world.seen.invocations().len(), 2);
    assert_eq!(world.machine.transcript().text(), "more more more ");
    assert!(world.results()[2].1.contains("tool rounds, 2"));
    world.assert_valid_history();
}

#[test]
fn it_may_fail_instead() {
    let world = greedy(LimitPolicy::Fail).turn();
    let failure = Failure::LimitReached {
        limit: TurnLimit::MaxToolRounds { max: 2 },
    };
    assert_eq!(*world.outcome(), Outcome::Failed { failure });
    assert_eq!(world.seen.invocations().len(), 2);
    world.assert_valid_history();
}

#[test]
fn it_may_let_the_model_sum_up_without_tools() {
    let mut world = greedy(LimitPolicy::SumUp);
    for _ in 0..3 {
        world = world.streams([call("c", "work", "{}")]);
    }
    let world = world.streams([text("In short: enough.")]).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.machine.transcript().text(), "In short: enough.");
    let requests = world.seen.requests();
    assert!(requests[2].get("tools").is_some());
    assert!(
        requests[3].get("tools").is_none(),
        "the last hop offers none"
    );
    assert_eq!(world.seen.invocations().len(), 2);
    world.assert_valid_history();
}

#[test]
fn the_providers_own_tools_are_left_out_too_when_the_model_is_to_sum_up() {
    let fields = [
        ("tools", json!([{"type": "web_search"}])),
        ("tool_choice", json!({"type": "web_search"})),
        ("parallel_tool_calls", json!(false)),
        ("top_k", json!(7)),
    ];
    let world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.limits.max_tool_rounds = 0;
        config.limits.at_limit = LimitPolicy::SumUp;
        let own = fields.iter().cloned();
        let own = own.map(|(name, value)| (name.to_owned(), value));
        config.settings.extra = own.collect();
    });
    let world = world.streams([call("c", "work", "{}")]);
    let world = world.streams([text("In short: enough.")]).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let requests = world.seen.requests();
    for (name, value) in &fields[1..] {
        assert_eq!(requests[0][name], *value);
    }
    for (name, _) in &fields[..3] {
        assert_eq!(requests[1].get(name), None, "{name}");
    }
    assert_eq!(requests[1]["top_k"], 7);
}

#[test]
fn a_model_that_asks_for_tools_when_it_is_to_sum_up_is_stopped() {
    let world = greedy(LimitPolicy::SumUp).turn();
    assert_eq!(*world.outcome(), rounds(2));
    assert_eq!(world.machine.hop(), 3);
    world.assert_valid_history();
}

#[test]
fn rounds_in_which_no_tool_ran_count_too() {
    let mut world = greedy(LimitPolicy::Complete);
    world.fallback_reply = Some(Reply::Complete(vec![call("c", "invented", "{}")]));
    let world = world.turn();
    assert_eq!(*world.outcome(), rounds(2));
    assert_eq!(world.machine.hop(), 2);
}

#[test]
fn a_limit_of_none_runs_no_tool() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.limits.max_tool_rounds = 0;
    });
    world.fallback_reply = Some(Reply::Complete(vec![call("c", "work", "{}")]));
    let world = world.turn();
    assert_eq!(*world.outcome(), rounds(0));
    assert!(world.seen.invocations().is_empty());
}

fn without_continuation(policy: LimitPolicy) -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.limits.continue_after_tools = false;
        config.limits.at_limit = policy;
    })
    .tool("work", |_| ToolReply::text("ok"))
}

#[test]
fn without_continuation_the_turn_ends_with_the_results_of_its_first_round() {
    let world = without_continuation(LimitPolicy::Complete);
    let calls = vec![
        Call::new("a", "work", "{}"),
        Call::new("b", "work", "{\"b\":1}"),
    ];
    let world = world
        .streams([text("Let me see."), Part::Calls(calls)])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.seen.invocations().len(), 2);
    assert_eq!(world.seen.requests().len(), 1, "no hop follows");
    let results = world.results();
    let results: Vec<_> = results.iter().map(|(_, result)| result.as_str()).collect();
    assert_eq!(results, ["ok", "ok"]);
    world.assert_valid_history();
}

#[test]
fn without_continuation_calls_that_are_refused_end_the_turn_too() {
    let world = without_continuation(LimitPolicy::Complete);
    let world = world.streams([call("a", "invented", "{}")]).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.seen.requests().len(), 1);
    assert_eq!(world.results().len(), 1);
}

#[test]
fn without_continuation_there_is_no_hop_to_sum_up() {
    let mut world = without_continuation(LimitPolicy::SumUp);
    let mut config = (*world.config).clone();
    config.limits.max_tool_rounds = 0;
    world = crate::world::with(Dialect::OpenAiChat, |c| *c = config);
    let world = world.streams([call("a", "work", "{}")]).turn();
    assert_eq!(*world.outcome(), rounds(0));
    assert_eq!(world.seen.requests().len(), 1);
}

#[test]
fn the_limit_holds_after_an_interrupt() {
    let mut world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
        config.limits.max_tool_rounds = 0;
    })
    .streams([call("c", "work", "{}"), asks(&["a"])]);
    world.send("Hello");
    world.drive_to(StateKind::Interrupted);
    world
        .input(Input::Resume(vec![answer("a")]))
        .expect("all are answered");
    assert_eq!(*world.outcome(), rounds(0));
    world.assert_valid_history();
}

/// A model that never stops asking, each time for something else.
fn busy(change: impl FnOnce(&mut stepwell_core::run::Limits)) -> World {
    busy_with(|config| change(&mut config.limits))
}

fn busy_with(change: impl FnOnce(&mut stepwell_core::run::RunConfig)) -> World {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.limits.max_tool_rounds = 100;
        change(config);
    })
    .tool("work", |_| ToolReply::text("ok").after(1_000));
    for round in 0..20 {
        let arguments = format!("{{\"round\":{round}}}");
        let calls = [
            Call::new(&format!("a{round}"), "work", &arguments),
            Call::new(
                &format!("b{round}"),
                "work",
                &format!("{{\"b\":{arguments}}}"),
            ),
        ];
        world = world.streams([
            Part::Calls(calls.to_vec()),
            Part::Usage {
                input: 30,
                output: 10,
            },
        ]);
    }
    world
}

#[test]
fn a_tool_call_budget_stops_the_turn_before_the_round_that_would_break_it() {
    let world = busy(|limits| limits.max_tool_calls = Some(5)).turn();
    let limit = TurnLimit::MaxToolCalls { max: 5 };
    assert_eq!(*world.outcome(), Outcome::LimitReached { limit });
    assert_eq!(world.seen.invocations().len(), 4);
    world.assert_valid_history();
}

#[test]
fn a_token_budget_stops_the_turn_when_it_is_used_up() {
    let world = busy(|limits| limits.max_tokens = Some(100)).turn();
    let limit = TurnLimit::MaxTokens { max: 100 };
    assert_eq!(*world.outcome(), Outcome::LimitReached { limit });
    assert_eq!(world.machine.hop(), 2, "40 and 40 are below it, 120 is not");
    world.assert_valid_history();
}

/// 30 tokens in and 10 out: a round costs 50 millionths of a dollar.
fn priced(change: impl FnOnce(&mut stepwell_core::run::RunConfig)) -> World {
    busy_with(|config| {
        let price = ModelPrice::new(usd("1"), usd("2"));
        config.endpoint.quirks.price = Some(price);
        change(config);
    })
}

fn usd(text: &str) -> Usd {
    text.parse().expect("an amount")
}

#[test]
fn a_cost_budget_stops_the_turn_when_it_is_spent() {
    let limit = TurnLimit::MaxCost {
        max: usd("0.00012"),
    };
    for (policy, outcome) in [
        (
            LimitPolicy::Complete,
            Outcome::LimitReached {
                limit: limit.clone(),
            },
        ),
        (
            LimitPolicy::Fail,
            Outcome::Failed {
                failure: Failure::LimitReached {
                    limit: limit.clone(),
                },
            },
        ),
        (LimitPolicy::SumUp, Outcome::Success),
    ] {
        let mut world = priced(|config| {
            config.limits.max_cost = Some(usd("0.00012"));
            config.limits.at_limit = policy;
        });
        world.replies.truncate(3);
        let world = world.streams([text("In short: enough.")]).turn();
        assert_eq!(*world.outcome(), outcome);
        assert_eq!(world.machine.usage().cost, Some(usd("0.00015")));
        let hop = if policy == LimitPolicy::SumUp { 3 } else { 2 };
        assert_eq!(
            world.machine.hop(),
            hop,
            "50 and 100 are below it, 150 is not"
        );
        world.assert_valid_history();
    }
}

#[test]
fn a_model_without_a_price_has_no_cost_and_its_limit_is_said_to_be_none() {
    let world = busy(|limits| {
        limits.max_cost = Some(Usd::ZERO);
        limits.max_tool_rounds = 2;
    });
    let refused = world.config.check_price().expect_err("it has none");
    let world = world.turn();
    assert_eq!(world.machine.usage().cost, None);
    assert_eq!(*world.outcome(), rounds(2));
    assert_eq!(world.seen.warnings(), [refused.to_string()]);
}

#[test]
fn what_the_provider_says_an_answer_cost_wins_over_the_price() {
    let mut world = priced(|_| {});
    world.replies.clear();
    let usage = json!({ "prompt_tokens": 30, "completion_tokens": 10, "cost": 0.25 });
    let body = [
        json!({ "choices": [{ "delta": { "content": "Hi." }, "finish_reason": "stop" }] }),
        json!({ "choices": [], "usage": usage }),
    ];
    let body: String = body
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    let world = world.streams([Part::Raw(body)]).turn();
    assert_eq!(world.machine.usage().cost, Some(usd("0.25")));
}

#[test]
fn a_wall_time_budget_stops_the_turn_between_its_rounds() {
    let world = busy(|limits| limits.max_duration = Some(Duration::from_millis(2_500))).turn();
    let limit = TurnLimit::MaxDuration { max_ms: 2_500 };
    assert_eq!(*world.outcome(), Outcome::LimitReached { limit });
    assert_eq!(world.machine.hop(), 3, "a round takes a second");
    world.assert_valid_history();
}

#[test]
fn a_budget_may_end_in_a_summary_or_a_failure_that_names_it() {
    let mut world = busy(|limits| {
        limits.max_tool_calls = Some(1);
        limits.at_limit = LimitPolicy::SumUp;
    });
    world.replies.truncate(1);
    let world = world.streams([text("In short: enough.")]).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.results()[0].1.contains("tool calls, 1"));
    assert!(world.seen.requests()[1].get("tools").is_none());

    let world = busy(|limits| {
        limits.max_tokens = Some(1);
        limits.at_limit = LimitPolicy::Fail;
    })
    .turn();
    let limit = TurnLimit::MaxTokens { max: 1 };
    let failure = Failure::LimitReached { limit };
    assert!(failure.to_string().contains("tokens, 1"));
    assert_eq!(*world.outcome(), Outcome::Failed { failure });
}

#[test]
fn a_limit_that_was_named_stays_the_one_named_when_the_summary_asks_for_tools() {
    let world = busy(|limits| {
        limits.max_tool_calls = Some(2);
        limits.at_limit = LimitPolicy::SumUp;
    })
    .turn();
    let limit = TurnLimit::MaxToolCalls { max: 2 };
    assert_eq!(*world.outcome(), Outcome::LimitReached { limit });
    assert_eq!(world.machine.hop(), 2);
}

#[test]
fn the_users_time_does_not_count_towards_the_wall_time_budget() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("ask", "Asks.").requires_approval());
        config.limits.max_duration = Some(Duration::from_secs(10));
    })
    .tool("ask", |_| ToolReply::text("ok"))
    .streams([call("a", "ask", "{}")])
    .streams([call("b", "ask", r#"{"again":true}"#)])
    .streams([text("Done.")]);
    world.send("Hello");
    for hop in 0..2 {
        world.drive_until(|world| {
            world.machine.hop() == hop && world.machine.state() == StateKind::ExecutingTools
        });
        world.wait(3_600_000);
        let effect = EffectId::Approve(CallKey { hop, index: 0 });
        let decision = Decision::Granted;
        world
            .input(Input::Decided { effect, decision })
            .expect("it is asked");
    }
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn the_time_before_the_user_was_asked_counts_towards_the_wall_time_budget() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        offer(config, Tool::new("ask", "Asks.").requires_approval());
        config.limits.max_duration = Some(Duration::from_millis(2_500));
    })
    .tool("work", |_| ToolReply::text("ok").after(2_000))
    .tool("ask", |_| ToolReply::text("ok").after(1_000))
    .streams([call("a", "work", "{}")])
    .streams([call("b", "ask", "{}")])
    .streams([call("c", "work", "{}")]);
    world.decisions.push_back(Decision::Granted);
    let world = world.turn();
    let limit = TurnLimit::MaxDuration { max_ms: 2_500 };
    assert_eq!(*world.outcome(), Outcome::LimitReached { limit });
    assert_eq!(world.seen.invocations().len(), 2);
    world.assert_valid_history();
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn the_cost_of_a_turn_never_falls_and_is_the_sum_of_its_hops(
        counted in prop::collection::vec((0..1_000_000_u64, 0..100_000_u64), 1..6), restores: bool,
    ) {
        let mut world = priced(|_| {});
        world.restores = restores;
        world.replies.clear();
        let last = counted.len() - 1;
        for (hop, &(input, output)) in counted.iter().enumerate() {
            let what = if hop == last { text("Done.") } else { call(&format!("c{hop}"), "work", &format!("{{\"n\":{hop}}}")) };
            world = world.streams([what, Part::Usage { input, output }]);
        }
        world.send("Hello");
        let mut known = Usd::ZERO;
        loop {
            let cost = world.machine.usage().cost.unwrap_or_default();
            prop_assert!(cost >= known);
            known = cost;
            if !world.step() {
                break;
            }
        }
        let nanos = |&(input, output): &(u64, u64)| input * 1_000 + output * 2_000;
        prop_assert_eq!(known.nanos(), counted.iter().map(nanos).sum::<u64>());
    }
}
