use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// The position of an event in an answer that the provider makes in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EventPosition<'a> {
    /// The event's number. The numbers of later events are greater.
    Number(u64),
    /// The event's id, which says nothing about its place among the others.
    Id(Cow<'a, str>),
}

impl EventPosition<'_> {
    /// Returns whether an event at this position is later than the one at another, as far as the positions tell.
    #[must_use]
    pub fn is_after(&self, other: &EventPosition<'_>) -> bool {
        match (self, other) {
            (Self::Number(number), EventPosition::Number(other)) => number > other,
            _ => self != other,
        }
    }

    /// Replaces the position by another one, whose text is copied.
    pub fn assign(&mut self, other: EventPosition<'_>) {
        match (&mut *self, other) {
            (Self::Id(Cow::Owned(kept)), EventPosition::Id(id)) => {
                kept.clear();
                kept.push_str(&id);
            }
            (kept, EventPosition::Id(id)) => *kept = Self::Id(Cow::Owned(id.into_owned())),
            (kept, EventPosition::Number(number)) => *kept = Self::Number(number),
        }
    }
}

impl fmt::Display for EventPosition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Id(id) => id.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_an_order_and_ids_have_none() {
        let number = EventPosition::Number;
        let id = |id: &'static str| EventPosition::Id(id.into());
        assert!(number(2).is_after(&number(1)) && !number(1).is_after(&number(1)));
        assert!(!number(1).is_after(&number(2)));
        assert!(id("a").is_after(&id("b")) && id("b").is_after(&id("a")));
        assert!(!id("a").is_after(&id("a")));
    }

    #[test]
    fn a_position_is_stored_as_the_number_or_the_text() {
        for (json, position) in [
            ("7", EventPosition::Number(7)),
            ("\"a\"", EventPosition::Id("a".into())),
        ] {
            assert_eq!(serde_json::to_string(&position).unwrap(), json);
            let read: EventPosition<'static> = serde_json::from_str(json).unwrap();
            assert_eq!(read, position);
            let mut assigned = EventPosition::Id("long ago".into());
            assigned.assign(position.clone());
            assert_eq!(assigned, position);
        }
    }
}
