//! The invariants over a host that dies at any time and comes back with what its store has.

use crate::cases::cases;
use crate::mad::{Mad, Press, Setting, presses, settings};
use crate::rules::openai_chat;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Event, Message};
use stepwell_core::run::{
    BlockContent, Effect, EffectId, Input, Output, RunEvent, RunMachine, Start, StateKind,
};

/// One more thing that can happen.
#[derive(Clone, Copy, Debug)]
enum Blow {
    Press(Press),
    /// The host dies. The write that was under way is on the disk or not.
    Crash {
        commits: bool,
    },
    /// It dies as soon as this is so and something of the run is stored.
    CrashAt {
        moment: Moment,
        commits: bool,
    },
    /// The next write that fails has only been said to.
    FalseAlarm,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    In(StateKind),
    /// A tool runs.
    Tool,
}

fn moments() -> impl Strategy<Value = Moment> {
    prop_oneof![
        prop::sample::select(STATES.to_vec()).prop_map(Moment::In),
        Just(Moment::Tool),
    ]
}

const STATES: [StateKind; 7] = [
    StateKind::Opening,
    StateKind::Waiting,
    StateKind::Streaming,
    StateKind::ExecutingTools,
    StateKind::Decoding,
    StateKind::Interrupted,
    StateKind::Completed,
];

/// Some things that happen, and a crash or two between them.
fn blows() -> impl Strategy<Value = Vec<Blow>> {
    let rare = prop_oneof![
        2 => any::<bool>().prop_map(|commits| Blow::Crash { commits }),
        6 => (moments(), any::<bool>())
            .prop_map(|(moment, commits)| Blow::CrashAt { moment, commits }),
        1 => Just(Blow::FalseAlarm),
    ];
    (
        presses(),
        prop::collection::vec((any::<prop::sample::Index>(), rare), 0..4),
    )
        .prop_map(|(presses, rare)| {
            let mut blows: Vec<_> = presses.into_iter().map(Blow::Press).collect();
            for (place, blow) in rare {
                blows.insert(place.index(blows.len() + 1), blow);
            }
            blows
        })
}

/// A mad world whose host can die, and what its user has on the screen.
struct Mortal {
    mad: Mad,
    /// The messages as they were after the last crash.
    screen: BTreeMap<String, String>,
    /// So many outputs there were then.
    since: usize,
    /// The crash that is to come.
    armed: Option<(Moment, bool)>,
    /// The states of the runs that crashes hit, once something was stored.
    hit: BTreeSet<StateKind>,
    /// How often a tool was running when the host died.
    hit_tools: usize,
}

impl Mortal {
    fn new(setting: Setting) -> Self {
        let mut mad = Mad::new(setting.storing());
        mad.disk.is_on = true;
        Self {
            mad,
            screen: BTreeMap::new(),
            since: 0,
            armed: None,
            hit: BTreeSet::new(),
            hit_tools: 0,
        }
    }

    fn suffer(&mut self, blow: Blow) {
        match blow {
            Blow::Press(press) => self.mad.press(press),
            Blow::Crash { commits } => self.crash(commits),
            Blow::CrashAt { moment, commits } => self.armed = Some((moment, commits)),
            Blow::FalseAlarm => self.mad.disk.false_alarms += 1,
        }
        let state = self.mad.machine.state();
        let is_so = |moment| match moment {
            Moment::In(wanted) => wanted == state,
            Moment::Tool => self
                .mad
                .hands
                .keys()
                .any(|id| matches!(id, EffectId::Tool(_))),
        };
        if let Some((moment, commits)) = self.armed
            && is_so(moment)
            && self.mad.disk.snapshot.is_some()
        {
            self.armed = None;
            self.crash(commits);
        }
    }

