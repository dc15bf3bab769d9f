use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The maximum number of characters in a label.
pub(super) const MAX_CHARS: usize = 120;

type LabelOf = dyn Fn(&Value) -> Option<String> + Send + Sync;

/// The text that the user sees for a call: a function of its arguments, or nothing, in which case it is the tool's
/// name.
///
/// A label is code, so it is not stored, and all labels are equal.
#[derive(Clone, Default)]
pub struct ToolLabel(Option<Arc<LabelOf>>);

impl ToolLabel {
    /// Creates a label from a function of a call's arguments. Where the function returns `None`, the tool's name is
    /// shown.
    pub fn new(label: impl Fn(&Value) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(label)))
    }

    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the label for these arguments: one line of up to 120 characters.
    #[must_use]
    pub fn of(&self, arguments: &Value) -> Option<String> {
        let label = self.0.as_ref()?(arguments)?;
        Some(one_line(&label, MAX_CHARS)).filter(|label| !label.is_empty())
    }
}

impl fmt::Debug for ToolLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "ToolLabel(…)",
            None => "ToolLabel",
        })
    }
}

impl PartialEq for ToolLabel {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// Returns a text for display as one line of up to `longest` characters. Runs of blanks and control characters become
/// one space; characters that change the text's direction or are invisible are removed. A text that is cut ends in an
/// ellipsis, at the end of a word if one is near.
pub fn one_line(text: &str, longest: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    let mut is_after_blank = true;
    // A hostile text may be of any size, and most of it blank.
    let looked_at = longest.saturating_mul(16).max(1024);
    let mut characters = text.chars().take(looked_at);
    for c in characters.by_ref() {
        let is_blank = c.is_whitespace() || c.is_control();
        if is_hidden(c) || (is_blank && is_after_blank) {
            continue;
        }
        if length == longest {
            return cut(line, longest);
        }
        line.push(if is_blank { ' ' } else { c });
        is_after_blank = is_blank;
        length += 1;
    }
    line.truncate(line.trim_end().len());
    line
}

/// The line without the word that it breaks off in, and without its last character at least.
fn cut(mut line: String, longest: usize) -> String {
    let whole = line.char_indices().nth(longest.saturating_sub(1));
    line.truncate(whole.map_or(line.len(), |(at, _)| at));
    if let Some(end) = line.rfind(' ').filter(|end| *end > line.len() / 2) {
        line.truncate(end);
    }
    line.truncate(line.trim_end().len());
    line.push('…');
    line
}

/// Marks that turn the direction of the text around them, and characters without a width.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_one_clean_line() {
        for (text, line) in [
            ("", ""),
            (" \n\t ", ""),
            ("a", "a"),
            (" one\r\n\u{0}\u{1b}[m ", "one [m"),
            ("\u{202e}txt.exe\u{2066}", "txt.exe"),
            ("0123456789", "0123456789"),
            ("0123456789a", "012345678…"),
            ("one two three", "one two…"),
            ("größer ölig", "größer…"),
        ] {
            assert_eq!(one_line(text, 10), line, "{text:?}");
        }
    }

    #[test]
    fn a_megabyte_is_cut() {
        for text in ["x", " ", "\n", "\u{202e}", "ab ", "🧑‍🚀"] {
            let line = one_line(&text.repeat(1 << 20), 120);
            assert!(line.chars().count() <= 120, "{text:?}");
        }
    }
}
