//! The output items, and what has been emitted of each.

use super::super::text_digest::{TextDigest, Whole};
use super::super::{AnswerLimit, DecodeError};
use super::event::{DeltaKind, ItemRef, Thought};
use super::item::{ItemContent, WireItem};
use serde::{Deserialize, Serialize};

/// The maximum number of items in one answer, which is more than the maximum number of calls.
const MOST_ITEMS: usize = 4096;

/// The maximum length of an id that is kept, in bytes.
const LONGEST_ID: usize = 256;

/// The items, in the order of their arrival.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Items(Vec<Item>);

/// An output item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Item {
    output_index: Option<u64>,
    id: Option<String>,
    /// Whether an event about it has named its id again: then ids can be relied on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_confirmed: bool,
    /// Whether the item is complete.
    pub(super) is_done: bool,
    /// Whether anything has come after the end of the item.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_late: bool,
    pub(super) state: State,
}

/// The state of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Message {
        phase: Option<String>,
        texts: Parts,
        refusals: Parts,
        citations: usize,
    },
    Reasoning {
        summary: Parts,
        content: Parts,
        /// The part of the last delta.
        last: Option<Thought>,
        /// The item's stretch of reasoning in the answer.
        stretch: Option<usize>,
    },
    Call {
        call_id: Option<String>,
        is_custom: bool,
        /// The name, while the call waits for its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The call's place in the answer, once it has begun: its name has arrived, and its id, or arguments have come
        /// first.
        slot: Option<usize>,
        /// The arguments, or the input, so far.
        said: TextDigest,
    },
    Other,
}

/// The parts that have arrived, one bit each (those from 63 on share one), and the content of the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parts {
    heard: u64,
    last: u64,
    /// `None` if another part came between.
    said: Option<TextDigest>,
    /// The start of the last part in its message, in bytes; `None` if the part began in another message.
    from: Option<usize>,
}

impl Parts {
    #[inline]
    fn has(self, part: u64) -> bool {
        self.heard & (1 << part.min(63)) != 0
    }

    /// Returns whether this part is the last that was emitted.
    #[inline]
    pub(super) fn is_last(&self, part: u64) -> bool {
        self.said.is_some() && self.last == part
    }

    /// Notes a delta of a part, which comes after `from` bytes in its message.
    pub(super) fn add(&mut self, part: u64, piece: &str, from: usize) {
        if self.last != part || !self.has(part) {
            let is_new = !self.has(part);
            self.heard |= 1 << part.min(63);
            self.last = part;
            self.said = is_new.then(TextDigest::default);
            self.from = is_new.then_some(from);
        }
        if let Some(said) = &mut self.said {
            said.add(piece);
        }
    }

    /// Notes a plain delta of the last part.
    #[inline]
    pub(super) fn go_on(&mut self, piece: &str) {
        if let Some(said) = &mut self.said {
            said.add(piece);
        }
    }

    /// Compares a complete part with its deltas.
    pub(super) fn against<'a>(&self, part: u64, whole: &'a str) -> Whole<'a> {
        match self.said {
            _ if whole.is_empty() => Whole::Same,
            _ if !self.has(part) => Whole::Longer(whole),
            Some(said) if self.last == part => said.against(whole),
            // The deltas of the part are no longer known.
            _ => Whole::Same,
        }
    }

    /// Notes that the message continues in another one.
    pub(super) fn leave_message(&mut self) {
        self.from = None;
    }

    /// The last part is another text from now on: where it begins in its message.
    pub(super) fn replace(&mut self, part: u64, whole: &str) -> Option<usize> {
        let from = self.from.filter(|_| self.last == part)?;
        let mut said = TextDigest::default();
        said.add(whole);
        self.said = Some(said);
        Some(from)
    }
}

impl State {
    /// Creates an item with this content, of which nothing was emitted.
    fn new(content: &ItemContent<'_>) -> Self {
        match content {
            ItemContent::Message { phase, .. } => Self::Message {
                phase: phase.as_deref().map(str::to_owned),
                texts: Parts::default(),
                refusals: Parts::default(),
                citations: 0,
            },
            ItemContent::Reasoning { .. } => Self::reasoning(),
            ItemContent::Call {
                is_custom, call_id, ..
            } => Self::Call {
                call_id: short(call_id.as_deref()),
                is_custom: *is_custom,
                name: None,
                slot: None,
                said: TextDigest::default(),
            },
            ItemContent::Other { .. } => Self::Other,
        }
    }

