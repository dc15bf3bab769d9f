//! The official AG-UI client, `@ag-ui/client`, which folds a log for comparison.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub(crate) struct Oracle {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Oracle {
    /// Starts the client, where the variable names its path.
    pub(crate) fn start() -> Option<Self> {
        let script = std::env::var_os("STEPWELL_AG_UI_ORACLE")?;
        let mut child = Command::new("node")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Some(Self {
            questions: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        })
    }

    /// The messages that it has after the events, if it has these before.
    pub(crate) fn fold(&mut self, messages: &Value, events: &[String]) -> Value {
        let events: Vec<Value> = events
            .iter()
            .map(|event| serde_json::from_str(event).unwrap())
            .collect();
        let question = json!({ "messages": messages, "events": events });
        writeln!(self.questions, "{question}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let mut answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["ok"], true, "{}: {question}", answer["error"]);
        answer["messages"].take()
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
