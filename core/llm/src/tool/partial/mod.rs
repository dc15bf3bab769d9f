//! A tool call's arguments while they stream.

mod change;
mod escape;
mod expect;
mod invalid;
mod keys;
mod number;
mod owned;
mod pointer;
mod reader;
mod repeated;
mod spelled;
mod state;
mod string;

pub use change::{Change, MisplacedChange};
pub use invalid::InvalidArguments;
pub use owned::OwnedChange;
pub use state::PartialState;

use super::repair_surrogates;
use super::schema::Spelling;
use change::Feed;
use reader::Reader;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use spelled::Spelled;

/// Reads a tool call's JSON arguments while they stream, and has the part of the value that is certain so far.
///
/// **What is certain.** Members and elements that have ended, and the characters of an unfinished string so far. A
/// number or literal appears once it has ended (`12` may become `123`), an escape or a surrogate pair once it is
/// complete, a key once its value begins.
///
/// **Nothing is taken back.** Each [`value`](Self::value) extends the one before: strings grow, elements and members
/// are added, everything else stays. Text after a mistake is not read, and the value before it stays.
///
/// **The end is the complete value.** Once [`state`](Self::state) is [`Complete`](PartialState::Complete), the value
/// equals the result of [`parse_arguments`](super::parse_arguments); `null`, blanks and an empty text are `{}`.
///
/// The one exception is a key that an object has twice. JSON readers, including this crate's, keep its last value, so
/// the first was wrong. While the arguments are open, the first value stays and the later ones are withheld, at any
/// depth; the value of the complete text has the last one. [`has_repeated_keys`](Self::has_repeated_keys) reports this,
/// and the feed reports it with [`Change::Replace`], which has no other use.
///
/// If a provider does not accept the tool's schema unchanged, the model writes the arguments in another form. A run's
/// partial arguments are still the tool's own; [`text`](Self::text) and [`closed_text`](Self::closed_text) are the
/// model's.
///
/// Two limits come from `serde_json`: values nest at most 127 deep, and an object may not begin with one of the keys
/// that `serde_json` reserves (`$serde_json::private::…`; it would read such an object as something else). The third
/// limit is this type's own: a path is at most 1,024 bytes long, so that a change never costs much more than its value.
///
/// **Costs.** [`push`](Self::push) is linear in the fragment, whatever came before: each byte is scanned once (keys and
/// numbers again when they end). The memory holds the text, the path, and a few words for each container that is open,
/// for each key of an open object and for each repeated key. [`value`](Self::value) and
/// [`closed_text`](Self::closed_text) are linear in the text so far; for a view that follows each fragment, take the
/// changes from [`push_with`](Self::push_with).
///
/// The serialised form is the text, which is read again on restore: linear, and always consistent.
///
/// ```
/// use serde_json::json;
/// use stepwell_llm::tool::{PartialArguments, PartialState};
///
/// let mut arguments = PartialArguments::new();
/// arguments.push(r#"{"city":"Ber"#);
/// assert_eq!(arguments.value(), json!({"city": "Ber"}));
/// arguments.push(r#"gen","days":1"#);
/// assert_eq!(arguments.value(), json!({"city": "Bergen"}));
/// arguments.push("2}");
/// assert_eq!(arguments.value(), json!({"city": "Bergen", "days": 12}));
/// assert_eq!(arguments.state(), PartialState::Complete);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct PartialArguments {
    /// Up to the byte that was a mistake, if there was one.
    text: String,
    finished: bool,
    /// The value is inside other text: the text after it is not read.
    #[serde(skip)]
    is_in_text: bool,
    #[serde(skip)]
    spelled: Option<Spelled>,
    /// All of it follows from the rest.
    #[serde(skip)]
    reader: Reader,
}

impl PartialArguments {
    /// Creates empty arguments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates empty arguments that the model writes in the given spelling.
    #[doc(hidden)]
    #[must_use]
    pub fn spelled(spelling: Option<Spelling>) -> Self {
        Self {
            spelled: spelling.map(Spelled::new),
            ..Self::default()
        }
    }

    /// Creates an empty value in the given spelling, which other text may follow. That text is not read.
    #[doc(hidden)]
    #[must_use]
    pub fn in_text(spelling: Option<Spelling>) -> Self {
        Self {
            is_in_text: true,
            ..Self::spelled(spelling)
        }
    }

    fn again(&self) -> Self {
        Self {
            is_in_text: self.is_in_text,
            spelled: self.spelled.as_ref().map(Spelled::again),
            ..Self::default()
        }
    }

    /// Forgets all text that was read.
    pub fn restart(&mut self) {
        *self = self.again();
    }

    /// Reads the next fragment of the text. After a mistake or after [`finish`](Self::finish) it does nothing.
    pub fn push(&mut self, fragment: &str) {
        self.read(fragment, &mut Feed::none());
    }

