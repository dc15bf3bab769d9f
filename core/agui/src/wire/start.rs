use serde::{Deserialize, Serialize};

const MARK: &[u8] = b"\xEF\xBB\xBF";

/// The part of a byte order mark that was found at the start of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Start {
    #[default]
    Nothing,
    OneByte,
    TwoBytes,
    /// The start is over, with or without a mark.
    Passed,
}

impl Start {
    /// Drops a byte order mark, also one that is split.
    ///
    /// Returns the bytes held back by earlier calls that turned out to be no mark, and the part of `chunk` to read
    /// after them.
    #[inline]
    pub(super) fn skip<'c>(&mut self, chunk: &'c [u8]) -> (&'static [u8], &'c [u8]) {
        if *self == Self::Passed {
            return (&[], chunk);
        }
        let (seen, missing) = MARK.split_at(self.seen());
        if let Some(rest) = chunk.strip_prefix(missing) {
            *self = Self::Passed;
            (&[], rest)
        } else if missing.starts_with(chunk) {
            *self = match seen.len() + chunk.len() {
                0 => Self::Nothing,
                1 => Self::OneByte,
                _ => Self::TwoBytes,
            };
            (&[], &[])
        } else {
            *self = Self::Passed;
            (seen, chunk)
        }
    }

    /// Ends the body: returns the bytes held back, and prepares for the start of the next body.
    pub(super) fn finish(&mut self) -> &'static [u8] {
        let held = &MARK[..self.seen()];
        *self = Self::Nothing;
        held
    }

    /// Returns how many bytes are held back.
    fn seen(self) -> usize {
        match self {
            Self::Nothing | Self::Passed => 0,
            Self::OneByte => 1,
            Self::TwoBytes => 2,
        }
    }
}
