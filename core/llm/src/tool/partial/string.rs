//! Inside a string: what of it is whole, and what it says.

use super::change::{Change, Feed};
use super::invalid::Stop;
use super::reader::{Expect, Reader};
use crate::words;

/// How far an escape has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    None,
    /// After `\`.
    Backslash,
    /// After `\u` and some digits; `high` is the first half of a pair if this is the second.
    Unicode {
        high: Option<u16>,
        digits: u8,
        unit: u16,
    },
    /// After the first half of a pair: `\` must follow.
    High(u16),
    /// After the first half of a pair and `\`: `u` must follow.
    HighBackslash(u16),
}

/// What one byte of an escape leads to.
enum Step {
    Go(Escape),
    Character(char),
    /// Half of a surrogate pair, the other half of which does not come: no text can hold it.
    Half,
    /// The same, and a character behind it.
    HalfAnd(char),
    /// The same, and the first half of a pair behind it.
    HalfAndHigh(u16),
    /// The same, with the byte yet to be read.
    HalfBefore(Escape),
}

/// What stands for half of a surrogate pair.
const HALF: char = char::REPLACEMENT_CHARACTER;

const NOT_AN_ESCAPE: &str = "no such escape";
const NOT_A_DIGIT: &str = "a hexadecimal digit was expected";

impl Escape {
    fn step(self, byte: u8) -> Result<Step, &'static str> {
        let next = match self {
            Self::None | Self::Backslash => match byte {
                b'"' | b'\\' | b'/' => return Ok(Step::Character(byte.into())),
                b'b' => return Ok(Step::Character('\u{8}')),
                b'f' => return Ok(Step::Character('\u{c}')),
                b'n' => return Ok(Step::Character('\n')),
                b'r' => return Ok(Step::Character('\r')),
                b't' => return Ok(Step::Character('\t')),
                b'u' => Self::hexadecimal(None),
                _ => return Err(NOT_AN_ESCAPE),
            },
            Self::High(high) if byte == b'\\' => Self::HighBackslash(high),
            Self::HighBackslash(high) if byte == b'u' => Self::hexadecimal(Some(high)),
            Self::High(_) => return Ok(Step::HalfBefore(Self::None)),
            Self::HighBackslash(_) => return Ok(Step::HalfBefore(Self::Backslash)),
            Self::Unicode { high, digits, unit } => {
                let digit = char::from(byte).to_digit(16).ok_or(NOT_A_DIGIT)?;
                let unit = (unit << 4) | digit as u16;
                if digits < 3 {
                    Self::Unicode {
                        high,
                        digits: digits + 1,
                        unit,
                    }
                } else {
                    return Ok(Self::unit(high, unit));
                }
            }
        };
        Ok(Step::Go(next))
    }

    fn hexadecimal(high: Option<u16>) -> Self {
        Self::Unicode {
            high,
            digits: 0,
            unit: 0,
        }
    }

    /// A code unit is whole: half of a pair, or a character.
    fn unit(high: Option<u16>, unit: u16) -> Step {
        let is_high = (0xd800..0xdc00).contains(&unit);
        let whole = char::decode_utf16(high.into_iter().chain([unit])).next();
        match (high, whole) {
            (None, _) if is_high => Step::Go(Self::High(unit)),
            (_, Some(Ok(character))) => Step::Character(character),
            (Some(_), _) if is_high => Step::HalfAndHigh(unit),
            (Some(_), _) => Step::HalfAnd(char::from_u32(unit.into()).unwrap_or(HALF)),
            (None, _) => Step::Half,
        }
    }
}

impl Reader {
    /// Reads on in a string that began (with its quote) at `from`; gives the place after what was read.
    pub(super) fn string(
        &mut self,
        text: &str,
        mut at: usize,
        (key, from, mut escape): (bool, usize, Escape),
        feed: &mut Feed<'_>,
    ) -> Result<usize, Stop> {
        let bytes = text.as_bytes();
        let shown = !key && !self.withholds();
        let heard = shown && feed.listens();
        // What is certain and not yet in `scratch`.
        let mut plain = at..at;
        let outcome = loop {
            if escape == Escape::None {
                at += words::plain(&bytes[at..]);
                plain.end = at;
            }
            let Some(&byte) = bytes.get(at) else {
                break Ok(false);
            };
            if escape == Escape::None {
                match byte {
                    b'"' => break Ok(true),
                    b'\\' => escape = Escape::Backslash,
                    _ => break Err("a control character in a string"),
                }
                if heard {
                    self.scratch.push_str(&text[plain.clone()]);
                }
                // From here to the end of the escape nothing is certain.
                self.say_up_to(plain.end, shown);
                plain = plain.end..plain.end;
            } else {
                // What is said, the escape that is open behind it, and how long that is already.
                let (said, next, open) = match escape.step(byte) {
                    Ok(Step::Go(next)) => {
                        escape = next;
                        at += 1;
                        continue;
                    }
                    Ok(Step::Character(character)) => ([Some(character), None], Escape::None, 0),
                    Ok(Step::HalfAnd(character)) => {
                        ([Some(HALF), Some(character)], Escape::None, 0)
                    }
                    Ok(Step::HalfAndHigh(unit)) => ([Some(HALF), None], Escape::High(unit), 6),
                    Ok(Step::Half) => ([Some(HALF), None], Escape::None, 0),
                    Ok(Step::HalfBefore(next)) => {
                        let open = usize::from(next == Escape::Backslash);
                        // The byte is yet to be read.
                        at -= 1;
                        ([Some(HALF), None], next, open)
                    }
                    Err(reason) => break Err(reason),
                };
                at += 1;
                if heard {
                    self.scratch.extend(said.into_iter().flatten());
                }
                escape = next;
                plain = at..at;
                self.say_up_to(at - open, shown);
                continue;
            }
            at += 1;
        };
        if escape == Escape::None {
            self.say_up_to(plain.end, shown);
        }
        if heard {
            self.append(&text[plain], feed);
        }
        match outcome {
            Ok(true) if key => self.key_ended(text, from, at + 1)?,
            Ok(true) => {
                if heard {
                    feed.say(Change::End {
                        path: &self.pointer,
                    });
                }
                self.value_ended(text, at + 1, feed);
            }
            Ok(false) => {
                self.expect = Expect::String { key, from, escape };
                return Ok(at);
            }
            Err(reason) => {
                self.expect = Expect::String { key, from, escape };
                return Err(Stop::at(text, at, reason));
            }
        }
        Ok(at + 1)
    }

    fn say_up_to(&mut self, end: usize, shown: bool) {
        if shown {
            self.said = end;
        }
    }

    /// Says what the string grew by: what `scratch` holds and then `plain`.
    fn append(&mut self, plain: &str, feed: &mut Feed<'_>) {
        let text = if self.scratch.is_empty() {
            plain
        } else {
            self.scratch.push_str(plain);
            &self.scratch
        };
        if !text.is_empty() {
            feed.say(Change::Append {
                path: &self.pointer,
                text,
            });
        }
        self.scratch.clear();
    }
}
