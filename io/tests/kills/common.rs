//! What all tests share that kill programs with turns in a store: this one, and that of the server's hosts
//! (`host/tests/kills`).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use stepwell_core::event::{AssistantMessage, Message, ReasoningMessage};
use stepwell_core::run::{BlockContent, CUT, Outcome, TurnStatus};
use stepwell_core::session::{MessageBuilder, Turn};

/// The complete text of the model in a turn, whatever its rounds do.
pub(crate) const WHOLE: &str = "Round 0 of the answer.Round 1 of the answer.Round 2 of the answer.";

/// A new folder for a test.
pub(crate) fn directory(name: &str) -> PathBuf {
    let name = format!("kills-{name}-{}", std::process::id());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// The number that a variable sets.
pub(crate) fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

/// The figures of a turn.
pub(crate) struct Judged {
    /// Whether no answer was cut by the end of its host.
    pub(crate) is_whole: bool,
    /// The calls, and those among them that have failed.
    pub(crate) calls: HashSet<String>,
    pub(crate) failed: Vec<String>,
}

/// The turn has ended well: its blocks are numbered without a gap, each word is there once, each call as well, with one
/// result, and what is done was run.
pub(crate) fn judge(turn: &Turn, expected: &[String], was_run: impl Fn(&str) -> bool) -> Judged {
    let id = &turn.id;
    let end = (turn.status, turn.outcome.as_ref());
    assert_eq!(end, (TurnStatus::Complete, Some(&Outcome::Success)), "{id}");
    // The host was killed in the middle of an answer: the partial text stays, marked as cut, and the model was asked
    // again.
    let messages = messages(turn);
    let is_whole = !messages.iter().any(is_cut);
    let mut asked = Vec::new();
    let mut results = HashSet::new();
    let mut failed = Vec::new();
    for (number, block) in turn.blocks.iter().enumerate() {
        assert_eq!(block.block.sequence, number as u64, "{id}");
        match &block.block.content {
            BlockContent::ToolUse { tool_call_id, .. } => asked.push(tool_call_id.to_string()),
            BlockContent::ToolResult {
                tool_call_id: call,
                is_error,
                ..
            } => {
                let is_run = was_run(call) || *is_error;
                assert!(is_run, "{call} has a result and was not run");
                if *is_error {
                    failed.push(call.to_string());
                }
                let is_first = results.insert(call.to_string());
                assert!(is_first, "{call} has two results");
            }
            _ => {}
        }
    }
    assert!(asked == expected || !is_whole, "{id}: {asked:?}");
    let calls: HashSet<_> = asked.iter().cloned().collect();
    let is_expected = calls.iter().all(|call| expected.contains(call));
    assert!(is_expected && calls.len() == asked.len(), "{id}: {asked:?}");
    assert_eq!(calls, results, "{id}: each call has one result");
    let words: Vec<_> = texts(&messages).collect();
    assert!(
        words.concat() == WHOLE || !is_whole,
        "{id}: each word is stored once: {words:?}"
    );
    // A text that was cut is the beginning of a round, and the last is complete.
    let is_said = words.iter().all(|text| WHOLE.contains(text));
    let ends = messages.last().is_some_and(|last| !is_cut(last));
    assert!(is_said && ends, "{id}: {words:?}");
    Judged {
        is_whole,
        calls,
        failed,
    }
}

/// The messages that the turn's blocks come to.
fn messages(turn: &Turn) -> Vec<Message> {
    let alone = Turn {
        parent: None,
        ..turn.clone()
    };
    MessageBuilder::new().messages([&alone]).unwrap()
}

fn is_cut(message: &Message) -> bool {
    let (Message::Assistant(AssistantMessage { metadata, .. })
    | Message::Reasoning(ReasoningMessage { metadata, .. })) = message
    else {
        return false;
    };
    let metadata = metadata.as_ref();
    metadata.is_some_and(|metadata| metadata.get(CUT) == Some(&true.into()))
}

fn texts(messages: &[Message]) -> impl Iterator<Item = &str> {
    messages.iter().filter_map(|message| match message {
        Message::Assistant(message) => message.content.as_deref(),
        _ => None,
    })
}
