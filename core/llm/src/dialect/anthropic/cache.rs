use super::super::CacheLifetime;
use super::super::encoding::is_marked;
use crate::event::Metadata;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// The maximum number of marks in a request.
const MOST_MARKS: usize = 4;

/// A mark at the end of a part to cache, with the duration.
///
/// Source: <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Mark {
    FiveMinutes,
    OneHour,
}

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::FiveMinutes => json!({"type": "ephemeral"}),
            Self::OneHour => json!({"type": "ephemeral", "ttl": "1h"}),
        }
        .serialize(serializer)
    }
}

impl From<CacheLifetime> for Mark {
    fn from(lifetime: CacheLifetime) -> Self {
        match lifetime {
            CacheLifetime::FiveMinutes => Self::FiveMinutes,
            CacheLifetime::OneHour => Self::OneHour,
        }
    }
}

impl Mark {
    /// Returns the mark that the sender attached to a part.
    pub(in super::super) fn of_part(metadata: Option<&Value>) -> Option<Self> {
        is_marked(metadata).and_then(Self::read)
    }

    /// Returns the mark that the sender attached to a message.
    pub(in super::super) fn of_message(metadata: Option<&Metadata>) -> Option<Self> {
        metadata?.get("cacheControl").and_then(Self::read)
    }

    fn read(mark: &Value) -> Option<Self> {
        match mark {
            Value::Null | Value::Bool(false) => None,
            mark if mark["ttl"] == "1h" => Some(Self::OneHour),
            _ => Some(Self::FiveMinutes),
        }
    }
}

/// Makes the marks of a request legal. `places` are where marks may be, in the order of the request; `wanted` are the
/// places that get `mark` if there is room for it, the most wanted first.
pub(in super::super) fn settle(places: &mut [&mut Option<Mark>], wanted: &[usize], mark: Mark) {
    let mut count = places.iter().filter(|place| place.is_some()).count();
    // A later mark covers more.
    for place in places.iter_mut().filter(|place| place.is_some()) {
        if count <= MOST_MARKS {
            break;
        }
        **place = None;
        count -= 1;
    }
    for &index in wanted {
        if let Some(place) = places.get_mut(index)
            && place.is_none()
            && count < MOST_MARKS
        {
            **place = Some(mark);
            count += 1;
        }
    }
    // The prompts that are kept longer must come first.
    let mut hour = false;
    for mark in places.iter_mut().rev().filter_map(|place| place.as_mut()) {
        hour |= *mark == Mark::OneHour;
        if hour {
            *mark = Mark::OneHour;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(marks: &[Option<Mark>], wanted: &[usize]) -> Vec<Option<Mark>> {
        let mut marks = marks.to_vec();
        let mut places: Vec<_> = marks.iter_mut().collect();
        settle(&mut places, wanted, Mark::FiveMinutes);
        marks
    }

    #[test]
    fn there_are_at_most_four_marks_and_the_later_ones_stay() {
        let some = Some(Mark::FiveMinutes);
        assert_eq!(
            settled(&[some; 6], &[0, 1]),
            [None, None, some, some, some, some]
        );
        assert_eq!(
            settled(&[some, None, some, some, None], &[4, 1]),
            [some, None, some, some, some]
        );
        assert_eq!(settled(&[], &[3]), []);
    }

    #[test]
    fn what_is_kept_for_an_hour_comes_first() {
        let (minutes, hour) = (Some(Mark::FiveMinutes), Some(Mark::OneHour));
        assert_eq!(
            settled(&[None, hour, None, minutes], &[0]),
            [hour, hour, None, minutes]
        );
    }
}