    /// Reads the next fragment like [`push`](Self::push), and reports the changes: applied in order, they turn the
    /// value before the fragment into the value after it.
    ///
    /// A change costs as much as its own text; the characters that one fragment adds to a string are one change.
    /// Changes are not stored. A view that is created later, or after a restore, begins with [`value`](Self::value) or
    /// with [`replay`](Self::replay).
    ///
    /// ```
    /// use stepwell_llm::tool::{Change, PartialArguments};
    ///
    /// let mut arguments = PartialArguments::new();
    /// arguments.push(r#"{"mail":{"to":["a@b.example"],"body":"Dear"#);
    /// let mut shown = String::new();
    /// arguments.push_with(r#" Ann,\nI "#, |change| {
    ///     if let Change::Append { path: "/mail/body", text } = change {
    ///         shown.push_str(text);
    ///     }
    /// });
    /// assert_eq!(shown, " Ann,\nI ");
    /// ```
    pub fn push_with(&mut self, fragment: &str, mut on_change: impl FnMut(Change<'_>)) {
        self.read(fragment, &mut Feed::to(&mut on_change));
    }

    /// Ends the text. A number at the top level ends with it, an empty text is `{}`, and a value that is still open is
    /// a mistake. Later fragments change nothing.
    pub fn finish(&mut self) {
        self.end(&mut Feed::none());
    }

    /// Ends the text like [`finish`](Self::finish), and reports the changes.
    pub fn finish_with(&mut self, mut on_change: impl FnMut(Change<'_>)) {
        self.end(&mut Feed::to(&mut on_change));
    }

    /// Reports all changes so far, for a view that begins with `null`. Linear in the text.
    pub fn replay(&self, mut on_change: impl FnMut(Change<'_>)) {
        let mut feed = Feed::to(&mut on_change);
        let mut again = self.again();
        again.read(&self.text, &mut feed);
        if self.finished {
            again.end(&mut feed);
        }
    }

    /// Returns the part of the value that is certain so far, or `null`. Linear in the text so far.
    #[must_use]
    pub fn value(&self) -> Value {
        // A closed text always parses; the tests hold it to that.
        let value = serde_json::from_str(&self.closed_text()).unwrap_or_default();
        match &self.spelled {
            Some(spelled) => spelled.value(value, self.state() == PartialState::Complete),
            None => value,
        }
    }

    /// Returns what is certain so far as JSON text: the model's own, with what is open closed, and U+FFFD for half of a
    /// surrogate pair. Linear in the text so far.
    ///
    /// ```
    /// # use stepwell_llm::tool::PartialArguments;
    /// let mut arguments = PartialArguments::new();
    /// arguments.push(r#"{"to": ["Ann", "Bo\u00"#);
    /// assert_eq!(arguments.closed_text(), r#"{"to": ["Ann", "Bo"]}"#);
    /// ```
    #[must_use]
    pub fn closed_text(&self) -> String {
        let closed = self.reader.closed(&self.text);
        repair_surrogates(&closed).unwrap_or(closed)
    }

    /// Returns the model's own text so far. After a mistake the text ends with the character that caused it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the state of the arguments.
    #[must_use]
    pub fn state(&self) -> PartialState {
        self.reader.state
    }

    /// Returns whether an object has a key twice, so that the complete value may differ from the reported changes.
    #[must_use]
    pub fn has_repeated_keys(&self) -> bool {
        self.reader.has_repeated_keys()
    }

    fn read(&mut self, fragment: &str, feed: &mut Feed<'_>) {
        if self.finished || self.is_invalid() {
            return;
        }
        let from = self.text.len();
        self.text.push_str(fragment);
        let Self {
            text,
            reader,
            spelled,
            ..
        } = self;
        let read = said(spelled.as_mut(), feed, |feed| reader.read(text, from, feed));
        if let Err(stop) = read {
            self.text.truncate(stop.read);
            if self.is_in_text && self.state() == PartialState::Complete {
                // Removes the character that does not belong to the value.
                self.text.pop();
                self.finished = true;
                return;
            }
            self.reader.state = PartialState::Invalid(stop.reason);
        }
    }

    fn end(&mut self, feed: &mut Feed<'_>) {
        if self.finished || self.is_invalid() {
            return;
        }
        self.finished = true;
        let Self {
            text,
            reader,
            spelled,
            ..
        } = self;
        let finished = said(spelled.as_mut(), feed, |feed| reader.finish(text, feed));
        if let Err(stop) = finished {
            self.reader.state = PartialState::Invalid(stop.reason);
        }
    }

    fn is_invalid(&self) -> bool {
        matches!(self.reader.state, PartialState::Invalid(_))
    }
}

/// Reads with a feed that says everything in the tool's own names.
fn said<R>(
    spelled: Option<&mut Spelled>,
    feed: &mut Feed<'_>,
    read: impl FnOnce(&mut Feed<'_>) -> R,
) -> R {
    match spelled {
        Some(spelled) => read(&mut Feed::to(&mut |change| spelled.say(change, feed))),
        None => read(feed),
    }
}

#[derive(Deserialize)]
struct Stored {
    text: String,
    finished: bool,
}

impl From<Stored> for PartialArguments {
    fn from(stored: Stored) -> Self {
        let mut arguments = Self::new();
        arguments.push(&stored.text);
        if stored.finished {
            arguments.finish();
        }
        arguments
    }
}
