use super::escape::Escape;
use super::number::Number;

/// What the reader expects next.
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
