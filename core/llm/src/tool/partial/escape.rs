//! Escapes in strings, read byte by byte.

/// The state of an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    /// No escape is open.
    None,
    /// After `\`.
    Backslash,
    /// After `\u` and some digits; `high` is the first half of a surrogate pair if this is the second.
    Unicode {
        high: Option<u16>,
        digits: u8,
        unit: u16,
    },
    /// After the first half of a pair: `\` should follow.
    High(u16),
    /// After the first half of a pair and `\`: `u` should follow.
    HighBackslash(u16),
}

/// The result of reading one byte of an escape.
pub(super) enum Step {
    /// The byte is part of the escape, which has not ended.
    Open(Escape),
    /// The string grows by these characters.
    Decoded {
        characters: [Option<char>; 2],
        /// The escape that is open after them.
        next: Escape,
        /// Whether the byte belongs to what was decoded. If not, the caller must read the byte again.
        takes_byte: bool,
    },
}

/// The character that replaces half of a surrogate pair, because no text can hold the half.
const HALF: char = char::REPLACEMENT_CHARACTER;

const NOT_AN_ESCAPE: &str = "no such escape";
const NOT_A_DIGIT: &str = "a hexadecimal digit was expected";

impl Step {
    fn character(character: char) -> Self {
        Self::decoded([Some(character), None], Escape::None)
    }

    fn decoded(characters: [Option<char>; 2], next: Escape) -> Self {
        Self::Decoded {
            characters,
            next,
            takes_byte: true,
        }
    }

    fn half_before(next: Escape) -> Self {
        Self::Decoded {
            characters: [Some(HALF), None],
            next,
            takes_byte: false,
        }
    }
}

impl Escape {
    /// Reads the next byte of an open escape.
    pub(super) fn step(self, byte: u8) -> Result<Step, &'static str> {
        let next = match self {
            Self::None | Self::Backslash => match byte {
                b'"' | b'\\' | b'/' => return Ok(Step::character(byte.into())),
                b'b' => return Ok(Step::character('\u{8}')),
                b'f' => return Ok(Step::character('\u{c}')),
                b'n' => return Ok(Step::character('\n')),
                b'r' => return Ok(Step::character('\r')),
                b't' => return Ok(Step::character('\t')),
                b'u' => Self::hexadecimal(None),
                _ => return Err(NOT_AN_ESCAPE),
            },
            Self::High(high) if byte == b'\\' => Self::HighBackslash(high),
            Self::HighBackslash(high) if byte == b'u' => Self::hexadecimal(Some(high)),
            Self::High(_) => return Ok(Step::half_before(Self::None)),
            Self::HighBackslash(_) => return Ok(Step::half_before(Self::Backslash)),
            Self::Unicode { high, digits, unit } => {
                let digit = char::from(byte).to_digit(16).ok_or(NOT_A_DIGIT)?;
                let unit = (unit << 4) | digit as u16;
                if digits == 3 {
                    return Ok(Self::unit(high, unit));
                }
                Self::Unicode {
                    high,
                    digits: digits + 1,
                    unit,
                }
            }
        };
        Ok(Step::Open(next))
    }

    /// Returns how many bytes of an escape have been read that no character has come of, after
    /// [`Decoded`](Step::Decoded).
    pub(super) fn open_bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::High(_) => r"\u0000".len(),
            _ => 1,
        }
    }

    fn hexadecimal(high: Option<u16>) -> Self {
        Self::Unicode {
            high,
            digits: 0,
            unit: 0,
        }
    }

    /// Decodes a complete code unit: half of a pair, or a character.
    fn unit(high: Option<u16>, unit: u16) -> Step {
        let is_high = (0xd800..0xdc00).contains(&unit);
        let decoded = char::decode_utf16(high.into_iter().chain([unit])).next();
        match (high, decoded) {
            (None, _) if is_high => Step::Open(Self::High(unit)),
            (_, Some(Ok(character))) => Step::character(character),
            (Some(_), _) if is_high => Step::decoded([Some(HALF), None], Self::High(unit)),
            (Some(_), _) => {
                let character = char::from_u32(unit.into()).unwrap_or(HALF);
                Step::decoded([Some(HALF), Some(character)], Self::None)
            }
            (None, _) => Step::character(HALF),
        }
    }
}
