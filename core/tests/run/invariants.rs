//! The invariants of the design, by number, as properties.

use crate::cases::cases;
use crate::turn::BOTH;
use crate::world::{Cut, Reply, ToolReply, World, offer};
use proptest::prelude::*;
use stepwell_core::run::{Output, RunEvent, StateKind};
use stepwell_core::tool::Tool;
use stepwell_testing::chaos::{Action, CRASH_STATES, Chaos, Twin, actions};
use stepwell_testing::reply::{Call, Part, call, text};
use stepwell_testing::settings;

fn three_calls(delays: [u64; 3]) -> World {
    chat_with_work()
        .tool("work", move |invocation| {
            let index = invocation.call.index as usize;
            ToolReply::text(&format!("result {index}")).after(delays[index])
        })
        .streams([
            text("See: "),
            Part::Calls(vec![
                Call::new("a", "work", "{}"),
                Call::new("b", "work", "{}"),
                Call::new("c", "work", "{}"),
            ]),
        ])
        .streams([text("Done.")])
}

fn chat_with_work() -> World {
    crate::world::with(stepwell_core::dialect::Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
    })
}

/// The run after these actions.
fn after(mut chaos: Chaos, actions: &[Action]) -> Chaos {
    for action in actions {
        chaos.apply(*action);
    }
    chaos
}

proptest! {
    #![proptest_config(cases(60))]

    /// All invariants are checked after every action, and once all is quiet.
    #[test]
    fn i01_any_input_sequence_ends_or_waits_for_someone(setting in settings(), actions in actions()) {
        after(Chaos::new(setting.config()), &actions).finish()?;
    }

    #[test]
    fn i02_the_end_is_the_end(setting in settings(), before in actions(), later in actions()) {
        let mut chaos = after(Chaos::new(setting.config()), &before);
        chaos.finish()?;
        after(chaos, &later).finish()?;
    }

    #[test]
    fn i03_the_size_of_the_chunks_changes_nothing(setting in settings(), actions in actions(), size in 1..40usize) {
        let chaos = Chaos::new(setting.config()).twin(Twin::Cut(size));
        after(chaos, &actions).finish()?;
    }

    #[test]
    fn i04_a_restore_after_every_input_changes_nothing(setting in settings(), actions in actions()) {
        let chaos = Chaos::new(setting.config()).twin(Twin::Restored);
        after(chaos, &actions).finish()?;
    }

    #[test]
    fn i05_machines_of_one_canonical_form_have_one_future(setting in settings(), actions in actions()) {
        let chaos = Chaos::new(setting.config()).twin(Twin::Cloned);
        after(chaos, &actions).finish()?;
    }
}

