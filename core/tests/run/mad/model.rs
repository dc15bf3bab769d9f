//! What the model says to a mad run.

use crate::interrupts::asks;
use crate::wire::{Call, Say, a_call, call, text};
use stepwell_core::dialect::Dialect;

/// Some of the things that a model may say.
pub(super) fn says(dialect: Dialect, choice: u16) -> Vec<Say> {
    let bare = Say::Call(Call {
        id: "bare".into(),
        name: "work".into(),
        pieces: Vec::new(),
    });
    let two = Say::Calls(vec![a_call("a", "work", "{}"), a_call("b", "ask", "null")]);
    // Calls weigh more: without them a run is soon over.
    let common = match [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 2, 3, 11, 2, 3, 11, 5,
    ][usize::from(choice % 20)]
    {
        0 | 1 => vec![text("Some text.")],
        2 => vec![text("Let me see."), call("c", "work", "{}")],
        3 => vec![
            two,
            Say::Usage {
                input: 3,
                output: 2,
            },
        ],
        4 => vec![text("An answer, whole.")],
        5 => vec![call("c", "invented", "{}"), bare],
        6 => vec![text("Half"), call("c", "look", "{\"a\""), Say::Cut],
        7 => vec![
            Say::Reasoning("Hm.".into()),
            text("Oh"),
            Say::Error("overloaded".into()),
        ],
        8 => vec![Say::Heartbeat, Say::Cut],
        9 => vec![text("x"), Say::Raw("data: {oops\n\n".into())],
        10 => vec![call("c", "look", "[1,"), call("d", "ask", "{}")],
        11 => vec![call("c", "look", "{}"), call("d", "work", "{}")],
        _ => vec![Say::Raw("<html>".into()), Say::Cut],
    };
    match (dialect, choice % 5, choice % 12) {
        (Dialect::AgUi, 0, 2) => vec![text("Which?"), call("c", "work", "{}"), asks(&["q", "r"])],
        (Dialect::AgUi, 0, 0) => vec![asks(&["q"])],
        (Dialect::AgUi, 1, 2) => vec![
            call("c", "work", "{}"),
            Say::Answer {
                call: "c".into(),
                content: "theirs".into(),
            },
            text("after"),
        ],
        (_, 3, 1) => vec![text("Here: {\"n\":"), text(" 1}")],
        (_, 4, 1) => vec![
            call("c", "work", "{}"),
            call("f", "final_result", r#"{"n":1}"#),
        ],
        (_, 3, 4) => vec![text("So."), call("f", "final_result", r#"{"n":"one"}"#)],
        (_, 4, 4) => vec![text(r#"{"n":"one"}"#)],
        (_, 3, 7) => vec![
            call("f", "final_result", r#"{"n":2}"#),
            call("g", "final_result", "{}"),
        ],
        (Dialect::AgUi, 2, 3) => vec![Say::OpenCall(a_call("c", "work", "{"))],
        _ => common,
    }
}
