//! A redacted journal keeps the structure of a run, hides its texts, and is not replayed.

use crate::cases::cases;
use crate::interrupts::{answer, asks};
use crate::journal::{parsed, written};
use crate::turn::BOTH;
use crate::world::{Cut, Reply, ToolReply, World, offer};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Message, ResumeEntry, ResumeStatus};
use stepwell_core::journal::{Journal, JournalEntry, JournalError, JournalStep, JournalWriter};
use stepwell_core::run::{
    Decision, Durability, Input, Outcome, Refusal, RunConfig, RunMachine, Start,
};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_testing::chaos::{Chaos, actions};
use stepwell_testing::reply::{Call, Part, call, text};
use stepwell_testing::settings;

/// A word that no protocol has, with characters of one to four bytes.
const SECRET: &str = "zebraß🦓Quagga77";

/// Parts of the word, which must not be found either.
const PIECES: [&str; 5] = ["zebra", "Quagga", "ß", "🦓", "zebraß🦓Quagga77"];

fn secret(place: &str) -> String {
    format!("{SECRET}{place} and {SECRET}")
}

/// Returns the value as JSON with every character outside of ASCII escaped.
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

/// Runs a turn with a secret in every place that can hold a text.
fn turn_of_secrets(dialect: Dialect, cut: Cut, seed: u64) -> World {
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
    let history = Transcript::new(vec![
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

/// Redacts the journal, and checks that nothing of the secret is left.
#[track_caller]
fn redacted(journal: &Journal) -> String {
    let text = journal.redact();
    for piece in PIECES.iter().chain(&["\\u00df", "\\ud83e"]) {
        let line = text.lines().find(|line| line.contains(piece));
        assert!(line.is_none(), "`{piece}` is in: {line:?}");
    }
    assert_eq!(Journal::parse(&text), Err(JournalError::Redacted));
    text
}

fn lines(text: &str) -> Vec<Value> {
    let read = |line: &str| serde_json::from_str(line).expect("each line is JSON");
    text.lines().map(read).collect()
}

/// Checks that the redacted journal has the same entries with the same times, states and effects.
#[track_caller]
fn has_the_structure_of(journal: &Journal, redacted: &str) {
    let lines = lines(redacted);
    let mut lines = lines[1..].iter();
    for JournalEntry { at, step, gives } in &journal.entries {
        let line = lines.next().expect("a line for each entry");
        let name = step.name();
        let found = match step {
            JournalStep::Input(_) => &line["input"],
            _ => line,
        };
        assert_eq!(line["at"], at.0);
        assert!(found == &name || found.get(&name).is_some(), "{line}");
        if let Some(gives) = gives {
            let line = &lines.next().expect("a line for what came of it")["gives"];
            assert_eq!(line["state"], json!(gives.state));
            let names = line["outputs"].as_array().map_or(0, Vec::len);
            assert_eq!(names, gives.outputs.len());
            assert_eq!(line["refused"].is_string(), gives.refused.is_some());
        }
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn hides_every_text_and_keeps_the_structure(
        dialect in 0..2usize,
        size in 1..60usize,
        is_seeded: bool,
        seed: u64,
    ) {
        let cut = if is_seeded { Cut::Seeded } else { Cut::Every(size) };
        let mut world = turn_of_secrets(BOTH[dialect], cut, seed);
        let text = written(&mut world);
        prop_assert!(text.contains("zebra"));
        let journal = parsed(&text);
        has_the_structure_of(&journal, &redacted(&journal));
    }
}

proptest! {
    #![proptest_config(cases(30))]

    /// A chaotic host brings broken frames, late answers and restores, too.
    #[test]
    fn keeps_the_structure_of_chaos(setting in settings(), actions in actions(), restores: bool) {
        let mut chaos = Chaos::new(setting.config()).journaled().restored(restores);
        for action in actions {
            chaos.apply(action);
        }
        let journal = parsed(&chaos.take_journal().expect("it writes one").take_lines());
        has_the_structure_of(&journal, &redacted(&journal));
    }
}

/// The lines of the redacted journal of a turn in which the model calls a tool.
fn turn_with_a_tool(change: impl FnOnce(&mut RunConfig)) -> (Journal, Vec<Value>) {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Zebras.").parameters(schema));
        change(config);
    })
    .tool("work", |_| ToolReply::text("Quagga"))
    .journaled()
    .streams([call("c", "work", r#"{"city":"zebra"}"#)])
    .streams([text("Done.")])
    .turn();
    let journal = parsed(&written(&mut world));
    let lines = lines(&redacted(&journal));
    (journal, lines)
}

#[test]
fn knows_every_field_of_a_plain_turn() {
    let (_, lines) = turn_with_a_tool(|_| {});
    for line in lines {
        assert!(!line.to_string().contains("hidden_fields"), "{line}");
    }
}

#[test]
fn replaces_the_bytes_of_a_stream_by_their_number() {
    let mut world = turn_of_secrets(Dialect::OpenAiChat, Cut::Every(7), 1);
    let journal = parsed(&written(&mut world));
    let length = |entry: &JournalEntry| match &entry.step {
        JournalStep::Input(Input::Received { bytes, .. }) => {
            Some(format!("[{} bytes]", bytes.len()))
        }
        _ => None,
    };
    let expected: Vec<_> = journal.entries.iter().filter_map(length).collect();
    let lines = lines(&redacted(&journal));
    let received = lines
        .iter()
        .filter_map(|line| line.pointer("/input/received/bytes"));
    assert_eq!(
        received.collect::<Vec<_>>(),
        expected.iter().collect::<Vec<_>>()
    );
}

#[test]
fn keeps_the_configuration_but_its_texts() {
    let (_, lines) = turn_with_a_tool(|config| {
        config.instructions = Some("Zebra".to_owned());
        config.endpoint.base_url = "https://user:zebra@zebra.example/v1".to_owned();
        config
            .endpoint
            .headers
            .push(("x-team".into(), "zebra".into()));
        config.settings.user = Some("zebra-1".to_owned());
    });
    let config = &lines[0]["config"];
    assert_eq!(lines[0]["redacted"], true);
    assert_eq!(config["endpoint"]["provider"], "openai-compatible");
    assert_eq!(config["endpoint"]["dialect"], "openai-chat");
    // No journal has a password or the value of a header: an ellipsis replaces it.
    assert_eq!(config["endpoint"]["base_url"], "[28 bytes]");
    assert_eq!(
        config["endpoint"]["headers"],
        json!([["[6 bytes]", "[3 bytes]"]])
    );
    assert_eq!(config["instructions"], "[5 bytes]");
    assert_eq!(config["settings"]["user"], "[7 bytes]");
    assert_eq!(config["durability"], "none");
    assert_eq!(config["limits"]["max_tool_rounds"], 10);
    let definition = &config["tools"][0]["definition"];
    assert_eq!(definition["name"], "work");
    assert_eq!(definition["description"], "[7 bytes]");
    let size = json!({"type": "object", "properties": {"city": {"type": "string"}}})
        .to_string()
        .len();
    assert_eq!(definition["parameters"], format!("[{size} bytes]"));
    let (_, lines) = turn_with_a_tool(|config| config.endpoint.provider = "zebra".to_owned());
    assert_eq!(lines[0]["config"]["endpoint"]["provider"], "[5 bytes]");
}

#[test]
fn hides_the_results_and_keeps_the_names_of_tools() {
    let (_, lines) = turn_with_a_tool(|_| {});
    let result = lines
        .iter()
        .find_map(|line| line.pointer("/input/tool_finished/result"));
    assert_eq!(result, Some(&json!({"Ok": "[6 bytes]"})));
    let outputs = lines
        .iter()
        .filter_map(|line| line.pointer("/gives/outputs"));
    let outputs: Vec<_> = outputs
        .flat_map(|names| names.as_array().cloned().unwrap_or_default())
        .collect();
    for name in [
        "run_tool tool:0:0",
        "ag_ui TOOL_CALL_ARGS",
        "completed success",
    ] {
        assert!(outputs.contains(&name.into()), "{name}: {outputs:?}");
    }
    assert!(
        lines
            .iter()
            .all(|line| line.get("digest").is_none() && line.pointer("/gives/digest").is_none())
    );
}

#[test]
fn replaces_equal_ids_by_the_same_number() {
    let world = crate::world::chat();
    let history = Transcript::new(vec![Message::user("zebra-1", "zebra")]);
    let mut writer = JournalWriter::new(&world.config, &"Quagga".into(), &history);
    let mut machine = RunMachine::new(Arc::clone(&world.config), "Quagga".into(), history);
    let steer = |id: &str| Input::Steer(Box::new(Message::user(id, "zebra")));
    let start = Start::new("Quagga", Message::user("zebra-2", "zebra"));
    for input in [
        Input::Start(Box::new(start)),
        steer("zebra-1"),
        steer("zebra-3"),
    ] {
        // The second message of an id is refused.
        let _ = writer.handle(&mut machine, input, Timestamp(1));
        while writer.poll_output(&mut machine).is_some() {}
    }
    let lines = lines(&redacted(&parsed(&writer.take_lines())));
    let id = |pointer: &str| {
        lines
            .iter()
            .filter_map(|line| line.pointer(pointer))
            .collect::<Vec<_>>()
    };
    assert_eq!(id("/thread_id"), id("/input/start/run_id"));
    let known = &lines[0]["history"]["messages"][0]["id"];
    let steered = id("/input/steer/id");
    assert_eq!(steered[0], known);
    assert_ne!(steered[1], known);
    assert_ne!(id("/input/start/message/id")[0], known);
}

#[test]
fn hides_what_an_agent_asks() {
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
    redacted(&parsed(&written(&mut world)));
}

#[test]
fn hides_a_page_instead_of_a_stream() {
    for media_type in ["text/html; x=Quagga", "zebra/Quagga"] {
        let page = format!("<html><p>{SECRET}</p></html>").into_bytes();
        let mut world = crate::world::chat()
            .journaled()
            .reply(Reply::Body(Some(media_type), page))
            .turn();
        redacted(&parsed(&written(&mut world)));
    }
}

#[test]
fn hides_a_stored_snapshot() {
    let mut world = crate::world::chat().reply(Reply::Silent);
    world.send(SECRET);
    let snapshot = world.machine.snapshot();
    let mut journal = JournalWriter::of_stored(&world.config, &"thread".into());
    let config = Arc::clone(&world.config);
    journal
        .revive(&snapshot, &config, Timestamp(world.now))
        .expect("readable");
    let text = journal.take_lines();
    assert!(text.contains("zebra"));
    redacted(&parsed(&text));
}
