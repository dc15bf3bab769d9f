//! The questions and calls that a log has open.

use std::collections::BTreeMap;
use stepwell_core::ToolCallId;
use stepwell_core::event::{Event, Interrupt, RunFinished, RunOutcome};

/// The calls that a run left to its client.
pub(crate) fn pending_calls(finished: &RunFinished) -> &[ToolCallId] {
    match &finished.outcome {
        Some(RunOutcome::Success {
            pending_tool_call_ids: Some(calls),
        }) => calls,
        _ => &[],
    }
}

/// Returns whether questions of all these ids were reported.
pub(crate) fn were_asked<'a>(events: &[Event], mut ids: impl Iterator<Item = &'a String>) -> bool {
    let asked = |id: &String| {
        events.iter().any(|event| match event {
            Event::Custom(custom) => {
                custom.name == "interrupt" && custom.value["id"].as_str() == Some(id)
            }
            _ => false,
        })
    };
    ids.all(asked)
}

/// Returns the questions that were reported and not answered.
pub(crate) fn open_questions(events: &[Event]) -> BTreeMap<String, Interrupt> {
    let mut open = BTreeMap::new();
    for event in events {
        let Event::Custom(custom) = event else {
            continue;
        };
        match custom.name.as_str() {
            "interrupt" => {
                if let Ok(asked) = serde_json::from_value::<Interrupt>(custom.value.clone()) {
                    open.insert(asked.id.clone(), asked);
                }
            }
            "interrupt_answered" => {
                let id = custom.value["interruptId"].as_str();
                id.and_then(|id| open.remove(id));
            }
            _ => {}
        }
    }
    open
}
