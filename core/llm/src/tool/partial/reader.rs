use super::super::arguments::from_json;
use super::change::{Change, Feed};
use super::escape::Escape;
use super::expect::Expect;
use super::invalid::Stop;
use super::keys::{Keys, SpareKeys};
use super::pointer::{push_index, push_segment};
use super::repeated::{Withheld, settle};
use super::state::PartialState;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The deepest nesting: what `serde_json` reads.
const MAX_DEPTH: usize = 127;

/// The longest path, in bytes. Without a limit, a key of a megabyte with a hundred thousand members below it would make
/// changes of a hundred gigabytes.
const MAX_PATH_BYTES: usize = 1024;

const PATH_TOO_LONG: &str = "the keys on the way to this value are too long";

/// Keys with a special meaning in `serde_json` when an object begins with them.
const RESERVED: &str = "$serde_json::private::";

/// The state machine. It goes over the text once and keeps offsets into it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reader {
    pub(super) state: PartialState,
    pub(super) expect: Expect,
    /// The reported part of the text, without what is withheld and with closers, ends here.
    pub(super) said: usize,
    /// The path of the value that is being read.
    pub(super) pointer: String,
    /// Holds what a string with escapes grew by; empty between two fragments.
    pub(super) scratch: String,
    open: Vec<Container>,
    spare: SpareKeys,
    /// The last comma in an object.
    comma: usize,
    /// The repeated member that is being read.
    withholding: Option<Withheld>,
    /// From where to where the repeated members are that have ended, none inside another.
    withheld: Vec<(usize, usize)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Container {
    /// The length of its own path in the pointer.
    path: usize,
    kind: ContainerKind,
}

#[derive(Clone, Debug, PartialEq)]
enum ContainerKind {
    Object(Keys),
    /// An array, with the index of the next element.
    Array(usize),
}

impl Reader {
    /// Reads the text from `at` on; everything before it was read.
    pub(super) fn read(
        &mut self,
        text: &str,
        mut at: usize,
        feed: &mut Feed<'_>,
    ) -> Result<(), Stop> {
        while let Some(&byte) = text.as_bytes().get(at) {
            match self.expect {
                Expect::String { key, from, escape } => {
                    at = self.string(text, at, (key, from, escape), feed)?;
                }
                Expect::Number { from, mut number } => {
                    let rest = &text.as_bytes()[at..];
                    let next = rest.iter().map_while(|&byte| {
                        number = number.next(byte)?;
                        Some(())
                    });
                    at += next.count();
                    self.expect = Expect::Number { from, number };
                    if at < text.len() {
                        if !number.is_whole() {
                            return Err(Stop::at(text, at, "a digit was expected"));
                        }
                        // The byte is not the number's: it is looked at again.
                        self.number_ended(text, from, at, feed)?;
                    }
                }
                Expect::Literal { word, from } => {
                    if word.as_bytes().get(at - from) != Some(&byte) {
                        let reason = "`true`, `false` or `null` was expected";
                        return Err(Stop::at(text, at, reason));
                    }
                    at += 1;
                    if at - from == word.len() {
                        self.literal_ended(text, word, at, feed);
                    }
                }
                _ => match self.blank(text, at) {
                    0 => {
                        self.token(text, at, byte, feed)?;
                        at += 1;
                    }
                    blank => at += blank,
                },
            }
        }
        Ok(())
    }

    /// The text has ended.
    pub(super) fn finish(&mut self, text: &str, feed: &mut Feed<'_>) -> Result<(), Stop> {
        match self.expect {
            Expect::Nothing => Ok(()),
            Expect::Number { from, number } if self.open.is_empty() && number.is_whole() => {
                self.number_ended(text, from, text.len(), feed)
            }
            Expect::Value if self.open.is_empty() => {
                self.state = PartialState::Complete;
                self.expect = Expect::Nothing;
                self.add(feed, || Value::Object(Map::new()));
                feed.say(Change::End { path: "" });
                Ok(())
            }
            _ => Err(Stop::at(text, text.len(), "the text ended too early")),
        }
    }

    /// Returns the reported value as JSON text.
    pub(super) fn closed(&self, text: &str) -> String {
        if matches!(self.expect, Expect::Nothing) {
            let whole = text[..self.said].trim();
            let none = whole.is_empty() || whole == "null";
            return (if none { "{}" } else { whole }).to_owned();
        }
        let closed = self.closed_but_repeated(text);
        if closed.is_empty() {
            return "null".to_owned();
        }
        closed
    }

