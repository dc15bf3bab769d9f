//! Inside a string: what of it is whole, and what it says.

use super::change::{Change, Feed};
use super::invalid::Stop;
use super::reader::{Expect, Reader};

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
}

const NOT_AN_ESCAPE: &str = "no such escape";
const NOT_A_DIGIT: &str = "a hexadecimal digit was expected";
const LONE_SURROGATE: &str = "half of a surrogate pair";

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
            Self::High(_) | Self::HighBackslash(_) => return Err(LONE_SURROGATE),
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
                    return Self::unit(high, unit);
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
    fn unit(high: Option<u16>, unit: u16) -> Result<Step, &'static str> {
        if high.is_none() && (0xd800..0xdc00).contains(&unit) {
            return Ok(Step::Go(Self::High(unit)));
        }
        match char::decode_utf16(high.into_iter().chain([unit])).next() {
            Some(Ok(character)) => Ok(Step::Character(character)),
            _ => Err(LONE_SURROGATE),
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
                let rest = &bytes[at..];
                let stop = rest
                    .iter()
                    .position(|&byte| byte == b'"' || byte == b'\\' || byte < b' ');
                at += stop.unwrap_or(rest.len());
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
                match escape.step(byte) {
                    Ok(Step::Go(next)) => escape = next,
                    Ok(Step::Character(character)) => {
                        if heard {
                            self.scratch.push(character);
                        }
                        escape = Escape::None;
                        plain = at + 1..at + 1;
                    }
                    Err(reason) => break Err(reason),
                }
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
