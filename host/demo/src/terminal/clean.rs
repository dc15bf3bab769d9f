use std::borrow::Cow;

/// `text` without what a terminal would obey: control characters other than line breaks and tabs. A model's words, and
/// a tool's, are not to move the cursor or to write to the clipboard.
pub fn clean(text: &str) -> Cow<'_, str> {
    let obeyed = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if text.contains(obeyed) {
        Cow::Owned(text.replace(obeyed, ""))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn only_breaks_and_tabs_are_left_of_the_controls() {
        assert_eq!(clean("a\tb\nc é 漢"), "a\tb\nc é 漢");
        assert_eq!(clean("\u{1b}[2Jx\u{9b}31m\u{7}\r\u{7f}"), "[2Jx31m");
    }
}
