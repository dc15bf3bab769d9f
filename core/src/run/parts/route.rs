use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The models of a turn, by their numbers: the one that it asks, and those that have failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Route {
    /// The model that is asked now.
    #[serde(skip_serializing_if = "crate::zero::is_zero")]
    model: u32,
    /// The attempt with which this model's requests of the hop began.
    #[serde(skip_serializing_if = "crate::zero::is_zero")]
    attempt: u32,
    /// The attempts of the hop that were for a summary of the conversation, if no model was asked before.
    #[serde(skip_serializing_if = "crate::zero::is_zero")]
    summaries: u32,
    /// The models that have failed since the turn last had a complete answer.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    failed: BTreeSet<u32>,
    /// The models that are not asked first before these times.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    resting: BTreeMap<u32, Timestamp>,
}

impl Route {
    pub(crate) fn is_untouched(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the model that is asked now.
    pub(crate) fn model(&self) -> u32 {
        self.model
    }

    /// Returns the attempt with which the model's requests of the hop began.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Chooses the model, whose first request has the number `attempt`.
    pub(crate) fn choose(&mut self, model: u32, attempt: u32) {
        self.model = model;
        self.attempt = attempt;
    }

    /// Begins a hop with the same model.
    pub(crate) fn begin_hop(&mut self) {
        self.attempt = 0;
        self.summaries = 0;
    }

    /// Begins the model's requests with this attempt: those before it were for a summary.
    pub(crate) fn begin_after_summary(&mut self, attempt: u32) {
        if self.is_first() {
            self.summaries = attempt;
        }
        self.attempt = attempt;
    }

    /// Returns whether no model was asked for the hop's answer before this one.
    pub(crate) fn is_first(&self) -> bool {
        self.attempt == self.summaries
    }

    /// Notes a complete answer: models that failed before it may be asked again.
    pub(crate) fn answered(&mut self) {
        self.failed.clear();
    }

    /// Notes that the model has failed, and rests until a time.
    pub(crate) fn fail(&mut self, model: u32, until: Timestamp) {
        self.failed.insert(model);
        self.rest(model, until);
    }

    /// Notes that the model rests until a time.
    pub(crate) fn rest(&mut self, model: u32, until: Timestamp) {
        self.resting.insert(model, until);
    }

    /// Returns whether the model has failed a short time ago.
    pub(crate) fn is_resting(&self, model: u32, now: Timestamp) -> bool {
        self.resting.get(&model).is_some_and(|until| *until > now)
    }

    /// Returns whether the model has failed since the last complete answer.
    pub(crate) fn has_failed(&self, model: u32) -> bool {
        self.failed.contains(&model)
    }

    /// Returns the first of `count` models that has not failed since the last complete answer. One that rests is chosen
    /// only if all of them do.
    pub(crate) fn next(&self, count: u32, now: Timestamp) -> Option<u32> {
        let mut open = (0..count).filter(|model| !self.failed.contains(model));
        let awake = open.clone().find(|model| !self.is_resting(*model, now));
        awake.or_else(|| open.next())
    }
}

#[cfg(feature = "model-check")]
impl Route {
    /// Feeds the canonical form to a hasher.
    pub(crate) fn canon(
        &self,
        now: Timestamp,
        abstraction: &crate::run::abstraction::Abstraction,
        out: &mut impl std::hash::Hasher,
    ) {
        use std::hash::Hash;
        (self.model, self.attempt, self.summaries, &self.failed).hash(out);
        for (model, until) in &self.resting {
            (model, *until > now).hash(out);
            if !abstraction.time {
                until.hash(out);
            }
        }
        u8::MAX.hash(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_rests_comes_last_and_one_that_failed_not_at_all() {
        let (now, later) = (Timestamp(0), Timestamp(60_000));
        let mut route = Route::default();
        assert!(route.is_untouched());
        assert_eq!(route.next(3, now), Some(0));
        route.rest(0, later);
        assert_eq!(route.next(3, now), Some(1));
        assert!(route.is_resting(0, now) && !route.is_resting(0, later));
        assert_eq!(route.next(3, later), Some(0), "its rest is over");
        route.fail(1, later);
        assert_eq!(route.next(3, now), Some(2));
        route.fail(2, later);
        assert_eq!(route.next(3, now), Some(0), "better than none");
        route.fail(0, later);
        assert_eq!(route.next(3, later), None);
        route.answered();
        assert_eq!(route.next(3, later), Some(0));
    }

    #[test]
    fn a_hop_begins_with_the_model_of_the_one_before() {
        let mut route = Route::default();
        route.choose(1, 3);
        assert_eq!((route.model(), route.attempt()), (1, 3));
        route.begin_hop();
        assert_eq!((route.model(), route.attempt()), (1, 0));
    }

    #[test]
    fn a_summary_before_the_first_model_leaves_it_the_first() {
        let mut route = Route::default();
        route.begin_after_summary(2);
        assert!(route.is_first());
        route.choose(1, 3);
        assert!(!route.is_first());
        route.begin_after_summary(5);
        assert_eq!((route.is_first(), route.attempt()), (false, 5));
    }
}
