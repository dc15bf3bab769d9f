//! Runs under a registry: who owns a thread, and what becomes of the run that lost it.

use crate::interrupts::asks;
use crate::world::{Reply, ToolReply, World, offer};
use stepwell_core::dialect::Dialect;
use stepwell_core::registry::{RegistryEvent, RunHandle, RunRegistry, ThreadKey};
use stepwell_core::run::{Durability, Effect, Outcome, RunIds, StateKind};
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{Call, Part, call, text};

/// A world whose inputs come under a handle.
struct Owned {
    world: World,
    handle: RunHandle,
}

impl Owned {
    /// Lets the next thing happen, if the handle still owns the thread; a new hop is a new handle.
    fn step(&mut self, registry: &mut RunRegistry) -> bool {
        if self.world.scheduled.is_empty() && self.world.machine.poll_timeout().is_none() {
            return false;
        }
        if registry.check(&self.handle).is_err() {
            return false;
        }
        let hop = self.world.machine.hop();
        let stepped = self.world.step();
        if self.world.machine.hop() > hop {
            self.handle = registry.replace(&self.handle).expect("it owns the thread");
        }
        if let Some(outcome) = self.world.machine.outcome() {
            // A turn's last blocks are written after its end.
            let outcome = outcome.clone();
            let completed = registry.complete(&self.handle, outcome);
            completed.expect("it owned the thread to its end");
            return false;
        }
        stepped
    }
}

fn begin(registry: &mut RunRegistry, thread: &str, mut world: World) -> (Owned, Option<RunHandle>) {
    let registered = registry.register(ThreadKey::from(thread));
    world.send("Hello");
    let handle = registered.handle;
    (Owned { world, handle }, registered.replaced)
}

fn working(dialect: Dialect) -> World {
    crate::world::with(dialect, |config| {
        offer(config, Tool::new("work", "Works."));
        offer(config, Tool::new("ask", "Asks.").requires_approval());
        if dialect == Dialect::AgUi {
            config.run_ids = RunIds::Host;
        }
    })
    .tool("work", |_| ToolReply::text("worked"))
}

/// A turn on its way into each state, and that state.
fn in_every_state() -> Vec<(World, StateKind)> {
    use StateKind::{Completed, ExecutingTools, Interrupted, Opening, Streaming, Waiting};
    let mut creating = working(Dialect::AgUi).streams([call("c", "work", "{}")]);
    creating.runs.push_back("run-2".into());
    let both = [Call::new("a", "work", "{}"), Call::new("b", "ask", "{}")];
    vec![
        (working(Dialect::OpenAiChat).reply(Reply::Silent), Opening),
        (
            working(Dialect::OpenAiChat).reply(Reply::Unreachable),
            Waiting,
        ),
        (
            working(Dialect::OpenAiChat).reply(Reply::Stalled(vec![text("He")])),
            Streaming,
        ),
        (
            working(Dialect::OpenAiChat).streams([Part::Calls(both.to_vec())]),
            ExecutingTools,
        ),
        (working(Dialect::AgUi).streams([asks(&["a"])]), Interrupted),
        (creating, ExecutingTools),
        (
            working(Dialect::OpenAiChat).streams([text("Done.")]),
            Completed,
        ),
    ]
}

#[test]
fn the_user_sends_again_on_the_same_thread_in_every_state() {
    for (world, state) in in_every_state() {
        let mut registry = RunRegistry::new();
        let (mut old, _) = begin(&mut registry, "thread", world);
        old.world.ignores_cancel = true;
        while old.world.machine.state() != state {
            old.step(&mut registry);
        }
        let held: Vec<_> = old.world.given.iter().copied().collect();
        let given = old.world.seen.outputs.len();

        let next = working(Dialect::OpenAiChat).streams([text("Hello again.")]);
        let (mut new, replaced) = begin(&mut registry, "thread", next);
        let was_over = state == StateKind::Completed;
        assert_eq!(replaced.is_none(), was_over, "{state}");
        if !was_over {
            assert_eq!(replaced.as_ref(), Some(&old.handle));
            old.world.cancel();
            assert_eq!(*old.world.outcome(), Outcome::Cancelled);
            // Whatever the host was doing for the old run, it is told to stop.
            let stopped: Vec<_> = old.world.seen.outputs[given..]
                .iter()
                .filter_map(|output| match output {
                    stepwell_core::run::Output::Effect(
                        id,
                        Effect::CloseStream | Effect::CancelTool,
                    ) => Some(*id),
                    _ => None,
                })
                .collect();
            assert_eq!(stopped, held, "{state}");
        }

        // The new run is the owner, and what still comes of the old one changes nothing.
        assert_eq!(registry.current(&"thread".into()), Some(new.handle.clone()));
        assert!(registry.check(&old.handle).is_err());
        let end = old.world.machine.snapshot();
        old.world.drive();
        assert_eq!(old.world.machine.snapshot(), end, "{state}");
        assert!(registry.complete(&old.handle, Outcome::Success).is_err());
        while new.step(&mut registry) {}
        assert_eq!(*new.world.outcome(), Outcome::Success);
        assert_eq!(new.world.machine.transcript().text(), "Hello again.");
        old.world.assert_valid_history();
    }
}

#[test]
fn two_threads_with_tools_at_once_have_no_effect_on_each_other() {
    let turn = |name: &str| {
        crate::world::with(Dialect::OpenAiChat, |config| {
            offer(config, Tool::new("work", "Works."));
        })
        .tool("work", |_| ToolReply::text("worked"))
        .streams([call("c", "work", "{}")])
        .streams([text(name)])
    };
    let (alone_one, alone_two) = (turn("one").turn(), turn("two").turn());
    for lead in [1, 2, 5] {
        let mut registry = RunRegistry::new();
        let (mut one, _) = begin(&mut registry, "one", turn("one"));
        let (mut two, _) = begin(&mut registry, "two", turn("two"));
        let (mut first, mut second) = (true, true);
        while first || second {
            for _ in 0..lead {
                first = first && one.step(&mut registry);
            }
            second = second && two.step(&mut registry);
        }
        for (run, alone) in [(&one, &alone_one), (&two, &alone_two)] {
            let (together, alone) = (&run.world.machine, &alone.machine);
            assert_eq!(together.transcript().text(), alone.transcript().text());
            assert_eq!(together.outcome(), alone.outcome());
        }
        assert_eq!(one.world.results(), alone_one.results());
    }
}

#[test]
fn the_registry_says_started_once_continued_once_a_hop_and_completed_once() {
    let mut registry = RunRegistry::new();
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.durability = Durability::None;
    })
    .tool("work", |_| ToolReply::text("ok"));
    for round in 0..3 {
        world = world.streams([call("c", "work", &format!("{{\"round\":{round}}}"))]);
    }
    let (mut run, _) = begin(&mut registry, "thread", world.streams([text("Done.")]));
    while run.step(&mut registry) {}
    let events: Vec<_> = std::iter::from_fn(|| registry.poll_event())
        .map(|event| match event {
            RegistryEvent::RunStarted { .. } => "started",
            RegistryEvent::RunContinued { .. } => "continued",
            RegistryEvent::RunCompleted { .. } => "completed",
            RegistryEvent::Unread { .. } => "unread",
            _ => "other",
        })
        .collect();
    assert_eq!(
        events,
        [
            "started",
            "continued",
            "continued",
            "continued",
            "completed",
            "unread"
        ]
    );
}
