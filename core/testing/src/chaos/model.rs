//! The model's output: texts, calls of the run's own tools, typed answers, errors and junk.

use super::arguments::value_of;
use crate::reply::{Call, Part, call, text};
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::run::RunConfig;

/// The name of the tool by which a model gives a typed answer if it has no other way.
const FINAL_TOOL: &str = "final_result";

/// The weights of the common replies. Replies with calls weigh more: without them a run is soon over.
const COMMON: [u8; 24] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 2, 3, 11, 2, 3, 11, 5, 13, 14, 15, 16,
];

/// A scripted model that knows the run's tools.
pub(super) struct Model<'a> {
    config: &'a RunConfig,
    choice: u16,
}

impl<'a> Model<'a> {
    pub(super) const fn new(config: &'a RunConfig, choice: u16) -> Self {
        Self { config, choice }
    }

    /// Returns the name of one of the run's tools, and the schema of its arguments; without tools, an unknown name.
    fn tool(&self, index: usize) -> (&'a str, Option<&'a Value>) {
        let tools = self.config.tools.definitions();
        let index = index + usize::from(self.choice / 240);
        match tools.get(index % tools.len().max(1)) {
            Some(tool) => (&tool.name, tool.parameters.as_ref()),
            None => ("invented", None),
        }
    }

    /// A call of one of the tools, with arguments that fit.
    fn good(&self, id: &str, index: usize) -> Call {
        let (name, schema) = self.tool(index);
        let arguments = schema.map_or_else(
            || json!({}),
            |schema| value_of(schema, u64::from(self.choice / 20)),
        );
        Call::new(id, name, &arguments.to_string())
    }

    /// A call of one of the tools with these arguments.
    fn with(&self, id: &str, index: usize, arguments: &str) -> Call {
        Call::new(id, self.tool(index).0, arguments)
    }

    fn typed(&self) -> Option<Value> {
        let output = self.config.output.as_ref()?;
        Some(value_of(output.schema(), u64::from(self.choice / 60)))
    }

    /// The reply to one request.
    pub(super) fn parts(&self) -> Vec<Part> {
        let choice = self.choice;
        let is_agent = self.config.endpoint.dialect == Dialect::AgUi;
        if is_agent && let Some(parts) = self.agent_parts() {
            return parts;
        }
        if let Some(parts) = self.typed_parts() {
            return parts;
        }
        match COMMON[usize::from(choice % 24)] {
            0 | 1 => vec![text("Some text.")],
            2 => vec![text("Let me see."), Part::Call(self.good("c", 0))],
            3 => vec![
                Part::Calls(vec![self.good("a", 0), self.with("b", 2, "null")]),
                Part::Usage {
                    input: 3,
                    output: 2,
                },
            ],
            4 => vec![text("An answer, whole.")],
            5 => {
                let mut bare = self.with("bare", 0, "");
                bare.fragments.clear();
                vec![call("c", "invented", "{}"), Part::Call(bare)]
            }
            6 => vec![
                text("Half"),
                Part::Call(self.with("c", 1, "{\"a\"")),
                Part::Cut,
            ],
            7 => vec![
                Part::Reasoning("Hm.".into()),
                text("Oh"),
                Part::Error("overloaded".into()),
            ],
            8 if self.config.endpoint.dialect == Dialect::Ollama => vec![Part::Cut],
            8 => vec![Part::Heartbeat, Part::Cut],
            9 => vec![text("x"), Part::Raw("data: {oops\n\n".into())],
            10 => vec![
                Part::Call(self.with("c", 1, "[1,")),
                Part::Call(self.good("d", 2)),
            ],
            11 => vec![Part::Call(self.good("c", 1)), Part::Call(self.good("d", 0))],
            13 => vec![Part::Error("overloaded".into())],
            14 => Vec::new(),
            15 => vec![Part::Reasoning("Hm.".into())],
            16 => vec![
                text("Let me see."),
                Part::Call(self.good("c", 0)),
                Part::Error("the server had an error".into()),
            ],
            _ => vec![Part::Raw("<html>".into()), Part::Cut],
        }
    }

    /// Returns output that only agents have: questions to the user, answers to calls, and open calls.
    fn agent_parts(&self) -> Option<Vec<Part>> {
        let good = || self.good("c", 0);
        let parts = match (self.choice % 5, self.choice % 12) {
            (0, 2) => vec![text("Which?"), Part::Call(good()), interrupt(&["q", "r"])],
            (0, 0) => vec![interrupt(&["q"])],
            (1, 2) => vec![
                Part::Call(good()),
                Part::ToolResult {
                    call: "c".into(),
                    content: "theirs".into(),
                },
                text("after"),
            ],
            (2, 3) => vec![Part::OpenCall(self.with("c", 0, "{"))],
            _ => return None,
        };
        Some(parts)
    }

    /// Typed answers that fit and that do not, as text and by the tool.
    fn typed_parts(&self) -> Option<Vec<Part>> {
        let value = self.typed().unwrap_or_else(|| json!({"n": 1})).to_string();
        let middle = value.len() / 2;
        let middle = (middle..value.len()).find(|at| value.is_char_boundary(*at))?;
        let (first, second) = value.split_at(middle);
        let parts = match (self.choice % 5, self.choice % 12) {
            (3, 1) => vec![text(&format!("Here: {first}")), text(second)],
            (4, 1) => vec![Part::Call(self.good("c", 0)), call("f", FINAL_TOOL, &value)],
            (3, 4) => vec![text("So."), call("f", FINAL_TOOL, r#"{"n":"one"}"#)],
            (4, 4) => vec![text(r#"{"n":"one"}"#)],
            (3, 7) => vec![call("f", FINAL_TOOL, &value), call("g", FINAL_TOOL, "{}")],
            (4, 7) if self.config.output.is_some() => vec![text(&value)],
            _ => return None,
        };
        Some(parts)
    }
}

/// An agent's questions with these ids.
fn interrupt(ids: &[&str]) -> Part {
    let interrupts: Vec<_> = ids
        .iter()
        .map(|id| json!({"id": id, "reason": "question"}))
        .collect();
    Part::Outcome(json!({"type": "interrupt", "interrupts": interrupts}))
}
