//! Journals: what is written down is replayed, and a difference is named.

use crate::cases::cases;
use crate::durability::stored;
use crate::turn::{BOTH, secret_numbers};
use crate::world::{Reply, ToolReply, World, offer};
use proptest::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::journal::{
    Digest, Divergence, Journal, JournalEnd, JournalError, JournalStep, JournalWriter,
    SnapshotOrigin,
};
use stepwell_core::run::{EffectId, Input, Output, StateKind};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_testing::chaos::{Chaos, actions};
use stepwell_testing::reply::{Call, Part, call, text};
use stepwell_testing::settings;

/// Closes the journal of a world, and gives it.
pub fn written(world: &mut World) -> String {
    let mut journal = world.journal.take().expect("it writes one");
    journal.end(&world.machine);
    journal.take_lines()
}

fn turn(dialect: Dialect) -> String {
    written(&mut secret_numbers(dialect).journaled().turn())
}

#[track_caller]
pub fn parsed(text: &str) -> Journal {
    Journal::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn differs(text: &str) -> Divergence {
    *parsed(text).replay().expect_err("it differs")
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn i05_a_replay_gives_the_same_effects_events_and_digest(
        setting in settings(),
        actions in actions(),
        restores: bool,
        closed: bool,
    ) {
        let mut chaos = Chaos::new(setting.config()).journaled().restored(restores);
        for action in actions {
            chaos.apply(action);
        }
        prop_assert_eq!(chaos.violation(), None);
        let mut journal = chaos.take_journal().expect("it writes one");
        if closed {
            journal.end(chaos.machine());
        }
        let text = journal.take_lines();
        let journal = parsed(&text);
        prop_assert_eq!(journal.to_text(), text, "what is read is what was written");
        let replayed = journal.replay().map_err(|differs| TestCaseError::fail(differs.to_string()))?;
        let effects: Vec<_> = chaos.outputs().iter().filter_map(|output| match output {
            Output::Effect(id, effect) if !is_told_only(effect) => Some(*id),
            _ => None,
        }).collect();
        let events = chaos.outputs().iter().filter(|output| matches!(output, Output::Event(_))).count();
        prop_assert_eq!(replayed.effects, effects);
        prop_assert_eq!(replayed.events, events);
        prop_assert_eq!(replayed.outcome.as_ref(), chaos.machine().outcome());
        prop_assert_eq!(replayed.digest, Digest::of_run(chaos.machine()));
        prop_assert_eq!(replayed.states.last().copied(), Some(chaos.machine().state()));
    }

    /// A journal that is cut off anywhere is read as far as it goes, and what is read replays.
    #[test]
    fn i05_a_journal_that_is_cut_anywhere_replays_as_far_as_it_goes(cut: prop::sample::Index) {
        let text = turn(Dialect::AgUi);
        let at = cut.index(text.len());
        let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        match Journal::parse(&text[..at]) {
            Ok(journal) => {
                let lines = text[..at].matches('\n').count();
                prop_assert!(journal.entries.len() >= lines.saturating_sub(1) / 2);
                if !text[..at].ends_with('\n') && journal.ending == JournalEnd::Open {
                    // The line was whole but for its line break.
                    prop_assert!(text[at..].starts_with('\n'));
                }
                prop_assert!(journal.replay().is_ok());
            }
            Err(error) => prop_assert!(at <= text.find('\n').unwrap_or(0), "{}", error),
        }
    }
}

fn is_told_only(effect: &stepwell_core::run::Effect) -> bool {
    use stepwell_core::run::Effect;
    matches!(
        effect,
        Effect::CloseStream | Effect::CancelTool | Effect::AnswerTool { .. }
    )
}

#[test]
fn in_full_a_journal_has_the_requests_the_events_and_the_blocks_and_is_the_same_journal() {
    for dialect in BOTH {
        let text = turn(dialect);
        let journal = parsed(&text);
        let full = journal.to_full_text().expect("nothing has changed");
        assert_eq!(parsed(&full), journal);
        let outputs: Vec<Value> = full
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            .filter_map(|mut line| Some(line.get_mut("outputs")?.take()))
            .flat_map(|outputs| outputs.as_array().cloned().expect("a list"))
            .collect();
        let names = journal.entries.iter().flat_map(|entry| &entry.gives);
        let names: usize = names.map(|gives| gives.outputs.len()).sum();
        assert_eq!(outputs.len(), names);
        let requests: Vec<_> = outputs
            .iter()
            .filter_map(|output| output.pointer("/effect/1/open_stream/request"))
            .collect();
        assert_eq!(requests.len(), 2);
        for request in requests {
            assert_eq!(request["method"], "POST");
            assert!(request["body"].is_object(), "{request}");
        }
        let said = outputs
            .iter()
            .any(|output| output.pointer("/event/ag_ui/delta").is_some());
        assert!(said, "{full}");
    }
}

#[test]
fn a_journal_replays_without_the_labels_of_the_apps_own_code() {
    let world = stored(Dialect::OpenAiChat, |config| {
        let label = |_: &Value| Some("A label".to_owned());
        offer(
            config,
            Tool::new("labelled", "Works.")
                .label(label)
                .requires_approval(),
        );
    });
    let mut world = world
        .tool("labelled", |_| ToolReply::text("ok"))
        .journaled()
        .streams([call("c", "labelled", "{}")])
        .streams([text("Done.")])
        .turn();
    let journal = parsed(&written(&mut world));
    journal.replay().expect("nothing has changed");
    assert!(
        journal
            .to_full_text()
            .is_ok_and(|full| full.contains("tool_use"))
    );
}

#[test]
fn in_full_a_journal_that_differs_is_refused() {
    let text = turn(Dialect::OpenAiChat);
    let changed = text.replacen("\"state\":\"streaming\"", "\"state\":\"waiting\"", 1);
    assert_ne!(changed, text);
    parsed(&changed).to_full_text().unwrap_err();
}

#[test]
fn a_turn_is_lived_through_again() {
    for dialect in BOTH {
        let journal = parsed(&turn(dialect));
        assert!(matches!(journal.ending, JournalEnd::Closed(_)));
        let replayed = journal.replay().expect("nothing has changed");
        assert_eq!(replayed.inputs, journal.entries.len());
        let names: Vec<_> = replayed.effects.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["open:0:0", "tool:0:0", "tool:0:1", "open:1:0"]);
        use StateKind::{Completed, ExecutingTools, Idle, Opening, Streaming};
        let states = [
            Idle,
            Opening,
            Streaming,
            ExecutingTools,
            Opening,
            Streaming,
            Completed,
        ];
        assert_eq!(replayed.states, states);
    }
}

