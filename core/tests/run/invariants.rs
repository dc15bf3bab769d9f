//! The invariants of the design, by number, as properties.

use crate::cases::cases;
use crate::mad::{Mad, presses, settings};
use crate::turn::BOTH;
use crate::wire::{Say, a_call, call, text};
use crate::world::{Answer, Cut, Work, World, offer};
use proptest::prelude::*;
use stepwell_core::run::{Output, RunEvent};
use stepwell_core::tool::Tool;

fn three_calls(delays: [u64; 3]) -> World {
    World::chat_with_work()
        .tool("work", move |invocation| {
            let index = invocation.call.index as usize;
            Work::gives(&format!("result {index}")).after(delays[index])
        })
        .says([
            text("See: "),
            Say::Calls(vec![
                a_call("a", "work", "{}"),
                a_call("b", "work", "{}"),
                a_call("c", "work", "{}"),
            ]),
        ])
        .says([text("Done.")])
}

impl World {
    fn chat_with_work() -> Self {
        Self::with(stepwell_core::dialect::Dialect::OpenAiChat, |config| {
            offer(config, Tool::new("work", "Works."));
        })
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// I1, I2, I7, I8, I9, I12 are checked after every press, and once all is quiet.
    #[test]
    fn i01_any_input_sequence_ends_or_waits_for_someone(setting in settings(), presses in presses()) {
        let mut mad = Mad::new(setting);
        for press in presses {
            mad.press(press);
        }
        mad.calm_down();
        mad.check_end();
    }

    #[test]
    fn i02_the_end_is_the_end(setting in settings(), before in presses(), after in presses()) {
        let mut mad = Mad::new(setting);
        mad.checks = false;
        for press in before {
            mad.press(press);
        }
        mad.calm_down();
        let over = mad.machine.outcome().cloned();
        let history = mad.machine.conversation().messages().to_vec();
        if over.is_some() {
            for press in after {
                mad.press(press);
            }
            prop_assert_eq!(mad.machine.outcome().cloned(), over);
            prop_assert_eq!(mad.machine.conversation().messages(), history);
        }
    }

    #[test]
    fn i05_machines_of_one_canonical_form_have_one_future(setting in settings(), presses in presses()) {
        let mut mad = Mad::new(setting);
        (mad.checks, mad.has_twin) = (false, true);
        for press in presses {
            mad.press(press);
        }
    }

    #[test]
    fn i04_a_restore_after_every_input_changes_nothing(setting in settings(), presses in presses()) {
        let mut plain = Mad::new(setting);
        let mut restored = Mad::new(setting);
        (plain.checks, restored.checks) = (false, false);
        restored.restores = true;
        for press in presses {
            plain.press(press);
            restored.press(press);
            prop_assert_eq!(plain.machine.snapshot(), restored.machine.snapshot());
        }
        prop_assert_eq!(plain.outputs, restored.outputs);
    }
}

proptest! {
    #![proptest_config(cases(25))]

    #[test]
    fn i03_cutting_the_bytes_changes_neither_events_nor_conversation(seed: u64, size in 1usize..200, dialect in 0..2usize) {
        let dialect = BOTH[dialect];
        let world = |cut| {
            let mut world = World::with(dialect, |config| offer(config, Tool::new("work", "Works.")))
                .seed(seed)
                .tool("work", |invocation| Work::gives(&invocation.arguments.raw))
                .says([
                    Say::Reasoning("Hm, größer?".into()),
                    text("Läßt sich machen: 🙂. "),
                    Say::Calls(vec![a_call("a", "work", r#"{"x":"🙂"}"#), a_call("b", "work", "null")]),
                ])
                .says([text("Done."), Say::Usage { input: 1, output: 2 }]);
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
            a_call(&format!("c{index}"), name, arguments)
        });
        let fates = fates.clone();
        let count = fates.len();
        let mut world = World::with(stepwell_core::dialect::Dialect::OpenAiChat, |config| {
            offer(config, Tool::new("work", "Works."));
            offer(config, Tool::new("ask", "Asks.").requires_approval());
        })
        .says([Say::Calls(calls.collect())])
        .says([text("Done.")])
        .tool("work", move |invocation| match fates[invocation.call.index as usize] {
            3 => Work::fails("no"),
            4 => Work::never(),
            _ => Work::gives("yes"),
        });
        world.decisions.extend(vec![stepwell_core::run::Decision::Denied { reason: None }; count]);
        let world = world.turn();
        world.assert_legal();
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
        let mut world = World::with(stepwell_core::dialect::Dialect::OpenAiChat, |config| {
            offer(config, Tool::new("work", "Works."));
            config.limits.max_tool_rounds = limit;
            config.limits.at_limit = policy;
            config.limits.repeats = None;
        })
        .tool("work", |_| Work::gives("ok"));
        for _ in 0..hops {
            world = world.says([call("c", "work", "{}")]);
        }
        world.otherwise = Some(Answer::Says(vec![text("Done.")]));
        let world = world.turn();
        let extra = u32::from(policy == LimitPolicy::SumUp);
        prop_assert!(world.machine.hop() <= limit + extra);
        prop_assert!(world.seen.invocations().len() <= limit as usize);
        world.assert_legal();
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
        world.deaf_tools = true;
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
        world.assert_legal();
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
fn mad_runs_come_everywhere() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    use std::collections::BTreeSet;
    let mut runner = TestRunner::deterministic();
    let mut states = BTreeSet::new();
    let mut ends = BTreeSet::new();
    let mut told = BTreeSet::new();
    for _ in 0..400 {
        let strategy = (settings(), presses());
        let tree = strategy
            .new_tree(&mut runner)
            .expect("the strategy gives values");
        let (setting, presses) = tree.current();
        let mut mad = Mad::new(setting);
        mad.checks = false;
        for press in presses {
            mad.press(press);
            states.insert((mad.machine.state(), mad.machine.hop().min(2)));
        }
        mad.calm_down();
        told.extend(mad.outputs.iter().filter_map(|output| match output {
            Output::Event(RunEvent::SteeringTaken { .. }) => Some("steering taken"),
            Output::Event(RunEvent::SteeringRefused { .. }) => Some("steering refused"),
            Output::Event(RunEvent::WaitingForNetwork { .. }) => Some("waiting for network"),
            Output::Event(RunEvent::StreamResumed { .. }) => Some("stream resumed"),
            _ => None,
        }));
        let end = format!("{:?}", mad.machine.outcome());
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
}
