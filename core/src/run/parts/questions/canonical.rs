//! The model checker's view of the questions.

use super::Questions;
use crate::run::abstraction::{Abstraction, json};
use std::hash::{Hash, Hasher};

impl Questions {
    /// Feeds the canonical form to a hasher.
    pub(crate) fn canon(&self, abstraction: &Abstraction, out: &mut impl Hasher) {
        json(&self.asked, out);
        for (call, left) in &self.left {
            call.hash(out);
            if !abstraction.time {
                left.hash(out);
            }
        }
        u8::MAX.hash(out);
    }
}
