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

pub(super) const KNOWN: &[Known] = &[];

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