#[test]
fn a_journal_is_lines_of_json_with_stable_names() {
    let text = turn(Dialect::OpenAiChat);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let head = &lines[0];
    assert_eq!(head["stepwell_journal"], 1);
    assert_eq!(head["dialect"], "openai-chat");
    assert_eq!(head["thread_id"], "thread");
    assert_eq!(head["config"]["durability"], "none");
    assert_eq!(head["config"]["limits"]["at_limit"], "complete");
    let start = &lines[1]["input"]["start"];
    assert_eq!(start["message"]["content"], "Go on");
    assert_eq!(lines[2]["gives"]["state"], "opening");
    let outputs = lines[2]["gives"]["outputs"].as_array().expect("names");
    assert_eq!(outputs[..], ["started", "open_stream open:0:0"]);
    let bytes = &lines[5]["input"]["received"]["bytes"];
    let bytes = bytes.as_str().expect("text");
    assert!(bytes.starts_with("data: {"), "{bytes}");
    let last = lines.last().expect("some");
    assert!(last["end"]["digest"].is_string());
}

#[test]
fn what_is_stopped_is_named_like_all_else() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
    })
    .tool("work", |_| ToolReply::never())
    .journaled()
    .streams([call("c", "work", "{}")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    world.cancel();
    let journal = parsed(&written(&mut world));
    let last = journal.entries.last().expect("some");
    assert_eq!(last.step.name(), "cancel");
    let gives = last.gives.as_ref().expect("it is known");
    assert_eq!(gives.outputs[0], "cancel_tool tool:0:0");
}

#[test]
fn a_journal_holds_no_key() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        let header = ("x-team".to_owned(), "sk-team".to_owned());
        config.endpoint.headers.push(header);
        config.endpoint.base_url = "http://me:sk-password@localhost/v1?token=sk-token".to_owned();
    });
    world = world.journaled().streams([text("Yes.")]).turn();
    let text = written(&mut world);
    assert!(!text.contains("sk-"), "{text}");
    parsed(&text).replay().expect("a key changes nothing");
}