    pub(super) fn has_repeated_keys(&self) -> bool {
        self.withholds() || !self.withheld.is_empty()
    }

    pub(super) fn withholds(&self) -> bool {
        self.withholding.is_some()
    }

    fn closed_but_repeated(&self, text: &str) -> String {
        let mut closed = String::with_capacity(self.said + self.open.len() + 1);
        let mut from = 0;
        for &(start, end) in &self.withheld {
            closed.push_str(&text[from..start]);
            from = end;
        }
        closed.push_str(&text[from..self.said]);
        if matches!(self.expect, Expect::String { key: false, .. }) && !self.withholds() {
            closed.push('"');
        }
        let open = self
            .withholding
            .map_or(self.open.len(), |withheld| withheld.depth);
        closed.extend(self.open[..open].iter().rev().map(Container::closer));
        closed.trim_start().to_owned()
    }

    /// Returns the number of bytes of white space at `at`. Around the complete value it is Unicode's white space, as
    /// for `parse_arguments`.
    fn blank(&self, text: &str, at: usize) -> usize {
        match text.as_bytes()[at] {
            b' ' | b'\t' | b'\n' | b'\r' => 1,
            0x21..=0x7e => 0,
            _ if self.open.is_empty() => text[at..]
                .chars()
                .next()
                .filter(|character| character.is_whitespace())
                .map_or(0, char::len_utf8),
            _ => 0,
        }
    }

    fn token(&mut self, text: &str, at: usize, byte: u8, feed: &mut Feed<'_>) -> Result<(), Stop> {
        match (self.expect, byte) {
            (Expect::FirstKey, b'}') | (Expect::FirstElement, b']') => {
                self.container_ended(text, at, feed);
            }
            (Expect::FirstKey | Expect::Key, b'"') => {
                self.expect = Expect::String {
                    key: true,
                    from: at,
                    escape: Escape::None,
                };
            }
            (Expect::FirstKey | Expect::Key, _) => {
                return Err(Stop::at(text, at, "a key in quotes was expected"));
            }
            (Expect::Colon, b':') => self.expect = Expect::Value,
            (Expect::Colon, _) => return Err(Stop::at(text, at, "`:` was expected")),
            (Expect::CommaOrEnd, _) => match (self.open.last(), byte) {
                (Some(container), b',') => {
                    self.expect = match container.kind {
                        ContainerKind::Object(_) => {
                            self.comma = at;
                            Expect::Key
                        }
                        ContainerKind::Array(_) => Expect::Value,
                    };
                }
                (Some(container), _) if char::from(byte) == container.closer() => {
                    self.container_ended(text, at, feed);
                }
                _ => {
                    return Err(Stop::at(
                        text,
                        at,
                        "`,` or the closing bracket was expected",
                    ));
                }
            },
            (Expect::Nothing, _) => {
                return Err(Stop::at(text, at, "nothing was expected after the value"));
            }
            _ => self.value_begins(text, at, byte, feed)?,
        }
        Ok(())
    }

    fn value_begins(
        &mut self,
        text: &str,
        at: usize,
        byte: u8,
        feed: &mut Feed<'_>,
    ) -> Result<(), Stop> {
        let Some(expect) = Expect::of_value(byte, at) else {
            return Err(Stop::at(text, at, "a value was expected"));
        };
        if matches!(byte, b'{' | b'[') && self.open.len() == MAX_DEPTH {
            return Err(Stop::at(text, at, "the values nest too deep"));
        }
        self.point_at_element(text, at)?;
        self.expect = expect;
        let kind = match byte {
            b'"' => {
                self.add(feed, || Value::String(String::new()));
                None
            }
            b'{' => {
                self.add(feed, || Value::Object(Map::new()));
                Some(ContainerKind::Object(self.spare.take()))
            }
            b'[' => {
                self.add(feed, || Value::Array(Vec::new()));
                Some(ContainerKind::Array(0))
            }
            _ => return Ok(()),
        };
        if let Some(kind) = kind {
            self.open.push(Container {
                path: self.pointer.len(),
                kind,
            });
        }
        if !self.withholds() {
            self.said = at + 1;
        }
        Ok(())
    }

