//! Faults that are known and not mended yet. A finding is excused only where the rule that is broken, and what befell the
//! turn, are those of the fault; whoever mends one takes its entry away.

use super::findings::{Finding, Mark, Rule};
use std::collections::BTreeSet;

pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// What befell the turn.
    mark: Option<Mark>,
    /// The rules that are broken by it.
    rules: &'static [Rule],
    /// The rules that are broken on the same turn only because one of those is.
    follows: &'static [Rule],
}

pub(super) const KNOWN: &[Known] = &[
    Known {
        name: "edit_untold",
        about: "the result of a call whose arguments the person edited is told without the words that it is stored with",
        mark: Some(Mark::Edited),
        rules: &[Rule::ResultIsSame],
        follows: &[Rule::FoldIsView],
    },
    Known {
        name: "status_guessed",
        about: "a call that was cancelled, or cut by its host's end, is told as failed when another host goes on",
        mark: Some(Mark::Taken),
        rules: &[Rule::StatusStays, Rule::StatusIsView],
        follows: &[],
    },
    Known {
        name: "not_taken",
        about: "a turn that the store does not let a host take, when it starts or is to stop it, is left to the next start",
        mark: Some(Mark::NotTaken),
        rules: &[Rule::Ends, Rule::StopStops],
        follows: &[],
    },
    Known {
        name: "stop_unchecked",
        about: "a stop is answered as soon as nobody drives the turn here, and it may not have ended",
        mark: Some(Mark::Taken),
        rules: &[Rule::StopStops],
        follows: &[Rule::Ends],
    },
    Known {
        name: "read_unanswered",
        about: "a request, or a host that starts, waits for ever where the store never answers",
        mark: Some(Mark::Swallowed),
        rules: &[Rule::Answered],
        follows: &[],
    },
    Known {
        name: "stop_before_begin",
        about: "a stop that comes while the turn is being begun is answered, and the turn goes on",
        mark: Some(Mark::BeganMeanwhile),
        rules: &[Rule::StopStops],
        follows: &[],
    },
];

impl Known {
    /// Whether the finding is of this fault.
    pub(super) fn explains(&self, finding: &Finding, marks: &BTreeSet<Mark>) -> bool {
        let is_marked = self.mark.is_none_or(|mark| marks.contains(&mark));
        is_marked && self.rules.contains(&finding.rule)
    }
}

/// Which known fault a finding is of; none if it is a new one.
pub(super) fn explain(
    finding: &Finding,
    all: &[Finding],
    marks: &BTreeSet<Mark>,
) -> Option<&'static Known> {
    let explains = |known: &&Known| known.explains(finding, marks);
    KNOWN.iter().find(explains).or_else(|| {
        KNOWN.iter().find(|known| {
            let mut same = all.iter().filter(|other| other.turn == finding.turn);
            known.follows.contains(&finding.rule) && same.any(|other| known.explains(other, marks))
        })
    })
}