#[test]
fn a_character_that_is_cut_comes_back() {
    let mut world = crate::world::chat()
        .journaled()
        .streams([text("größer 🙂")]);
    world.cut = crate::world::Cut::Every(1);
    let mut world = world.turn();
    let replayed = parsed(&written(&mut world)).replay().expect("the same");
    assert_eq!(replayed.digest, Digest::of_run(&world.machine));
}

#[test]
fn a_journal_goes_on_over_a_crash_at_any_write() {
    for die_after in 1.. {
        let mut world = stored(Dialect::OpenAiChat, |_| {})
            .journaled()
            .streams([Part::Calls(vec![
                Call::new("a", "work", "{}"),
                Call::new("b", "work", "{}"),
            ])])
            .streams([call("c", "work", "{}")])
            .streams([text("Done.")]);
        world.fallback_reply = Some(Reply::Complete(vec![text("Done.")]));
        world.send("Hello");
        let mut died = false;
        while world.step() {
            if !died && world.store.writes.len() == die_after {
                died = true;
                world.crash();
            }
        }
        let journal = parsed(&written(&mut world));
        let origins: Vec<_> = journal
            .entries
            .iter()
            .filter_map(|entry| match &entry.step {
                JournalStep::Revived(back) => Some(&back.from),
                _ => None,
            })
            .collect();
        assert_eq!(origins.len(), usize::from(died));
        assert!(
            origins
                .iter()
                .all(|from| matches!(from, SnapshotOrigin::WrittenAt(_)))
        );
        let replayed = journal.replay().expect("the same");
        assert_eq!(replayed.digest, Digest::of_run(&world.machine));
        if !died {
            return;
        }
    }
}

/// The last write did not reach the disk.
#[test]
fn a_run_that_comes_back_from_an_earlier_write_is_replayed_from_that_one() {
    let mut world = stored(Dialect::OpenAiChat, |_| {})
        .journaled()
        .streams([call("c", "work", "{}")])
        .streams([text("Done.")]);
    world.send("Hello");
    world.drive_until(|world| world.store.writes.len() == 1);
    let before = world.store.clone();
    world.drive_until(|world| world.store.writes.len() == 2);
    world.store = before;
    world.crash();
    world.drive();
    let journal = parsed(&written(&mut world));
    let replayed = journal.replay().expect("the same");
    assert_eq!(replayed.digest, Digest::of_run(&world.machine));
}

#[test]
fn a_journal_may_begin_with_a_stored_run_and_a_changed_configuration() {
    let mut before = secret_numbers(Dialect::OpenAiChat);
    before.send("Hello");
    before.drive_to(StateKind::ExecutingTools);
    let snapshot = before.machine.snapshot();
    let mut journal = JournalWriter::of_stored(&before.config, &"thread".into());
    let mut config = (*before.config).clone();
    offer(&mut config, Tool::new("new", "New."));
    let config = Arc::new(config);
    let now = Timestamp(before.now);
    let machine = journal.revive(&snapshot, &config, now);
    before.config = config;
    before.journal = Some(journal);
    before.take_over(machine.expect("readable"));
    before.drive();
    let journal = parsed(&written(&mut before));
    assert_eq!(journal.history, None);
    let JournalStep::Revived(back) = &journal.entries[0].step else {
        panic!("{:?}", journal.entries[0])
    };
    assert!(matches!(back.from, SnapshotOrigin::Snapshot(_)) && back.config.is_some());
    let replayed = journal.replay().expect("the same");
    assert_eq!(replayed.digest, Digest::of_run(&before.machine));
}

