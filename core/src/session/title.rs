use crate::event::{ContentPart, Message, MessageContent};
use crate::tool::one_line;

/// The maximum number of characters of a title.
const LONGEST: usize = 60;

/// Returns the title of a conversation: the beginning of the user's first message in one line, without markup; empty if the
/// message has no words.
#[must_use]
pub fn title<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let said = messages.into_iter().find_map(|message| match message {
        Message::User(message) => Some(own_words(&message.content)),
        _ => None,
    });
    said.map_or_else(String::new, |text| one_line(&plain(&text), LONGEST))
}

/// Returns the text that the user wrote, without the text files attached to it; the name of the first file if there is
/// no text.
fn own_words(content: &MessageContent) -> String {
    let MessageContent::Parts(parts) = content else {
        return content.to_text();
    };
    let texts = parts.iter().filter_map(|part| match part {
        ContentPart::Text(part) => Some(part.text.as_str()),
        _ => None,
    });
    let (files, said): (Vec<_>, Vec<_>) = texts.partition(|text| file_name(text).is_some());
    if said.iter().all(|text| text.trim().is_empty()) {
        let name = files.first().and_then(|file| file_name(file));
        return name.unwrap_or_default().to_owned();
    }
    said.join("\n")
}

/// The name of a text file, if that is what a text is: its name and a colon, and then its text between fences.
fn file_name(text: &str) -> Option<&str> {
    let (name, rest) = text.split_once(":\n```")?;
    (!name.contains('\n') && rest.ends_with("```")).then_some(name)
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

/// Returns the text after a tag or a comment whose `<` was read.
fn tag(rest: &str) -> Option<&str> {
    let is_tag = rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!'));
    let end = rest.find('>').filter(|_| is_tag)?;
    Some(&rest[end + 1..])
}

/// Returns the text of a link whose `[` was read, and the text after the link.
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
    fn a_file_that_goes_with_a_message_is_no_title() {
        let part = |text: &str| serde_json::json!({ "type": "text", "text": text });
        let file = part("notes.txt:\n```\nline 1\nline 2\n```");
        for (parts, expected) in [
            (vec![part("Look"), file.clone()], "Look"),
            (
                vec![part("Look at"), file.clone(), part("this")],
                "Look at this",
            ),
            (vec![file], "notes.txt"),
            (
                vec![part("In Rust:\n```\nfn\n``` is a word")],
                "In Rust: fn is a word",
            ),
            (vec![], ""),
        ] {
            let message = serde_json::json!({ "id": "m", "role": "user", "content": parts });
            let message: Message = serde_json::from_value(message).unwrap();
            assert_eq!(title([&message]), expected);
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