proptest! {
    #![proptest_config(cases(25))]

    #[test]
    fn i03_cutting_the_bytes_changes_neither_events_nor_conversation(seed: u64, size in 1usize..200, dialect in 0..2usize) {
        let dialect = BOTH[dialect];
        let world = |cut| {
            let mut world = crate::world::with(dialect, |config| offer(config, Tool::new("work", "Works.")))
                .seed(seed)
                .tool("work", |invocation| ToolReply::text(&invocation.arguments.raw))
                .streams([
                    Part::Reasoning("Hm, größer?".into()),
                    text("Läßt sich machen: 🙂. "),
                    Part::Calls(vec![Call::new("a", "work", r#"{"x":"🙂"}"#), Call::new("b", "work", "null")]),
                ])
                .streams([text("Done."), Part::Usage { input: 1, output: 2 }]);
            world.cut = cut;
            world.turn()
        };
        let (whole, cut, seeded) = (world(Cut::Whole), world(Cut::Every(size)), world(Cut::Seeded));
        for other in [cut, seeded] {
            prop_assert_eq!(other.messages(), whole.messages());
            prop_assert_eq!(other.machine.usage(), whole.machine.usage());
            prop_assert_eq!(other.seen.requests(), whole.seen.requests());
            prop_assert_eq!(other.seen.effect_names(), whole.seen.effect_names());
            prop_assert_eq!(other.seen.streamed_text(), whole.seen.streamed_text());
            let kinds = |world: &World| {
                let mut kinds: Vec<_> = world.seen.ag_ui().map(|event| event.kind().to_owned()).collect();
                // More chunks, more deltas: only that may differ.
                kinds.dedup();
                kinds
            };
            prop_assert_eq!(kinds(&other).len() >= kinds(&whole).len(), true);
        }
    }

    #[test]
    fn i08_results_are_those_of_the_calls_in_order_whatever_failed(fates in prop::collection::vec(0..6u8, 1..6)) {
        let calls = fates.iter().enumerate().map(|(index, fate)| {
            let (name, arguments) = match fate {
                0 => ("invented", "{}"),
                1 => ("work", "{broken"),
                2 => ("ask", "{}"),
                _ => ("work", "{}"),
            };
            Call::new(&format!("c{index}"), name, arguments)
        });
        let fates = fates.clone();
        let count = fates.len();
        let mut world = crate::world::with(stepwell_core::dialect::Dialect::OpenAiChat, |config| {
            offer(config, Tool::new("work", "Works."));
            offer(config, Tool::new("ask", "Asks.").requires_approval());
        })
        .streams([Part::Calls(calls.collect())])
        .streams([text("Done.")])
        .tool("work", move |invocation| match fates[invocation.call.index as usize] {
            3 => ToolReply::failure("no"),
            4 => ToolReply::never(),
            _ => ToolReply::text("yes"),
        });
        world.decisions.extend(vec![stepwell_core::run::Decision::Denied { reason: None }; count]);
        let world = world.turn();
        world.assert_valid_history();
        let ids: Vec<_> = world.results().into_iter().map(|(id, _)| id).collect();
        let asked: Vec<_> = (0..count).map(|index| format!("c{index}")).collect();
        prop_assert_eq!(&ids, &asked);
        // And so does the request that carries them.
        let requests = world.seen.requests();
        let sent = requests[1]["messages"].as_array().expect("a list").iter().filter_map(|message| message["tool_call_id"].as_str());
        prop_assert_eq!(sent.collect::<Vec<_>>(), asked);
    }

    #[test]
    fn i09_hops_stay_within_the_limit(limit in 0..6u32, policy in 0..3usize, hops in 0..8usize) {
        use stepwell_core::run::LimitPolicy;
        let policy = [LimitPolicy::Complete, LimitPolicy::Fail, LimitPolicy::SumUp][policy];
        let mut world = crate::world::with(stepwell_core::dialect::Dialect::OpenAiChat, |config| {
            offer(config, Tool::new("work", "Works."));
            config.limits.max_tool_rounds = limit;
            config.limits.at_limit = policy;
            config.limits.repeats = None;
        })
        .tool("work", |_| ToolReply::text("ok"));
        for _ in 0..hops {
            world = world.streams([call("c", "work", "{}")]);
        }
        world.fallback_reply = Some(Reply::Complete(vec![text("Done.")]));
        let world = world.turn();
        let extra = u32::from(policy == LimitPolicy::SumUp);
        prop_assert!(world.machine.hop() <= limit + extra);
        prop_assert!(world.seen.invocations().len() <= limit as usize);
        world.assert_valid_history();
    }

    #[test]
    fn i10_the_turn_runs_from_its_start_to_its_end_without_a_break(delays in [1..90u64, 1..90, 1..90]) {
        use stepwell_core::run::RunEvent;
        let world = three_calls(delays).turn();
        let marks: Vec<_> = world.seen.events().filter(|event| {
            matches!(event, RunEvent::Started { .. } | RunEvent::Completed(_) | RunEvent::Interrupted { .. })
        }).collect();
        prop_assert_eq!(marks.len(), 2);
        let first = matches!(world.seen.events().next(), Some(RunEvent::Started { .. }));
        prop_assert!(first);
        let last = matches!(world.seen.events().last(), Some(RunEvent::Completed(_)));
        prop_assert!(last);
    }

    #[test]
    fn i12_after_a_cancel_nothing_begins_and_there_is_one_end(delays in [1..90u64, 1..90, 1..90], at in 0..60usize) {
        let mut world = three_calls(delays);
        world.ignores_cancel = true;
        world.send("Hello");
        for _ in 0..at {
            world.step();
        }
        world.cancel();
        let begun = world.seen.requests().len() + world.seen.invocations().len();
        prop_assert!(world.machine.outcome().is_some());
        world.drive();
        prop_assert_eq!(world.seen.requests().len() + world.seen.invocations().len(), begun);
        prop_assert_eq!(world.seen.ends(), 1);
        world.assert_valid_history();
    }

    #[test]
    fn i17_the_order_of_finishing_changes_neither_history_nor_request(one in [1..90u64, 1..90, 1..90], other in [1..90u64, 1..90, 1..90]) {
        let (one, other) = (three_calls(one).turn(), three_calls(other).turn());
        prop_assert_eq!(one.messages(), other.messages());
        prop_assert_eq!(one.seen.requests(), other.seen.requests());
    }
}

/// A generator that never comes anywhere would let everything pass.
#[test]
fn chaos_comes_everywhere() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    use std::collections::BTreeSet;
    let mut runner = TestRunner::deterministic();
    let mut states = BTreeSet::new();
    let mut ends = BTreeSet::new();
    let mut told = BTreeSet::new();
    let mut crashed_in = BTreeSet::new();
    for _ in 0..400 {
        let tree = (settings(), actions())
            .new_tree(&mut runner)
            .expect("the strategy gives values");
        let (setting, actions) = tree.current();
        let mut chaos = Chaos::new(setting.storing().config());
        for action in actions {
            chaos.apply(action);
            let machine = chaos.machine();
            states.insert((machine.state(), machine.hop().min(2)));
        }
        chaos.settle();
        crashed_in.extend(chaos.crashes().iter().copied());
        told.extend(chaos.outputs().iter().filter_map(|output| match output {
            Output::Event(RunEvent::SteeringTaken { .. }) => Some("steering taken"),
            Output::Event(RunEvent::SteeringRefused { .. }) => Some("steering refused"),
            Output::Event(RunEvent::WaitingForNetwork { .. }) => Some("waiting for network"),
            Output::Event(RunEvent::StreamResumed { .. }) => Some("stream resumed"),
            _ => None,
        }));
        let end = format!("{:?}", chaos.machine().outcome());
        let word = |c: char| c == '{' || c == '(' || c == ')';
        let words = end
            .split(word)
            .map(str::trim)
            .filter(|part| !part.contains(':') || part.starts_with("failure"));
        ends.insert(words.collect::<Vec<_>>().join(" "));
    }
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(states.len() >= 15, "{states:?}");
    assert!(ends.len() >= 10, "{ends:?}");
    assert!(
        crashed_in.iter().any(|(_, in_tool)| *in_tool),
        "{crashed_in:?}"
    );
    // Questions of an agent, failures after something was stored, and answers that the host decodes are rare.
    for state in CRASH_STATES {
        let is_rare = matches!(
            state,
            StateKind::Interrupted | StateKind::Waiting | StateKind::Decoding
        );
        let is_hit = crashed_in.iter().any(|(hit, _)| *hit == state);
        assert!(is_hit || is_rare, "no crash in {state}: {crashed_in:?}");
    }
}
