use crate::event::Message;
use crate::tool::one_line;

/// The most characters of a title.
const LONGEST: usize = 60;

/// What a conversation is called: the beginning of the user's first words, without markup, in one line; empty if they
/// are no words.
#[must_use]
pub fn title<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let said = messages.into_iter().find_map(|message| match message {
        Message::User(message) => Some(message.content.to_text()),
        _ => None,
    });
    said.map_or_else(String::new, |text| one_line(&plain(&text), LONGEST))
}

/// The beginning of a text without the marks of Markdown and HTML.
fn plain(text: &str) -> String {
    // More than a title takes, so that marks and blanks may be dropped.
    let end = text.char_indices().nth(LONGEST * 64);
    let mut rest = &text[..end.map_or(text.len(), |(at, _)| at)];
    let mut plain = String::new();
    let mut begins_line = true;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '<' => tag(after).unwrap_or_else(|| {
                plain.push(c);
                after
            }),
            '!' if after.starts_with('[') => after,
            '[' => match link(after) {
                Some((words, behind)) => {
                    plain.push_str(&words.replace(['*', '`', '~'], ""));
                    behind
                }
                None => {
                    plain.push(c);
                    after
                }
            },
            '*' | '`' | '~' => after,
            '#' | '>' | '-' | '+' if begins_line => after,
            c => {
                plain.push(c);
                after
            }
        };
        begins_line = match c {
            '\n' => true,
            '#' | '>' | '-' | '+' | ' ' | '\t' => begins_line,
            _ => false,
        };
    }
    plain
}

/// What comes after a tag or a comment, of which the `<` was read.
fn tag(rest: &str) -> Option<&str> {
    let is_tag = rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!'));
    let end = rest.find('>').filter(|_| is_tag)?;
    Some(&rest[end + 1..])
}

/// The words of a link, of which the `[` was read, and what comes after it.
fn link(rest: &str) -> Option<(&str, &str)> {
    let (words, behind) = rest.split_once(']')?;
    let behind = behind.strip_prefix('(')?;
    let (_, behind) = behind.split_once(')')?;
    (!words.contains('[')).then_some((words, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_words_in_one_line() {
        for (text, expected) in [
            ("Hello", "Hello"),
            ("  # Plan\n\n- **one**\n- `two`", "Plan one two"),
            (
                "See [the *docs*](https://x.y/z) and ![a cat](c.png)!",
                "See the docs and a cat!",
            ),
            ("<script>alert(1)</script>Hi <b>you</b>", "alert(1)Hi you"),
            ("a < b and c > d, 3 * 4 - 5", "a < b and c > d, 3  4 - 5"),
            ("snake_case [x] (y", "snake_case [x] (y"),
            ("<unclosed", "<unclosed"),
            ("\u{202e}evil\u{0}\r\n", "evil"),
            ("", ""),
        ] {
            let expected = expected.replace("  ", " ");
            assert_eq!(title([&Message::user("m", text)]), expected, "{text:?}");
        }
    }

    #[test]
    fn a_long_one_is_cut_at_a_word() {
        let text = "This is the beginning of a conversation about all the things that may go wrong";
        let expected = "This is the beginning of a conversation about all the…";
        assert_eq!(title([&Message::user("m", text)]), expected);
        let long = "x".repeat(1 << 20);
        assert_eq!(title([&Message::user("m", long)]).chars().count(), LONGEST);
        for hostile in ["[", "<", "![", "[a](", "<a ", "# "] {
            let text = hostile.repeat(1 << 18);
            assert!(title([&Message::user("m", text)]).chars().count() <= LONGEST);
        }
    }
}
