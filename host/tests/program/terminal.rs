//! A chat as a user at a terminal has it.

use crate::chat::{is_content, model};
use crate::file;
use crate::program::before;
use crate::run::stepwell;
use nix::pty::{OpenptyResult, Winsize, openpty};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use stepwell_mock_llm::{Hop, MockLlm, Script};

/// How long a program that writes nothing is waited for, so that one that is stuck is named with what it wrote.
const STUCK: Duration = Duration::from_secs(2 * 60);

/// A program on a terminal of its own.
struct Terminal {
    child: Child,
    keys: File,
    /// What the program writes, piece by piece.
    pieces: mpsc::Receiver<Vec<u8>>,
    /// The program's output, and how far it was read.
    seen: Vec<u8>,
    read: usize,
}

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const PROMPT: &str = "› ";

impl Terminal {
    fn start(arguments: &[&str]) -> Self {
        let size = Winsize {
            ws_row: 40,
            ws_col: 200,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let OpenptyResult { master, slave } = openpty(Some(&size), None).expect("a terminal");
        let end = || Stdio::from(slave.try_clone().expect("its other end"));
        let mut command = stepwell(arguments);
        command.env("TERM", "xterm-256color");
        command.env("OPENAI_API_KEY", "test-key");
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().expect("the program starts");
        let keys = File::from(master);
        let pieces = written(keys.try_clone().expect("the terminal's output"));
        Self {
            child,
            keys,
            pieces,
            seen: Vec::new(),
            read: 0,
        }
    }

    fn chat(model: &MockLlm, more: &[&str]) -> Self {
        let base_url = model.base_url();
        Self::start(&[&["chat"], &before("openai", &base_url)[..], more].concat())
    }

    /// Reads until this is written, and gives what was before it.
    #[track_caller]
    fn until(&mut self, text: &str) -> String {
        loop {
            let new = &self.seen[self.read..];
            let found = new
                .windows(text.len())
                .position(|part| part == text.as_bytes());
            if let Some(place) = found {
                let before = String::from_utf8_lossy(&new[..place]).into_owned();
                self.read += place + text.len();
                return before;
            }
            match self.pieces.recv_timeout(STUCK) {
                Ok(piece) => self.seen.extend(piece),
                Err(end) => {
                    let shown = String::from_utf8_lossy(&self.seen);
                    panic!("{text:?} does not come ({end}): {shown}");
                }
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("written");
    }

    /// Says a line once the program waits for one.
    #[track_caller]
    fn say(&mut self, line: &str) {
        self.until(PROMPT);
        self.press(&format!("{line}\r"));
    }

    fn interrupt(&self) {
        let pid = self.child.id().to_string();
        let killed = std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status();
        assert!(killed.expect("kill runs").success());
    }

    #[track_caller]
    fn ends(mut self) -> ExitStatus {
        loop {
            match self.pieces.recv_timeout(STUCK) {
                Ok(piece) => self.seen.extend(piece),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let shown = String::from_utf8_lossy(&self.seen);
                    panic!("the program does not end: {shown}");
                }
            }
        }
        self.child.wait().expect("it ends")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Of a test that failed: the program may be stuck.
        let _ = self.child.kill();
    }
}

/// Reads what is written to a terminal, until its last program ends.
fn written(mut output: File) -> mpsc::Receiver<Vec<u8>> {
    let (sender, pieces) = mpsc::channel();
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(read @ 1..) = output.read(&mut piece) {
            if sender.send(piece[..read].to_vec()).is_err() {
                break;
            }
        }
    });
    pieces
}

fn roles(model: &MockLlm, request: usize) -> Vec<(String, String)> {
    let requests = model.requests();
    let messages = requests[request].body["messages"]
        .as_array()
        .expect("messages")
        .clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = messages.iter();
    messages
        .map(|message| (text(&message["role"]), text(&message["content"])))
        .collect()
}

