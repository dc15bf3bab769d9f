use std::borrow::Cow;
use std::fmt::Write;

/// Returns the text without control characters other than line breaks and tabs: the words of a model or a tool must not
/// move the cursor or write to the clipboard.
pub fn clean(text: &str) -> Cow<'_, str> {
    let obeyed = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if text.contains(obeyed) {
        Cow::Owned(text.replace(obeyed, ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the text with invisible characters escaped as in JSON, such as `\\u202e` for the one that reverses the writing:
/// what a user approves must not look like something else. JSON stays the same JSON.
pub fn revealed(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_unseen(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Returns whether the character is invisible: controls except white space, changes of the writing direction, joiners
/// and fillers.
fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    ) || (character.is_control() && !matches!(character, '\n' | '\r' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::{clean, revealed};

    #[test]
    fn what_cannot_be_seen_is_revealed_and_json_stays_what_it_was() {
        let raw =
            "{\"file\":\"report\u{202e}fdp.exe\",\"tag\":\"\u{e0041}\",\"to\":\"a\u{200b}b\"}";
        let shown = revealed(raw);
        assert_eq!(
            shown,
            r#"{"file":"report\u202efdp.exe","tag":"\udb40\udc41","to":"a\u200bb"}"#
        );
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(value(&shown), value(raw));
        assert_eq!(revealed("\u{1b}[2J\tx"), "\\u001b[2J\tx");
        for plain in ["a\tb\nc é 漢", "שלום", "👍"] {
            assert_eq!(revealed(plain), plain);
        }
    }

    #[test]
    fn only_breaks_and_tabs_are_left_of_the_controls() {
        assert_eq!(clean("a\tb\nc é 漢"), "a\tb\nc é 漢");
        assert_eq!(clean("\u{1b}[2Jx\u{9b}31m\u{7}\r\u{7f}"), "[2Jx31m");
    }
}