    /// Lets the pointer name the next element, if the innermost container is an array.
    fn point_at_element(&mut self, text: &str, at: usize) -> Result<(), Stop> {
        if let Some(Container {
            path,
            kind: ContainerKind::Array(next),
        }) = self.open.last_mut()
        {
            self.pointer.truncate(*path);
            push_index(&mut self.pointer, *next);
            *next += 1;
            if self.pointer.len() > MAX_PATH_BYTES {
                return Err(Stop::at(text, at, PATH_TOO_LONG));
            }
        }
        Ok(())
    }

    fn add(&self, feed: &mut Feed<'_>, value: impl FnOnce() -> Value) {
        if feed.listens() && !self.withholds() {
            feed.say(Change::Add {
                path: &self.pointer,
                value: &value(),
            });
        }
    }

    /// Handles a complete key at `from..end`, quotes included.
    pub(super) fn key_ended(&mut self, text: &str, from: usize, end: usize) -> Result<(), Stop> {
        let refused = |reason| Stop::from(text, from, end - 1, reason);
        let quoted = &text[from..end];
        let key: Cow<'_, str> = if quoted.contains('\\') {
            from_json(quoted).map_err(|_| refused("not a string"))?
        } else {
            quoted[1..quoted.len() - 1].into()
        };
        let depth = self.open.len();
        if let Some(Container {
            path,
            kind: ContainerKind::Object(keys),
        }) = self.open.last_mut()
        {
            if keys.is_empty() && key.starts_with(RESERVED) {
                return Err(refused("this key is reserved"));
            }
            self.pointer.truncate(*path);
            push_segment(&mut self.pointer, &key);
            if self.pointer.len() > MAX_PATH_BYTES {
                return Err(refused(PATH_TOO_LONG));
            }
            if !keys.insert(&key, from, text) && self.withholding.is_none() {
                self.withholding = Some(Withheld {
                    from: self.comma,
                    depth,
                });
            }
        }
        self.expect = Expect::Colon;
        Ok(())
    }

    fn number_ended(
        &mut self,
        text: &str,
        from: usize,
        end: usize,
        feed: &mut Feed<'_>,
    ) -> Result<(), Stop> {
        let value = serde_json::from_str::<Value>(&text[from..end])
            .map_err(|_| Stop::from(text, from, end, "a number out of range"))?;
        self.add(feed, || value);
        self.value_ended(text, end, feed);
        Ok(())
    }

    fn literal_ended(&mut self, text: &str, word: &str, end: usize, feed: &mut Feed<'_>) {
        let is_none = word == "null" && self.open.is_empty();
        self.add(feed, || match word {
            "null" if is_none => Value::Object(Map::new()),
            "null" => Value::Null,
            _ => Value::Bool(word == "true"),
        });
        if is_none {
            feed.say(Change::End { path: "" });
        }
        self.value_ended(text, end, feed);
    }

    fn container_ended(&mut self, text: &str, at: usize, feed: &mut Feed<'_>) {
        if let Some(container) = self.open.pop() {
            self.pointer.truncate(container.path);
            if let ContainerKind::Object(keys) = container.kind {
                self.spare.give_back(keys);
            }
        }
        if !self.withholds() {
            feed.say(Change::End {
                path: &self.pointer,
            });
        }
        self.value_ended(text, at + 1, feed);
    }

    /// A value has ended in front of `end`.
    pub(super) fn value_ended(&mut self, text: &str, end: usize, feed: &mut Feed<'_>) {
        match self.withholding {
            None => self.said = end,
            Some(withheld) if withheld.depth == self.open.len() => {
                self.withheld.push((withheld.from, end));
                self.withholding = None;
                self.said = end;
            }
            Some(_) => {}
        }
        if !self.open.is_empty() {
            self.expect = Expect::CommaOrEnd;
            return;
        }
        if feed.listens() && !self.withheld.is_empty() {
            let said = from_json(&self.closed_but_repeated(text));
            let whole = from_json(text[..end].trim());
            if let (Ok(said), Ok(whole)) = (said, whole) {
                settle(&mut String::new(), &said, &whole, feed);
            }
        }
        self.expect = Expect::Nothing;
        self.state = PartialState::Complete;
    }
}

impl Container {
    fn closer(&self) -> char {
        match self.kind {
            ContainerKind::Object(_) => '}',
            ContainerKind::Array(_) => ']',
        }
    }
}
