//! A redacted journal says nothing of what was said, and replays through the same states and effects.

mod broken_off;
mod config;
mod dialects;
mod texts;

use crate::cases::cases;
use crate::context::guarded;
use crate::interrupts::{answer, asks};
use crate::journal::{parsed, written};
use crate::turn::BOTH;
use crate::world::{Cut, Reply, ToolReply, World, offer};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Message, ResumeEntry, ResumeStatus, protobuf};
use stepwell_core::journal::{Journal, RedactError, Step};
use stepwell_core::run::{
    ContextPolicy, Decision, Durability, Input, Outcome, Refusal, RunMachine, Start,
};
use stepwell_core::tool::Tool;
use stepwell_testing::chaos::{Chaos, actions};
use stepwell_testing::reply::{Call, Part, call, text};
use stepwell_testing::settings;

/// A word that stands nowhere in the protocol, however it is spelled.
const SECRET: &str = "zebraß🦓Quagga77";

/// The pieces of it that must not be found either.
const PIECES: [&str; 5] = ["zebra", "Quagga", "ß", "🦓", "zebraß🦓Quagga77"];

fn secret(place: &str) -> String {
    format!("{SECRET}{place} and {SECRET}")
}

/// As JSON with every character that is not ASCII escaped.
fn escaped(value: &serde_json::Value) -> String {
    let text = value.to_string();
    let characters = text.chars().map(|character| {
        let mut units = [0; 2];
        if character.is_ascii() {
            return character.to_string();
        }
        let units = character.encode_utf16(&mut units).iter();
        units.map(|unit| format!("\\u{unit:04x}")).collect()
    });
    characters.collect()
}

/// A turn with a secret in every place where a text can stand.
fn telling(dialect: Dialect, cut: Cut, seed: u64) -> World {
    let schema = json!({
        "type": "object",
        "description": secret("schema"),
        "properties": {
            "city": {"type": "string", "description": secret("property"), "enum": [secret("city"), "Oslo"]},
            "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$", "minLength": 3},
        },
        "required": ["city"],
    });
    let arguments = json!({"city": secret("city"), "code": "NO77", secret("key"): {"deep": [secret("deep"), 1.5, true]}});
    let wrong = json!({"city": secret("other"), "code": "NO77"});
    let misfit = json!({"city": "Oslo", "code": "nope77"});
    let mut world = crate::world::with(dialect, |config| {
        config.instructions = Some(secret("instructions"));
        config.endpoint.key = Some(SECRET.into());
        config.endpoint.base_url = format!("http://{SECRET}.example/{SECRET}?key={SECRET}");
        config
            .endpoint
            .headers
            .push(("x-team".into(), SECRET.into()));
        config
            .settings
            .extra
            .insert("user".into(), secret("extra").into());
        config.durability = Durability::Blocks { attempts: 2 };
        offer(
            config,
            Tool::new("work", secret("description")).parameters(schema),
        );
        offer(config, Tool::new("ask", "Asks.").requires_approval());
    })
    .seed(seed)
    .tool("work", |_| ToolReply::text(&secret("result")))
    .tool("ask", |_| ToolReply::failure(&secret("failure")));
    world.cut = cut;
    let history = Conversation::new(vec![
        Message::user(secret("id"), secret("question")),
        Message::user("history-2", secret("again")),
    ])
    .with_shared_state(json!({secret("state"): secret("value")}));
    world.machine = RunMachine::new(Arc::clone(&world.config), SECRET.into(), history);
    let message = json!({"error": {"message": secret("error"), "code": SECRET}});
    let refusal = Refusal {
        status: 503,
        retry_after: None,
        body: message.to_string().into_bytes(),
    };
    let calls = Part::Calls(vec![
        Call::new(&secret("call"), "work", &arguments.to_string()),
        Call::new("b", "work", &escaped(&wrong)),
        Call::new("c", "work", &misfit.to_string()),
        Call::new("d", SECRET, "{}"),
        Call::new("e", "ask", &format!("{{{SECRET}")),
        Call::new("f", "ask", "null"),
    ]);
    let comment = Part::Raw(format!(": {SECRET}\n\n"));
    world = world
        .journaled()
        .reply(Reply::Refused(refusal))
        .reply(Reply::Unreachable)
        .streams([
            Part::Reasoning(secret("thought")),
            comment,
            text(&secret("answer")),
            calls,
        ]);
    world = match dialect {
        Dialect::AgUi => world.streams([
            Part::Event(json!({"type": "STATE_SNAPSHOT", "snapshot": {"list": [], secret("a/b"): secret("value")}})),
            Part::Event(json!({"type": "STATE_DELTA", "delta": [
                {"op": "add", "path": format!("/{}", secret("a~1b")), "value": secret("new")},
                {"op": "test", "path": format!("/{}", secret("a~1b")), "value": secret("new")},
            ]})),
            Part::Event(json!({"type": "CUSTOM", "name": SECRET, "value": {secret("custom"): secret("custom")}})),
            call("g", "work", &json!({"city": "Oslo"}).to_string()),
            Part::ToolResult { call: "g".into(), content: secret("theirs") },
            asks(&[SECRET]),
        ])
        .streams([text(&secret("thanks"))]),
        _ => world.streams([text(&secret("end")), Part::Usage { input: 1, output: 2 }]),
    };
    let reason = Some(secret("reason"));
    world.decisions.push_back(Decision::Denied { reason });
    world.decisions.push_back(Decision::Granted);
    let start = Start::new(SECRET, Message::user(secret("user"), secret("said")));
    world.input(Input::Start(Box::new(start))).expect("idle");
    world.drive();
    if !world.machine.interrupts().is_empty() {
        let answer = ResumeEntry {
            interrupt_id: SECRET.into(),
            status: ResumeStatus::Resolved,
            payload: Some(json!({secret("payload"): secret("payload")})),
            metadata: None,
            extra: Default::default(),
        };
        world
            .input(Input::Resume(vec![answer]))
            .expect("it is asked");
        world.drive();
    }
    assert_eq!(*world.outcome(), Outcome::Success);
    world
}

