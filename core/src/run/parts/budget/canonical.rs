//! The model checker's view of the budget.

use super::Budget;
use crate::run::abstraction::{Abstraction, json};
use crate::run::protocol::Limits;
use std::hash::{Hash, Hasher};

impl Budget {
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Feeds the canonical form to a hasher. Use without a limit has no effect.
    pub(crate) fn canon(&self, limits: &Limits, abstraction: &Abstraction, out: &mut impl Hasher) {
        let spent = &self.spent;
        if !abstraction.time {
            spent.time.hash(out);
        }
        if limits.max_tool_calls.is_some() || !abstraction.history {
            spent.calls.hash(out);
        }
        if limits.repeats.is_some() || !abstraction.history {
            json(&(&spent.repeats, spent.last), out);
        }
        if limits.max_tokens.is_some() || limits.max_cost.is_some() {
            json(&self.usage, out);
        }
    }
}