    fn reasoning() -> Self {
        Self::Reasoning {
            summary: Parts::default(),
            content: Parts::default(),
            last: None,
            stretch: None,
        }
    }

    /// Creates the item that a delta begins; a call needs a name first.
    fn from_piece(kind: DeltaKind) -> Option<Self> {
        match kind {
            DeltaKind::Text(_) | DeltaKind::Refusal(_) => Some(Self::Message {
                phase: None,
                texts: Parts::default(),
                refusals: Parts::default(),
                citations: 0,
            }),
            DeltaKind::Thought(_) => Some(Self::reasoning()),
            DeltaKind::Arguments | DeltaKind::Input => None,
        }
    }

    fn takes(&self, kind: DeltaKind) -> bool {
        match (self, kind) {
            (Self::Message { .. }, DeltaKind::Text(_) | DeltaKind::Refusal(_))
            | (Self::Reasoning { .. }, DeltaKind::Thought(_)) => true,
            (Self::Call { is_custom, .. }, DeltaKind::Arguments) => !is_custom,
            (Self::Call { is_custom, .. }, DeltaKind::Input) => *is_custom,
            _ => false,
        }
    }

    fn is_of(&self, content: &ItemContent<'_>) -> bool {
        matches!(
            (self, content),
            (Self::Message { .. }, ItemContent::Message { .. })
                | (Self::Reasoning { .. }, ItemContent::Reasoning { .. })
                | (Self::Call { .. }, ItemContent::Call { .. })
                | (Self::Other, ItemContent::Other { .. })
        )
    }
}

impl Item {
    /// Returns whether both are surely the same: the same kind, with the same call id or id.
    fn is_surely(&self, wire: &WireItem<'_>) -> bool {
        if !self.state.is_of(&wire.content) {
            return false;
        }
        if let (State::Call { call_id, .. }, ItemContent::Call { call_id: other, .. }) =
            (&self.state, &wire.content)
            && let (Some(call_id), Some(other)) = (call_id, other)
        {
            return call_id == other;
        }
        self.id.is_some() && self.id.as_deref() == wire.id.as_deref()
    }

    /// Returns whether both may be the same: ids may change, but not those of calls.
    fn may_be(&self, wire: &WireItem<'_>) -> bool {
        self.state.is_of(&wire.content)
            && match (&self.state, &wire.content) {
                (
                    State::Call {
                        call_id: Some(call_id),
                        ..
                    },
                    ItemContent::Call {
                        call_id: Some(other),
                        ..
                    },
                ) => call_id == other,
                _ => true,
            }
    }
}