#[track_caller]
fn says_nothing(redacted: &Journal) -> String {
    let text = redacted.to_text();
    for piece in PIECES {
        if let Some(at) = text.find(piece) {
            let around: String = text[..at]
                .chars()
                .rev()
                .take(200)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect();
            panic!("`{piece}` is told after: {around}");
        }
    }
    assert!(
        !text.contains("\\u00df") && !text.contains("\\ud83e"),
        "an escape tells"
    );
    text
}

#[track_caller]
fn replays_alike(journal: &Journal, redacted: &Journal) {
    let before = journal.replay().expect("the original replays");
    let after = redacted.replay().expect("the redacted one replays");
    assert_eq!(after.effects, before.effects);
    assert_eq!(after.states, before.states);
    assert_eq!(after.inputs, before.inputs);
    let steps = |journal: &Journal| -> Vec<_> {
        let of = |entry: &stepwell_core::journal::Entry| {
            (
                entry.at,
                entry.step.name(),
                entry.gives.as_ref().map(|gives| gives.state),
            )
        };
        journal.entries.iter().map(of).collect()
    };
    assert_eq!(steps(journal), steps(redacted));
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn a_redacted_journal_tells_nothing_and_replays_alike(
        dialect in 0..2usize,
        size in 1..60usize,
        is_seeded: bool,
        seed: u64,
    ) {
        let cut = if is_seeded { Cut::Seeded } else { Cut::Every(size) };
        let mut world = telling(BOTH[dialect], cut, seed);
        let text = written(&mut world);
        prop_assert!(text.contains("zebra"));
        let journal = parsed(&text);
        let redacted = journal.redact(seed).expect("it can be redacted");
        prop_assert!(redacted.redacted);
        let text = says_nothing(&redacted);
        let again = parsed(&text);
        prop_assert_eq!(again.to_text(), text);
        replays_alike(&journal, &again);
    }

    /// What is redacted is as long as before, byte for byte, so the cuts are where they were.
    #[test]
    fn a_redacted_chunk_is_as_long_as_before(seed: u64, size in 1..40usize) {
        let mut world = telling(Dialect::OpenAiChat, Cut::Every(size), seed);
        let journal = parsed(&written(&mut world));
        let redacted = journal.redact(seed).expect("it can be redacted");
        let lengths = |journal: &Journal| -> Vec<usize> {
            let length = |entry: &stepwell_core::journal::Entry| match &entry.step {
                stepwell_core::journal::Step::Input(Input::Received { bytes, .. }) => Some(bytes.len()),
                _ => None,
            };
            journal.entries.iter().filter_map(length).collect()
        };
        prop_assert_eq!(lengths(&journal), lengths(&redacted));
    }
}

