//! What every language's first program is tried with: `tests/first-contact.json`.

use super::mock_llm::{self, MockLlm};
use crate::{context::Context, log::Log};
use anyhow::ensure;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;

/// The variable with a suite's cases and their addresses.
pub(crate) const VARIABLE: &str = "STEPWELL_FIRST_CONTACT";

/// An address without a listener: the system never assigns this port, unlike one that was free a moment ago.
const NOBODY: &str = "http://127.0.0.1:2/v1";

/// Something that goes wrong, and the address where it does.
pub(crate) struct FirstContact {
    case: Case,
    /// The model, if the address has a listener.
    model: Option<MockLlm>,
}

#[derive(Deserialize)]
struct Case {
    case: String,
    hops: Option<Value>,
    /// The model's final text, if it has one.
    answers: Option<String>,
    /// A part of the app's error message.
    says: Option<String>,
}

/// All of them, for as long as they are kept.
pub(crate) fn start(context: &Context, log: &mut Log) -> anyhow::Result<Vec<FirstContact>> {
    let file = fs::read_to_string(context.root.join("tests/first-contact.json"))?;
    let cases: Vec<Case> = serde_json::from_str(&file)?;
    let started = cases.into_iter().map(|case| {
        let script = case
            .hops
            .as_ref()
            .map(|hops| json!({ "hops": hops }).to_string());
        let model = script.map(|script| mock_llm::start(context, log, Some(&script)));
        let model = model.transpose()?;
        Ok(FirstContact { case, model })
    });
    started.collect()
}

/// Returns the value of [`VARIABLE`].
pub(crate) fn told(contacts: &[FirstContact]) -> String {
    let each = contacts.iter().map(|contact| {
        let case = &contact.case;
        json!({
            "case": case.case, "baseUrl": contact.base_url(), "answers": case.answers, "says": case.says
        })
    });
    Value::from_iter(each).to_string()
}

impl FirstContact {
    pub(crate) fn base_url(&self) -> &str {
        self.model.as_ref().map_or(NOBODY, MockLlm::base_url)
    }

    /// Holds a program to it that has ended.
    pub(crate) fn check(&self, output: &std::process::Output) -> anyhow::Result<()> {
        let (said, expected) = if output.status.success() {
            (&output.stdout, &self.case.answers)
        } else {
            (&output.stderr, &self.case.says)
        };
        let said = String::from_utf8_lossy(said);
        ensure!(
            expected.as_ref().is_some_and(|part| said.contains(part)),
            "{}: the first program ended with {} and said {said:?}",
            self.case.case,
            output.status
        );
        Ok(())
    }
}
