use super::escape::Escape;
use super::number::Number;

/// The reader's next expectation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Expect {
    #[default]
    Value,
    FirstElement,
    FirstKey,
    Key,
    Colon,
    CommaOrEnd,
    /// The rest of a string that began at `from`.
    String {
        key: bool,
        from: usize,
        escape: Escape,
    },
    Number {
        from: usize,
        number: Number,
    },
    /// The rest of a literal that began at `from`.
    Literal {
        word: &'static str,
        from: usize,
    },
    /// Nothing but blanks.
    Nothing,
}

impl Expect {
    /// Returns what follows the first byte of a value, which is at `from`; `None` if no value begins with the byte.
    pub(super) fn of_value(byte: u8, from: usize) -> Option<Self> {
        let literal = |word| Self::Literal { word, from };
        Some(match byte {
            b'"' => Self::String {
                key: false,
                from,
                escape: Escape::None,
            },
            b'{' => Self::FirstKey,
            b'[' => Self::FirstElement,
            b't' => literal("true"),
            b'f' => literal("false"),
            b'n' => literal("null"),
            _ => Self::Number {
                from,
                number: Number::begin(byte)?,
            },
        })
    }
}