    /// The host dies, and another takes over with what the disk has.
    fn crash(&mut self, commits: bool) {
        let mad = &mut self.mad;
        if mad.disk.snapshot.is_some() {
            self.hit.insert(mad.machine.state());
        }
        let has_tool = mad.hands.keys().any(|id| matches!(id, EffectId::Tool(_)));
        self.hit_tools += usize::from(has_tool);
        mad.disk.crash(commits);
        // What was never on the disk is forgotten, and its numbers with it.
        mad.blocks = mad.disk.blocks.clone();
        mad.hands.clear();
        mad.over = None;
        mad.cancelled = false;
        let config = Arc::clone(&mad.config);
        mad.machine = match &mad.disk.snapshot {
            Some(snapshot) => {
                RunMachine::revive(snapshot, config, Timestamp(mad.now)).expect("readable")
            }
            None => {
                let ran = &mad.tool_runs;
                assert!(ran.is_empty(), "{ran:?} ran, and nothing is stored");
                RunMachine::new(config, "thread".into(), Conversation::default())
            }
        };
        // What was deferred is under way elsewhere: its result can still come.
        let snapshot: Value = serde_json::from_str(&mad.machine.snapshot()).expect("JSON");
        let pending = snapshot["run"]["core"]["effects"].clone();
        let pending: Vec<(EffectId, Value)> = serde_json::from_value(pending).expect("pairs");
        let deferred = pending.into_iter().filter(|(_, stage)| stage == "deferred");
        mad.hands.extend(deferred.map(|(id, _)| (id, None)));
        self.assert_nothing_lost();
        // The new host shows the conversation as it stands, and what comes from now on.
        let messages = self.mad.machine.conversation().messages().iter();
        self.screen = messages.filter_map(text_of).collect();
        self.since = self.mad.outputs.len();
        self.mad.born = self.since;
        self.mad.take_outputs();
        self.mad.check();
    }

    /// I15: of what the user has seen, all that is in stored blocks is there again, and in the same words.
    fn assert_nothing_lost(&self) {
        let conversation = self.mad.machine.conversation();
        let there: BTreeMap<_, _> = conversation.messages().iter().filter_map(text_of).collect();
        let mut stored: BTreeMap<String, String> = BTreeMap::new();
        for block in self.mad.disk.blocks.values() {
            match &block.content {
                BlockContent::Text {
                    message_id, text, ..
                }
                | BlockContent::Reasoning {
                    message_id, text, ..
                } => {
                    stored
                        .entry(message_id.to_string())
                        .or_default()
                        .push_str(text);
                }
                BlockContent::ToolUse {
                    call, tool_call_id, ..
                } => {
                    let asked = conversation.messages().iter().any(|message| {
                        matches!(message, Message::Assistant(message)
                            if message.tool_calls.iter().any(|call| call.id == *tool_call_id))
                    });
                    assert!(asked, "I15: the call {call:?} is gone");
                }
                BlockContent::ToolResult {
                    call, tool_call_id, ..
                } => {
                    let live = conversation
                        .call(*call)
                        .is_some_and(|call| call.status.is_final());
                    let settled = conversation.messages().iter().any(|message| {
                        matches!(message, Message::Tool(message) if message.tool_call_id == *tool_call_id)
                    });
                    assert!(live || settled, "I15: the result of {call:?} is gone");
                }
                _ => {}
            }
        }
        for (id, stored) in &stored {
            let there = there.get(id).cloned().unwrap_or_default();
            assert!(
                there.starts_with(stored.as_str()),
                "I15: {id}: {stored:?} became {there:?}"
            );
            let seen = self.seen_of(id);
            // A line break that was put before it to be shown is no part of it.
            let made = usize::from(seen.starts_with('\n') && !there.starts_with('\n'));
            let seen = &seen[made..];
            let common = seen.len().min(stored.len());
            assert_eq!(
                seen.get(..common),
                there.get(..common),
                "I15: {id} reads otherwise"
            );
        }
    }

    /// What the user has seen of a message.
    fn seen_of(&self, id: &str) -> String {
        let deltas = self.mad.outputs[self.since..]
            .iter()
            .filter_map(|output| match output {
                Output::Event(RunEvent::AgUi(Event::TextMessageContent(event)))
                    if event.message_id == *id =>
                {
                    Some(event.delta.as_str())
                }
                Output::Event(RunEvent::AgUi(Event::ReasoningMessageContent(event)))
                    if event.message_id == *id =>
                {
                    Some(event.delta.as_str())
                }
                _ => None,
            });
        self.screen
            .get(id)
            .map(String::as_str)
            .into_iter()
            .chain(deltas)
            .collect()
    }

    /// How often each tool that must not run twice was given out, over all lives of the host.
    fn runs_of_plain_tools(&self) -> BTreeMap<(u32, u32), u32> {
        let mut runs = BTreeMap::new();
        for output in &self.mad.outputs {
            if let Output::Effect(_, Effect::RunTool { invocation }) = output
                && invocation.name != "look"
            {
                let call = invocation.call;
                *runs.entry((call.hop, call.index)).or_default() += 1;
            }
        }
        runs
    }