#[test]
fn without_a_provider_a_scripted_model_answers_and_says_so() {
    let mut terminal = Terminal::start(&["chat"]);
    terminal.until("scripted model · nothing is kept · /help");
    terminal.until("OPENAI_API_KEY is set: stepwell chat --provider openai --model MODEL");
    // A tab completes it.
    terminal.until(PROMPT);
    terminal.press("/he\t\r");
    terminal.until("/undo: ");
    terminal.until("hello, think, table");
    terminal.say("/udno");
    terminal.until("is /undo meant?");
    terminal.say("hello");
    terminal.until("Hello! I am a scripted model.");
    terminal.until("1 hop · 0 tools");
    terminal.until(PROMPT);
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn markdown_is_styled_and_nothing_in_it_is_obeyed() {
    let evil = "A **bold** word, \u{1b}]52;c;aGk=\u{7}and\u{9b}2J `code`.";
    let model = model(Script::new().hop(Hop::new().text(evil))).await;
    let mut terminal = Terminal::chat(&model, &[]);
    terminal.until("openai · m · nothing is kept");
    terminal.say("Hello");
    let answer = terminal.until("1 hop");
    assert!(answer.contains("\u{1b}[1mbold"), "{answer:?}");
    assert!(
        !answer.contains("**") && !answer.contains('`'),
        "{answer:?}"
    );
    for obeyed in ["\u{1b}]", "\u{7}", "\u{9b}"] {
        assert!(!answer.contains(obeyed), "{answer:?}");
    }
    terminal.say("/quit");
    assert_eq!(terminal.ends().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_is_said_otherwise_and_another_model_may_answer() {
    let script = Script::new()
        .hop(Hop::new().text("One."))
        .hop(Hop::new().text("Two."))
        .hop(Hop::new().text("Three."));
    let model = model(script).await;
    let mut terminal = Terminal::chat(&model, &[]);
    terminal.say("First");
    terminal.until("One.");
    terminal.say("Second");
    terminal.until("Two.");
    terminal.say("/undo");
    terminal.until("taken back");
    // The line has the earlier message, to be edited.
    terminal.until("Second");
    terminal.press(" thoughts\r");
    terminal.until("Three.");
    terminal.say("/model n");
    terminal.until("openai · n answers");
    terminal.say("/undo");
    terminal.until("taken back");
    terminal.until("Second thoughts");
    terminal.press(CTRL_C);
    terminal.until("once more leaves");
    terminal.say("/undo");
    terminal.until("First");
    terminal.press(CTRL_C);
    terminal.say("/undo");
    terminal.until("nothing to take back");
    terminal.say("/quit");
    assert_eq!(terminal.ends().code(), Some(0));
    is_content(&model);
    let said = |role: &str, text: &str| (role.to_owned(), text.to_owned());
    assert_eq!(
        roles(&model, 2),
        [
            said("user", "First"),
            said("assistant", "One."),
            said("user", "Second thoughts")
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_line_says_that_earlier_messages_are_a_summary() {
    let script = Script::new()
        .hop(Hop::new().text("One.").usage(1_150, 10))
        .hop(Hop::new().text("They counted."))
        .hop(Hop::new().text("Two."))
        .hop(Hop::new().text("Three."));
    let model = model(script).await;
    let arguments = ["--compaction", "summary", "--context-window", "1200"];
    let mut terminal = Terminal::chat(&model, &arguments);
    terminal.say(&"x ".repeat(700));
    terminal.until("One.");
    terminal.say("And?");
    terminal.until("earlier messages are now a summary");
    terminal.until("Two.");
    terminal.say("/whole");
    terminal.until("the complete conversation with your next message");
    terminal.say("All of it?");
    terminal.until("the complete conversation is sent again");
    terminal.until("Three.");
    terminal.say("/quit");
    assert_eq!(terminal.ends().code(), Some(0));
    let (_, first) = &roles(&model, 2)[0];
    assert!(first.contains("They counted."), "{first}");
    let (_, first) = &roles(&model, 3)[0];
    assert!(first.starts_with("x x"), "{first}");
}

#[test]
fn another_model_whose_context_has_no_known_size_is_said_to_compact_nothing() {
    let chosen = ["--provider", "openai", "--model", "gpt-4"];
    let mut terminal =
        Terminal::start(&[&["chat"], &chosen[..], &["--compaction", "summary"]].concat());
    terminal.until("openai · gpt-4");
    terminal.say("/model unheard-of");
    terminal.until("openai · unheard-of answers");
    terminal.until("long conversations are not compacted: the size of the context of `unheard-of`");
    terminal.say("/model gpt-4");
    terminal.until("openai · gpt-4 answers");
    terminal.until(PROMPT);
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_goes_on_with_what_was_said() {
    let script = Script::new()
        .hop(Hop::new().text("One."))
        .hop(Hop::new().text("Two."));
    let model = model(script).await;
    let mut terminal = Terminal::chat(&model, &[]);
    terminal.say("First");
    terminal.until("One.");
    terminal.say("/model other");
    terminal.until("openai · other answers");
    terminal.say("/model nobody m");
    terminal.until("there is no provider `nobody`");
    terminal.say("Second");
    terminal.until("Two.");
    terminal.say("/quit");
    assert_eq!(terminal.ends().code(), Some(0));
    is_content(&model);
    assert_eq!(model.requests()[1].body["model"], "other");
    assert_eq!(roles(&model, 1).len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_left_taken_up_again_and_saved() {
    let script = Script::new()
        .hop(Hop::new().text("Blue."))
        .hop(Hop::new().text("Seven."))
        .hop(Hop::new().text("Navy."));
    let model = model(script).await;
    let file = file::File::new("session.md");
    let mut terminal = Terminal::chat(&model, &["--store", "memory"]);
    terminal.until("memory, session ");
    terminal.say("Which colour?");
    terminal.until("Blue.");
    terminal.say("/new");
    terminal.until("session ");
    terminal.say("Which number?");
    terminal.until("Seven.");
    terminal.say("/sessions");
    terminal.until("1: Which number?");
    terminal.until("(this one)");
    terminal.until("2: Which colour?");
    terminal.say("/sessions 2");
    terminal.until("Which colour?");
    terminal.until("Blue.");
    terminal.say("Darker?");
    terminal.until("Navy.");
    terminal.say(&format!("/save {}", file.as_str()));
    terminal.until("written to ");
    terminal.say(&format!("/save {}", file.as_str()));
    terminal.until("exists");
    terminal.say("/sessions none");
    terminal.until("no session `none`");
    terminal.say("/quit");
    assert_eq!(terminal.ends().code(), Some(0));
    is_content(&model);
    assert_eq!(roles(&model, 1).len(), 1);
    assert_eq!(roles(&model, 2).len(), 3);
    let saved = file.text();
    for part in ["## User\n\nWhich colour?", "## Model\n\nNavy."] {
        assert!(saved.contains(part), "{saved}");
    }
    assert!(!saved.contains("number"), "{saved}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_cancels_the_answer_and_twice_leaves() {
    let script = Script::new()
        .hop(Hop::new().text("One").stall())
        .hop(Hop::new().text("Go on."))
        .hop(Hop::new().text("Two").stall());
    let model = model(script).await;
    let mut terminal = Terminal::chat(&model, &[]);
    terminal.say("Count.");
    terminal.until("One");
    terminal.interrupt();
    terminal.until("cancelled; Ctrl-C once more leaves");
    // The line is in the history once, if another message was sent between.
    terminal.say("Well?");
    terminal.until("Go on.");
    terminal.until(PROMPT);
    terminal.press(CTRL_C);
    terminal.until("Ctrl-C once more leaves");
    terminal.say("Count on.");
    terminal.until("Two");
    terminal.interrupt();
    terminal.until("cancelled");
    terminal.until(PROMPT);
    terminal.press(CTRL_C);
    assert_eq!(terminal.ends().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_shows_what_cannot_be_seen() {
    let hidden = json!({ "expression": "6 * 7\u{202e}\u{200b}" });
    let script = Script::new()
        .hop(Hop::new().tool_call("calculator", hidden))
        .hop(Hop::new().text("I see."));
    let model = model(script).await;
    let mut terminal = Terminal::chat(&model, &["--ask-before", "calculator"]);
    terminal.say("Compute.");
    terminal.until(r#"? calculator {"expression":"6 * 7\u202e\u200b"}"#);
    terminal.say("edit {\"expression\":\"6 * 8\"}");
    terminal.until(r#"calculator {"expression":"6 * 8"} → 48"#);
    terminal.until("I see.");
    terminal.say("/quit");
    assert_eq!(terminal.ends().code(), Some(0));
}
