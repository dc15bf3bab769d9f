//! The runs that a turn was reported in, as its log has them.

use super::announce::{open_questions, pending_calls};
use std::collections::BTreeMap;
use stepwell_core::ToolCallId;
use stepwell_core::event::{Event, Interrupt, TokenUsage};
use stepwell_io::RunId;

/// The runs of a log.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) open: Open,
    /// The usage that the runs which are over have reported.
    pub(crate) used: TokenUsage,
}

/// Which run is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    /// The first one is about to begin.
    None,
    /// The turn waits for the next one.
    Between,
    /// This one.
    Run(RunId),
}

impl Runs {
    /// Returns the runs of these events. A turn that is not reported in runs has one, which is not over.
    pub(crate) fn of(events: &[Event], is_told_in_runs: bool) -> Self {
        let mut runs = Self {
            open: Open::None,
            used: TokenUsage::default(),
        };
        for event in events {
            let usage = match event {
                Event::RunStarted(start) => {
                    runs.open = Open::Run(start.run_id.clone());
                    continue;
                }
                Event::RunFinished(finished) => &finished.usage,
                Event::RunError(error) => &error.usage,
                _ => continue,
            };
            if is_told_in_runs {
                runs.open = Open::Between;
                for usage in usage.iter().flatten() {
                    add(&mut runs.used, usage);
                }
            }
        }
        runs
    }
}

fn add(all: &mut TokenUsage, usage: &TokenUsage) {
    let sum = |all: &mut Option<u64>, more: Option<u64>| {
        if let Some(more) = more {
            *all = Some(all.unwrap_or(0).saturating_add(more));
        }
    };
    sum(&mut all.input_tokens, usage.input_tokens);
    sum(&mut all.output_tokens, usage.output_tokens);
    sum(&mut all.total_tokens, usage.total_tokens);
    sum(&mut all.reasoning_tokens, usage.reasoning_tokens);
    sum(&mut all.cached_input_tokens, usage.cached_input_tokens);
    sum(
        &mut all.cache_write_input_tokens,
        usage.cache_write_input_tokens,
    );
    if let Some(cost) = usage.cost {
        all.cost = Some(all.cost.unwrap_or_default().saturating_add(cost));
    }
}

/// The answers that a turn waits for between two runs.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// The questions to the user.
    pub(crate) questions: BTreeMap<String, Interrupt>,
    /// The calls that the client must run.
    pub(crate) calls: Vec<ToolCallId>,
}

impl Waits {
    /// Returns what the turn of this log waits for; nothing while a run is under way.
    pub(crate) fn of(events: &[Event]) -> Option<Self> {
        if Runs::of(events, true).open != Open::Between {
            return None;
        }
        let pending = events.iter().rev().find_map(|event| match event {
            Event::RunFinished(finished) => Some(pending_calls(finished).to_vec()),
            _ => None,
        });
        Some(Self {
            questions: open_questions(events),
            calls: pending.unwrap_or_default(),
        })
    }
}