    fn assert_requests_legal(&self) {
        for output in &self.mad.outputs {
            if let Output::Effect(id, Effect::OpenStream { request }) = output {
                let body = serde_json::from_slice(&request.body).expect("requests are JSON");
                if let Err(fault) = openai_chat(&body) {
                    panic!("I13: {id}: {fault}\n{body:#}");
                }
            }
        }
    }
}

fn text_of(message: &Message) -> Option<(String, String)> {
    let text = match message {
        Message::Assistant(message) => message.content.clone()?,
        Message::Reasoning(message) => message.content.clone(),
        _ => return None,
    };
    Some((message.id().to_string(), text))
}

/// A world that all this befalls; then all is answered until it is quiet.
fn befallen(setting: Setting, blows: Vec<Blow>) -> Mortal {
    let mut world = Mortal::new(setting);
    for blow in blows {
        world.suffer(blow);
    }
    world.mad.calm_down();
    world
}

proptest! {
    #![proptest_config(cases(80))]

    /// One world is held to all of them, as to make it costs most.
    #[test]
    fn i06_i07_i15_hold_over_any_crashes(setting in settings(), blows in blows(), commits: bool) {
        let mut world = befallen(setting, blows);
        prop_assert_eq!(&world.mad.disk.gaps, &Vec::<String>::new(), "I6: a gap");
        prop_assert_eq!(&world.mad.disk.reuses, &Vec::<String>::new(), "I6: a number for two contents");
        prop_assert_eq!(&world.mad.disk.too_early, &Vec::<String>::new(), "I6: before it was durable");
        // Once all is quiet, all that was said is stored, unless the store failed too often and that was said.
        let gave_up = world.mad.outputs.iter().any(|output| {
            matches!(output, Output::Event(RunEvent::Warning { message }) if message.contains("could not be stored"))
        });
        if !gave_up {
            prop_assert_eq!(world.mad.blocks.len(), world.mad.disk.blocks.len(), "I6: not all is stored");
        }
        for (call, runs) in world.runs_of_plain_tools() {
            prop_assert_eq!(runs, 1, "I7: {:?} ran more than once", call);
        }
        // I15: each crash looks that nothing is lost.
        world.crash(commits);
    }

    #[test]
    fn i13_every_request_is_legal(setting in settings(), blows in blows()) {
        let mut world = befallen(setting.speaking(Dialect::OpenAiChat), blows);
        let mad = &mut world.mad;
        // However the turn ended, the next one can be asked for.
        let history = mad.machine.conversation().clone();
        let config = Arc::clone(&mad.config);
        mad.machine = RunMachine::new(config, "thread".into(), history);
        let start = Start::new("run-2", Message::user("user-2", "And now?"));
        let asked = mad.machine.handle(Input::Start(Box::new(start)), Timestamp(mad.now));
        prop_assert_eq!(asked, Ok(()));
        let requests = mad.outputs.len();
        while let Some(output) = mad.machine.poll_output() {
            mad.outputs.push(output);
        }
        prop_assert!(mad.outputs.len() > requests);
        world.assert_requests_legal();
    }
}

/// The states in which no host has died. Questions of an agent, failures after something was stored, and answers that the
/// host decodes are rarer than the runs that are tried.
fn missed(hit: &BTreeSet<StateKind>) -> Vec<StateKind> {
    let is_rare = |state: &StateKind| {
        matches!(
            state,
            StateKind::Interrupted | StateKind::Waiting | StateKind::Decoding
        )
    };
    let missed = STATES.into_iter().filter(|state| !hit.contains(state));
    missed.filter(|state| !is_rare(state)).collect()
}

/// A generator whose crashes never hit anything would let everything pass.
#[test]
fn crashes_hit_every_state_and_every_moment() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut hit = BTreeSet::new();
    let mut hit_tools = 0;
    for _ in 0..400 {
        let tree = (settings(), blows())
            .new_tree(&mut runner)
            .expect("the strategy gives values");
        let (setting, blows) = tree.current();
        let mut world = Mortal::new(setting);
        for blow in blows {
            world.suffer(blow);
        }
        hit.extend(world.hit.iter().copied());
        hit_tools += world.hit_tools;
        if hit_tools > 0 && missed(&hit).is_empty() {
            return;
        }
    }
    panic!("no crash in {:?}, {hit_tools} in a tool", missed(&hit));
}