impl Items {
    pub(super) fn get(&self, at: usize) -> Option<&Item> {
        self.0.get(at)
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Item> {
        self.0.get_mut(at)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The last item to come with this index.
    #[inline]
    pub(super) fn at_index(&mut self, output_index: u64) -> Option<(usize, &mut Item)> {
        let is_it = |item: &Item| item.output_index == Some(output_index);
        let at = self.0.iter().rposition(is_it)?;
        Some((at, &mut self.0[at]))
    }

    fn find(&self, place: &ItemRef<'_>) -> Option<usize> {
        if let Some(output_index) = place.output_index {
            let is_it = |item: &Item| item.output_index == Some(output_index);
            return self.0.iter().rposition(is_it);
        }
        match place.item_id.as_deref() {
            Some(id) => self
                .0
                .iter()
                .rposition(|item| item.id.as_deref() == Some(id)),
            None => self.0.len().checked_sub(1),
        }
    }

    /// Returns the item that a delta belongs to: one of its kind at its place, which may be over, or a new one if the
    /// peer announced none.
    pub(super) fn of_piece(
        &mut self,
        place: &ItemRef<'_>,
        kind: DeltaKind,
    ) -> Result<Option<usize>, DecodeError> {
        if let Some(at) = self.find(place) {
            let item = &mut self.0[at];
            if item.state.takes(kind) {
                item.is_confirmed |= place.item_id.is_some();
                return Ok(Some(at));
            }
        }
        // An id that changes from event to event.
        if place.output_index.is_none()
            && place.item_id.is_some()
            && let Some(at) = self.only_open(|item| !item.is_confirmed && item.state.takes(kind))?
        {
            return Ok(Some(at));
        }
        match State::from_piece(kind) {
            Some(state) => self.add(place, place.item_id.as_deref(), state).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the only open item that fits.
    fn only_open(&self, fits: impl Fn(&Item) -> bool) -> Result<Option<usize>, DecodeError> {
        let mut open = (0..)
            .zip(&self.0)
            .filter(|(_, item)| !item.is_done && fits(item));
        let first = open.next().map(|(at, _)| at);
        match open.next() {
            None => Ok(first),
            Some(_) => Err(DecodeError::Unplaced {
                what: "an event of an output item",
                reason: "it has no index and an unknown id, and several such items are open",
            }),
        }
    }

    /// Returns the message that an annotation belongs to.
    pub(super) fn of_annotation(&self, place: &ItemRef<'_>) -> Option<usize> {
        let at = self.find(place)?;
        let is_open = !self.0[at].is_done && matches!(self.0[at].state, State::Message { .. });
        is_open.then_some(at)
    }

    /// Makes room for an item that begins. `None` if it has begun before.
    pub(super) fn begin(
        &mut self,
        place: &ItemRef<'_>,
        wire: &WireItem<'_>,
    ) -> Result<Option<usize>, DecodeError> {
        let is_it = |item: &Item| item.output_index == place.output_index && item.is_surely(wire);
        if self.0.iter().any(is_it) {
            return Ok(None);
        }
        let state = State::new(&wire.content);
        self.add(place, wire.id.as_deref(), state).map(Some)
    }

    /// Returns the item that is now complete, or room for it if it has not begun. Returns `None` if the item was
    /// complete before.
    pub(super) fn of_whole(
        &mut self,
        place: &ItemRef<'_>,
        wire: &WireItem<'_>,
    ) -> Result<Option<usize>, DecodeError> {
        let same_index = |item: &&Item| item.output_index == place.output_index;
        let surely = || (0..).zip(&self.0).filter(|(_, item)| item.is_surely(wire));
        let known = surely()
            .find(|(_, item)| same_index(item))
            .or_else(|| surely().find(|(_, item)| !item.is_done))
            .map(|(at, _)| at);
        let known = match place.output_index {
            None if known.is_none() => self.only_open(|item| item.may_be(wire))?,
            _ => known,
        };
        let known = known.or_else(|| {
            let at = self.find(place)?;
            let item = &self.0[at];
            // Some gateways give all items one index.
            let is_other = item.is_done && item.id.is_some() && wire.id.is_some();
            (item.may_be(wire) && !is_other).then_some(at)
        });
        match known {
            Some(at) => Ok((!self.0[at].is_done).then_some(at)),
            None => {
                let state = State::new(&wire.content);
                self.add(place, wire.id.as_deref(), state).map(Some)
            }
        }
    }

    /// Returns the items of the last event, each with its own place here: by id, otherwise the next one of its kind.
    /// Room is made for those that have not come before.
    pub(super) fn of_output(&mut self, output: &[WireItem<'_>]) -> Result<Vec<usize>, DecodeError> {
        let mut is_taken = vec![false; self.0.len()];
        if output.len() > MOST_ITEMS {
            return Err(too_many());
        }
        let mut take = |fits: &dyn Fn(&Item) -> bool| {
            let mut all = self.0.iter().zip(&mut is_taken);
            all.position(|(item, is_taken)| {
                let is_it = !*is_taken && fits(item);
                *is_taken |= is_it;
                is_it
            })
        };
        let mut places: Vec<Option<usize>> = output
            .iter()
            .map(|wire| take(&|item| item.is_surely(wire)))
            .collect();
        for (wire, place) in output.iter().zip(&mut places) {
            *place = place.or_else(|| take(&|item| item.may_be(wire)));
        }
        let new = places.iter().filter(|place| place.is_none()).count();
        if self.0.len() + new > MOST_ITEMS {
            return Err(too_many());
        }
        let mut all = Vec::with_capacity(places.len());
        for (wire, place) in output.iter().zip(places) {
            all.push(match place {
                Some(at) => at,
                None => {
                    let state = State::new(&wire.content);
                    self.add(&ItemRef::default(), wire.id.as_deref(), state)?
                }
            });
        }
        Ok(all)
    }

    fn add(
        &mut self,
        place: &ItemRef<'_>,
        id: Option<&str>,
        state: State,
    ) -> Result<usize, DecodeError> {
        let at = self.0.len();
        if at == MOST_ITEMS {
            return Err(too_many());
        }
        self.0.push(Item {
            output_index: place.output_index,
            id: short(id),
            is_confirmed: false,
            is_done: false,
            is_late: false,
            state,
        });
        Ok(at)
    }
}

fn too_many() -> DecodeError {
    AnswerLimit::open(MOST_ITEMS).into()
}

fn short(id: Option<&str>) -> Option<String> {
    id.filter(|id| id.len() <= LONGEST_ID).map(str::to_owned)
}