#[test]
fn a_refused_input_is_refused_again() {
    let mut world = crate::world::chat().journaled().streams([text("Yes.")]);
    let effect = EffectId::Open { hop: 0, attempt: 0 };
    world.send("Hello");
    let ended = Input::Ended { effect };
    world.input(ended).expect_err("it was not opened");
    world.drive();
    let text = written(&mut world);
    assert!(text.contains("\"refused\":\"Ended before"), "{text}");
    parsed(&text).replay().expect("the same");
    let taken = text.replace("Ended before", "Started before");
    assert_eq!(differs(&taken).what, "whether it is taken");
}

#[test]
fn a_difference_is_named_with_its_input() {
    let text = turn(Dialect::OpenAiChat);
    let found = differs(&text.replacen("\"42\"", "\"43\"", 1));
    assert_eq!(found.name, "tool_finished");
    assert_eq!(found.what, "what its outputs hold");
    let line = text.lines().position(|line| line.contains("\"42\""));
    assert_eq!(line.map(|line| line.div_ceil(2)), Some(found.number));
    let said = found.to_string();
    assert!(
        said.contains(&format!("at input {}", found.number)),
        "{said}"
    );

    let found = differs(&text.replacen("\"tool_call executing\"", "\"tool_call sleeping\"", 1));
    assert_eq!(found.what, "its outputs");
    assert!(found.expected.contains("tool_call sleeping"), "{found}");
    assert!(found.got.contains("tool_call executing"), "{found}");

    let found =
        differs(&text.replacen("\"state\":\"executing_tools\"", "\"state\":\"waiting\"", 1));
    assert_eq!(
        (found.expected.as_str(), found.got.as_str()),
        ("Waiting", "ExecutingTools")
    );

    let digest = parsed(&text).replay().expect("the same").digest.to_string();
    let found = differs(&text.replace(&digest, "0123456789abcdef"));
    let after_all = parsed(&text).entries.len() + 1;
    assert_eq!((found.name.as_str(), found.number), ("end", after_all));
}

#[test]
fn a_changed_configuration_differs_where_it_first_matters() {
    let journal = parsed(&turn(Dialect::OpenAiChat));
    let mut config = journal.config.clone();
    config.limits.max_tool_rounds = 0;
    let found = journal.replay_with(config).expect_err("it matters");
    assert_eq!(found.what, "its outputs");
    let mut config = journal.config.clone();
    config.instructions = Some("Be kind.".to_owned());
    let found = journal.replay_with(config).expect_err("it is sent");
    assert_eq!((found.number, found.what), (1, "what its outputs hold"));
    let mut config = journal.config.clone();
    config.endpoint.key = Some("another".into());
    config.timeouts.tool = None;
    journal
        .replay_with(config)
        .expect("it does not matter here");
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line_and_advice() {
    let text = turn(Dialect::OpenAiChat);
    let change = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        Journal::parse(&text.replacen(from, to, 1)).expect_err("it is not as it should be")
    };
    assert_eq!(Journal::parse(""), Err(JournalError::Empty));
    let foreign = Journal::parse("{\"a\":1}\n").expect_err("foreign");
    assert!(
        matches!(foreign, JournalError::NoJournal { .. }),
        "{foreign}"
    );
    let later = change("{\"stepwell_journal\":1", "{\"stepwell_journal\":2");
    assert_eq!(later, JournalError::TooNew { found: 2 });
    let unknown = change("{\"start\":", "{\"teleport\":");
    let JournalError::Unknown { line, name, .. } = &unknown else {
        panic!("{unknown}")
    };
    assert_eq!((*line, name.as_str()), (2, "teleport"));
    assert!(unknown.to_string().contains("line 2"), "{unknown}");
    let entry = change("{\"gives\":", "{\"dreams\":");
    assert!(
        matches!(entry, JournalError::Unknown { line: 3, .. }),
        "{entry}"
    );
    let field = change("\"run_id\":\"run-1\"", "\"runid\":\"run-1\"");
    assert!(
        matches!(field, JournalError::Damaged { line: 2, .. }),
        "{field}"
    );
    let damaged = change("\"outputs\":[\"started\"", "\"outputs\":[\"started");
    assert!(
        matches!(damaged, JournalError::Damaged { line: 3, .. }),
        "{damaged}"
    );
    let dialect = change(
        "\"dialect\":\"openai-chat\",\"base_url\"",
        "\"dialect\":\"morse\",\"base_url\"",
    );
    assert!(dialect.to_string().contains("morse"), "{dialect}");
    let missing: String = text
        .lines()
        .enumerate()
        .filter(|(at, _)| *at != 2)
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    let missing = Journal::parse(&missing).expect_err("a line is missing");
    assert!(
        matches!(missing, JournalError::Misplaced { line: 3, .. }),
        "{missing}"
    );
}