proptest! {
    #![proptest_config(cases(30))]

    /// Also what a chaotic host brings: broken frames, late answers, restores.
    #[test]
    fn i05_a_mad_journal_that_is_redacted_replays_alike(setting in settings(), actions in actions(), restores: bool, seed: u64) {
        let mut chaos = Chaos::new(setting.config()).journaled().restored(restores);
        for action in actions {
            chaos.apply(action);
        }
        let journal = chaos.take_journal().expect("it writes one").take_lines();
        let journal = parsed(&journal);
        let redacted = match journal.redact(seed) {
            // The words of an answer decide whether it is the typed one, and those of a page what failed.
            Err(RedactError::Differs { .. })
                if journal.config.output.is_some()
                    || texts::received(&journal).contains("<html>") =>
            {
                return Ok(());
            }
            redacted => redacted.map_err(|error| TestCaseError::fail(error.to_string()))?,
        };
        replays_alike(&journal, &redacted);
    }
}

/// A journal's run lives again by its own inputs alone, one by one.
fn relived(journal: &Journal, mut before: impl FnMut(&RunMachine, &Input<'_>)) -> RunMachine {
    let history = journal.history.clone().unwrap_or_default();
    let config = Arc::new(journal.config.clone());
    let mut machine = RunMachine::new(config, journal.thread_id.clone(), history);
    for entry in &journal.entries {
        let Step::Input(input) = &entry.step else {
            panic!("{} is no input", entry.step.name());
        };
        before(&machine, input);
        // The original may have been refused too.
        let _ = machine.handle(input.clone(), entry.at);
        while machine.poll_output().is_some() {}
    }
    machine
}

#[test]
fn what_langgraph_asks_is_asked_in_a_redacted_journal_too() {
    let asked = |id: &str| {
        let native = json!({"id": id, "value": secret("question")});
        Part::Event(
            json!({"type": "CUSTOM", "name": "on_interrupt", "value": secret("question"), "rawEvent": native}),
        )
    };
    let mut world = crate::world::with(Dialect::AgUi, |_| {})
        .journaled()
        .streams([asked(SECRET), asked("b")])
        .streams([text("Yes.")]);
    world.send("Hello");
    world.drive();
    let answers = [SECRET, "b"].map(answer);
    world
        .input(Input::Resume(answers.to_vec()))
        .expect("it is asked");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let journal = parsed(&written(&mut world));
    let redacted = journal.redact(3).expect("it goes the same way");
    says_nothing(&redacted);
    replays_alike(&journal, &redacted);
}

/// The machine makes the ids of its messages again, from the alias of the run's: what an input says of them must fit.
#[test]
fn an_id_that_the_machine_made_still_names_its_message() {
    let mut world = guarded(1_700, ContextPolicy::Trim, |_| {})
        .journaled()
        .streams([call("a", "work", "{}")])
        .streams([call("b", "work", "{\"n\":1}")])
        .streams([text("Yes.")]);
    world.trims.push_back(|overflow| {
        let made = overflow.messages.iter().skip(1);
        (made.map(|message| message.id.clone()).collect(), None)
    });
    let mut world = world.turn();
    let journal = parsed(&written(&mut world));
    let redacted = journal.redact(7).expect("it goes the same way");
    let mut named = Vec::new();
    relived(&redacted, |machine, input| {
        if let Input::ContextTrimmed { keep, .. } = input {
            for id in keep {
                let message = machine.conversation().message(id);
                assert!(message.is_some(), "{id} names nothing");
                named.push(id.clone());
            }
        }
    });
    assert!(named.len() > 1, "{named:?}");
}

#[test]
fn equal_ids_stay_equal_and_made_ids_are_made_from_their_alias() {
    let mut world = telling(Dialect::AgUi, Cut::Every(11), 3);
    let journal = parsed(&written(&mut world));
    let redacted = journal.redact(9).expect("it can be redacted");
    let replayed = redacted.replay().expect("the same");
    assert_eq!(replayed.outcome, Some(Outcome::Success));
    assert_eq!(
        redacted.redact(10).map(|again| again.entries.len()),
        Ok(redacted.entries.len())
    );
}

#[test]
fn another_seed_gives_other_aliases() {
    let mut world = telling(Dialect::OpenAiChat, Cut::Whole, 1);
    let journal = parsed(&written(&mut world));
    let of = |seed| journal.redact(seed).expect("it can be redacted").to_text();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn characters_of_every_length_keep_their_length() {
    let said = "aé€🦓 nñ₂🙂";
    let mut world = crate::world::chat()
        .journaled()
        .streams([text(said)])
        .turn();
    let journal = parsed(&written(&mut world));
    let redacted = journal.redact(1).expect("it can be redacted");
    replays_alike(&journal, &redacted);
    let body = |journal: &Journal| {
        let bytes = journal
            .entries
            .iter()
            .filter_map(|entry| match &entry.step {
                Step::Input(Input::Received { bytes, .. }) => Some(bytes.to_vec()),
                _ => None,
            });
        String::from_utf8(bytes.flatten().collect()).expect("UTF-8")
    };
    let lengths = |text: &str| text.chars().map(char::len_utf8).collect::<Vec<_>>();
    let text = body(&redacted);
    assert_eq!(lengths(&text), lengths(&body(&journal)));
    assert!(!text.contains('€'));
}

#[test]
fn every_bit_of_the_seed_counts() {
    let mut world = crate::world::chat()
        .journaled()
        .streams([text("Hello.")])
        .turn();
    let journal = parsed(&written(&mut world));
    let of = |seed| journal.redact(seed).expect("it can be redacted").to_text();
    let all: std::collections::BTreeSet<_> = (0..64).map(|bit| of(1 << bit)).collect();
    assert_eq!(all.len(), 64);
}

#[test]
fn a_page_that_is_no_stream_is_hidden_too() {
    let page = format!("<html><p>{SECRET}</p></html>").into_bytes();
    let mut world = crate::world::chat()
        .journaled()
        .reply(Reply::Body(Some("text/html; x=Quagga"), page))
        .turn();
    let journal = parsed(&written(&mut world));
    let redacted = journal.redact(1).expect("it can be redacted");
    says_nothing(&redacted);
    replays_alike(&journal, &redacted);
}

#[test]
fn a_journal_with_a_whole_snapshot_is_not_redacted() {
    let mut world = crate::world::chat().reply(Reply::Silent);
    world.send("Hello");
    let snapshot = world.machine.snapshot();
    let mut journal =
        stepwell_core::journal::JournalWriter::of_stored(&world.config, &"thread".into());
    let config = Arc::clone(&world.config);
    let now = stepwell_core::Timestamp(world.now);
    journal.revive(&snapshot, &config, now).expect("readable");
    let journal = parsed(&journal.take_lines());
    let refused = journal.redact(1).expect_err("it holds a snapshot");
    assert_eq!(refused, RedactError::Snapshot { number: 1 });
}

#[test]
fn a_journal_with_a_binary_stream_is_not_redacted() {
    let mut world = crate::world::with(Dialect::AgUi, |config| config.retry.attempts = 2)
        .journaled()
        .reply(Reply::Unreachable)
        .reply(Reply::Body(Some(protobuf::MEDIA_TYPE), Vec::new()))
        .turn();
    let journal = parsed(&written(&mut world));
    let steps: Vec<_> = journal
        .entries
        .iter()
        .map(|entry| entry.step.name())
        .collect();
    assert_eq!(
        steps[..4],
        ["start", "connection_failed", "timeout", "opened"]
    );
    assert_eq!(journal.redact(1), Err(RedactError::Binary { number: 4 }));
}

/// What kind of error it is, and so whether the request goes out again, nothing says but its words.
#[test]
fn a_run_that_goes_by_words_alone_is_not_redacted() {
    let refusal = Refusal {
        status: 503,
        retry_after: None,
        body: b"the prompt is too long".to_vec(),
    };
    let mut world = crate::world::chat()
        .journaled()
        .reply(Reply::Refused(refusal))
        .turn();
    let journal = parsed(&written(&mut world));
    let differs = RedactError::Differs {
        number: 2,
        name: "refused".to_owned(),
        expected: "Completed with []".to_owned(),
        got: "Waiting with []".to_owned(),
    };
    assert_eq!(journal.redact(1), Err(differs));
}
