//! Searches of eight bytes at a time. The strings of a stream are short, so a call to a library's search would cost
//! more.

pub(crate) const ONES: u64 = u64::from_le_bytes([1; 8]);
pub(crate) const HIGH: u64 = ONES << 7;

/// The top bit of the first byte that ends the plain run: a quote, a backslash or a control character. Bits above the
/// lowest one mean nothing.
#[inline]
pub(crate) fn stops(word: u64) -> u64 {
    let quote = zeros(word ^ (ONES * 0x22));
    let backslash = zeros(word ^ (ONES * 0x5c));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & HIGH
}

/// The top bit of the first byte that is zero, where it is masked by [`HIGH`]. Bits above that one mean nothing.
#[inline]
pub(crate) fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

/// Returns the number of bytes before the first one that ends the plain run of a string.
#[inline]
pub(crate) fn plain(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let stops = stops(u64::from_le_bytes(*chunk));
        if stops != 0 {
            return at + stops.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let last = &bytes[at..];
    let stop = last
        .iter()
        .position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
    at + stop.unwrap_or(last.len())
}

#[cfg(test)]
mod tests {
    use super::plain;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_plain_run_ends_where_it_does_byte_by_byte(bytes in prop::collection::vec(any::<u8>().prop_map(|byte| byte % 0x60 + (byte & 0x80)), 0..40)) {
            let ends = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
            prop_assert_eq!(plain(&bytes), bytes.iter().position(ends).unwrap_or(bytes.len()));
        }
    }
}