#[test]
fn a_huge_journal_is_read_and_lived_through() {
    let mut world = crate::world::chat().journaled();
    world.cut = crate::world::Cut::Every(64);
    let long: String = "Wörter und mehr. ".repeat(8_000);
    world = world.streams([Part::Text(long.clone()), text(&long)]);
    world.send("Hello");
    world.drive_bounded(100_000);
    let text = written(&mut world);
    let journal = parsed(&text);
    assert!(journal.entries.len() > 4_000, "{}", journal.entries.len());
    let replayed = journal.replay().expect("the same");
    assert_eq!(replayed.digest, Digest::of_run(&world.machine));
}

#[test]
fn the_history_that_a_run_begins_on_is_in_its_journal() {
    let mut first = secret_numbers(Dialect::AgUi).turn();
    let history = first.machine.transcript().clone();
    let mut world = crate::world::ag_ui().streams([text("Yes.")]);
    let config = Arc::clone(&world.config);
    world.machine = stepwell_core::run::RunMachine::new(config, "thread".into(), history.clone());
    let mut world = world.journaled();
    let start = stepwell_core::event::Message::user("user-2", "And now?");
    let start = stepwell_core::run::Start::new("run-2", start);
    world.input(Input::Start(Box::new(start))).expect("idle");
    world.drive();
    first.wait(1);
    let journal = parsed(&written(&mut world));
    assert_eq!(
        journal.history.as_ref().map(Transcript::messages),
        Some(history.messages())
    );
    journal.replay().expect("the same");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals")
}

/// The journals that are kept: what a version wrote, a later one replays. Where the outputs of a run are meant to change,
/// `STEPWELL_ACCEPT=1 cargo test -p stepwell-core --test run journal` writes what comes of the same inputs now.
#[test]
fn the_journals_that_are_kept_replay() {
    let mut count = 0;
    for file in std::fs::read_dir(folder()).expect("the folder is there") {
        let path = file.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        let journal = parsed(&text);
        if std::env::var_os("STEPWELL_ACCEPT").is_some() {
            std::fs::write(&path, journal.rewritten().to_text()).expect("it can be written");
        } else if let Err(differs) = journal.replay() {
            panic!("{}: {differs}", path.display());
        }
        count += 1;
    }
    assert!(count >= 3, "{count}");
}

#[test]
#[ignore = "writes the journals that are not there yet"]
fn keep_journals() {
    std::fs::create_dir_all(folder()).expect("the folder can be made");
    let keep = |name: &str, text: String| {
        let path = folder().join(name);
        if !path.exists() {
            std::fs::write(path, text).expect("it can be written");
        }
    };
    keep("openai-chat-two-tools.jsonl", turn(Dialect::OpenAiChat));
    keep("ag-ui-two-tools.jsonl", turn(Dialect::AgUi));
    let mut world = stored(Dialect::OpenAiChat, |_| {})
        .journaled()
        .reply(Reply::Unreachable)
        .streams([
            text("May I?"),
            Part::Calls(vec![
                Call::new("a", "ask", "{}"),
                Call::new("b", "gone", "{"),
            ]),
        ])
        .streams([text("Then not.")]);
    let reason = Some("not now".to_owned());
    let denied = stepwell_core::run::Decision::Denied { reason };
    world.decisions.push_back(denied);
    world.send("Go on");
    world.drive_until(|world| world.store.writes.len() == 2);
    world
        .decisions
        .push_back(stepwell_core::run::Decision::Granted);
    world.crash();
    world.drive();
    keep(
        "openai-chat-stored-retried-revived.jsonl",
        written(&mut world),
    );
}
