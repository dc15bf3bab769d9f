//! Appending to a JSON Pointer (RFC 6901).

/// Appends the index of an element.
pub(super) fn push_index(pointer: &mut String, mut index: usize) {
    // The most that 64 bits have.
    let mut digits = ['0'; 20];
    let mut from = digits.len();
    loop {
        from -= 1;
        // A digit is less than 256.
        digits[from] = char::from(b'0' + (index % 10) as u8);
        index /= 10;
        if index == 0 {
            break;
        }
    }
    pointer.push('/');
    pointer.extend(&digits[from..]);
}

/// Appends a key, escaped.
pub(super) fn push_segment(pointer: &mut String, key: &str) {
    pointer.push('/');
    if !key.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
        pointer.push_str(key);
        return;
    }
    for character in key.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(character),
        }
    }
}
