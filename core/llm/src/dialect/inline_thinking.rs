//! Thinking that a server sends within the answer's text, between `<think>` and `</think>`.

use crate::provider::ThinkTags;
use serde::{Deserialize, Serialize};

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";

/// The maximum white space before the opening tag, in bytes. An answer that begins with more is text.
const MAX_SPACE_BYTES: usize = 64;

/// Separates the thinking from the text of one answer. It holds no text but the white space and the part of a tag at
/// which the last delta ended, so that the blocks of an answer do not depend on where its text was cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct InlineThinking {
    tags: ThinkTags,
    place: Place,
    /// The white space at the start of the answer, which belongs to the text if no tag follows.
    #[serde(skip_serializing_if = "String::is_empty")]
    space: String,
    /// The number of bytes of the next tag that have arrived.
    matched: usize,
}

/// The place in the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    /// Before the opening tag, if there is one.
    Start,
    /// After the opening tag, with nothing but white space since.
    Opened,
    /// Within the thinking.
    Thinking,
    /// After the closing tag, with nothing but white space since.
    Closed,
    /// In the text, which has no more tags.
    #[default]
    Text,
}

/// A part of a delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Text(&'a str),
    Thinking(&'a str),
}

impl InlineThinking {
    pub(super) fn new(tags: ThinkTags) -> Self {
        Self {
            tags,
            place: match tags {
                ThinkTags::Never => Place::Text,
                ThinkTags::AtStart | ThinkTags::EndOnly => Place::Start,
            },
            ..Self::default()
        }
    }

    /// Returns the tags that the server sends.
    pub(super) fn tags(&self) -> ThinkTags {
        self.tags
    }

    /// Returns whether the server sends no tags.
    pub(super) fn is_never(&self) -> bool {
        self.tags == ThinkTags::Never
    }

    /// Returns whether the next delta may hold thinking or a tag.
    #[inline]
    pub(super) fn is_splitting(&self) -> bool {
        self.place != Place::Text
    }

    /// Returns whether something of the answer has arrived and was not emitted.
    pub(super) fn holds_any(&self) -> bool {
        self.matched > 0 || !self.space.is_empty()
    }

    /// Emits the parts of a delta. None of them is empty, and a delta without a tag is one part.
    pub(super) fn split<E>(
        &mut self,
        delta: &str,
        mut emit: impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = delta;
        while !rest.is_empty() {
            match self.place {
                Place::Start => {
                    if self.matched == 0 {
                        let text = rest.trim_start();
                        let space = &rest[..rest.len() - text.len()];
                        if self.space.len() + space.len() > MAX_SPACE_BYTES {
                            self.begin_without_tag(&mut emit)?;
                            continue;
                        }
                        self.space.push_str(space);
                        rest = text;
                    }
                    match self.take_tag(OPENING, &mut rest) {
                        Some(true) => {
                            self.space.clear();
                            self.place = Place::Opened;
                        }
                        Some(false) => {}
                        None => self.begin_without_tag(&mut emit)?,
                    }
                }
                Place::Opened => {
                    rest = rest.trim_start();
                    if !rest.is_empty() {
                        self.place = Place::Thinking;
                    }
                }
                Place::Thinking => {
                    if self.matched == 0 {
                        let at = find_closing(rest);
                        let (thinking, tag) = rest.split_at(at);
                        if !thinking.is_empty() {
                            emit(Part::Thinking(thinking))?;
                        }
                        rest = tag;
                    }
                    match self.take_tag(CLOSING, &mut rest) {
                        Some(true) => self.place = Place::Closed,
                        Some(false) => {}
                        None => self.emit_no_tag(&mut emit)?,
                    }
                }
                Place::Closed => {
                    rest = rest.trim_start();
                    if !rest.is_empty() {
                        self.place = Place::Text;
                    }
                }
                Place::Text => return emit(Part::Text(rest)),
            }
        }
        Ok(())
    }

    /// Emits what is held, since the text is interrupted or over: the rest of the answer is text.
    pub(super) fn end<E>(
        &mut self,
        mut emit: impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.place == Place::Start {
            self.begin_without_tag(&mut emit)?;
        }
        self.emit_no_tag(&mut emit)?;
        self.place = Place::Text;
        Ok(())
    }

    /// Takes the next bytes of a tag from `rest`. Returns whether the tag is complete, or `None` if the text is no tag.
    fn take_tag(&mut self, tag: &str, rest: &mut &str) -> Option<bool> {
        let missing = &tag[self.matched..];
        if let Some(after) = rest.strip_prefix(missing) {
            *rest = after;
            self.matched = 0;
            Some(true)
        } else if missing.starts_with(*rest) {
            self.matched += rest.len();
            *rest = "";
            Some(false)
        } else {
            None
        }
    }

    /// Emits the start of an answer that begins with no tag.
    fn begin_without_tag<E>(
        &mut self,
        emit: &mut impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut held = std::mem::take(&mut self.space);
        let matched = &OPENING[..self.matched];
        if self.tags == ThinkTags::EndOnly {
            // The white space is dropped, as after a tag.
            self.place = match matched {
                "" => Place::Opened,
                _ => Place::Thinking,
            };
            // Both tags begin alike.
            if CLOSING.starts_with(matched) {
                return Ok(());
            }
            self.matched = 0;
            return emit(Part::Thinking(matched));
        }
        self.matched = 0;
        self.place = Place::Text;
        held.push_str(matched);
        match &*held {
            "" => Ok(()),
            held => emit(Part::Text(held)),
        }
    }

    /// Emits the part of a closing tag that was none.
    fn emit_no_tag<E>(
        &mut self,
        emit: &mut impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match std::mem::take(&mut self.matched) {
            0 => Ok(()),
            matched => emit(Part::Thinking(&CLOSING[..matched])),
        }
    }
}

/// Returns where the closing tag begins, or the part of it at which the text ends; the text's length if neither does.
fn find_closing(text: &str) -> usize {
    text.find(CLOSING)
        .or_else(|| {
            text.rfind('<')
                .filter(|at| CLOSING.starts_with(&text[*at..]))
        })
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn split(tags: ThinkTags, deltas: &[&str]) -> (String, String, usize) {
        let (mut thinking, mut text, mut parts) = (String::new(), String::new(), 0);
        let mut emit = |part: Part<'_>| {
            parts += 1;
            match part {
                Part::Thinking(part) => {
                    assert!(
                        !part.is_empty() && text.is_empty(),
                        "{part:?} after {text:?}"
                    );
                    thinking.push_str(part);
                }
                Part::Text(part) => {
                    assert!(!part.is_empty());
                    text.push_str(part);
                }
            }
            Ok::<_, Infallible>(())
        };
        let mut inline = InlineThinking::new(tags);
        for delta in deltas {
            inline.split(delta, &mut emit).expect("no error");
        }
        inline.end(&mut emit).expect("no error");
        assert!(!inline.is_splitting() && !inline.holds_any());
        (thinking, text, parts)
    }

    #[test]
    fn tags_count_at_the_start_alone() {
        for (answer, thinking, text) in [
            ("<think>\nOkay.\n</think>\n\nHello", "Okay.\n", "Hello"),
            (" \n<think>a</think>b", "a", "b"),
            ("<think>\n\n</think>\n\nHello", "", "Hello"),
            ("<think>a < b </thin k></think>c", "a < b </thin k>", "c"),
            ("<think>a<</think>b", "a<", "b"),
            ("<think>never closed</thi", "never closed</thi", ""),
            (
                "<think>a</think>b<think>c</think>",
                "a",
                "b<think>c</think>",
            ),
            ("<think>a<think>b</think>c", "a<think>b", "c"),
            ("Hello <think>a</think>", "", "Hello <think>a</think>"),
            ("  indented", "", "  indented"),
            ("<thinking>a", "", "<thinking>a"),
            (" <thi", "", " <thi"),
            ("a</think>b", "", "a</think>b"),
            ("", "", ""),
            (" ", "", " "),
        ] {
            let (found, rest, _) = split(ThinkTags::AtStart, &[answer]);
            assert_eq!((&*found, &*rest), (thinking, text), "{answer:?}");
        }
    }

    #[test]
    fn the_opening_tag_may_be_in_the_prompt() {
        for (answer, thinking, text) in [
            ("Okay.\n</think>\n\nHello", "Okay.\n", "Hello"),
            ("<think>Okay.</think>Hello", "Okay.", "Hello"),
            ("</think>Hello", "", "Hello"),
            ("<thought", "<thought", ""),
            (" \n a", "a", ""),
        ] {
            let (found, rest, _) = split(ThinkTags::EndOnly, &[answer]);
            assert_eq!((&*found, &*rest), (thinking, text), "{answer:?}");
        }
    }

    #[test]
    fn white_space_without_a_tag_is_bounded() {
        let space = " ".repeat(MAX_SPACE_BYTES + 1);
        let answer = format!("{space}<think>a</think>b");
        assert_eq!(split(ThinkTags::AtStart, &[&answer]).1, answer);
        let mut inline = InlineThinking::new(ThinkTags::AtStart);
        for _ in 0..1000 {
            let _ = inline.split(" ", |_| Ok::<_, Infallible>(()));
            assert!(inline.space.len() <= MAX_SPACE_BYTES);
        }
    }

    #[test]
    fn a_delta_without_a_tag_is_one_part() {
        let (_, _, parts) = split(
            ThinkTags::AtStart,
            &["<think>", "a < b", " </b>", "</think>", "c < d"],
        );
        assert_eq!(parts, 3);
    }

    #[test]
    fn no_tag_counts_where_the_server_sends_none() {
        let inline = InlineThinking::new(ThinkTags::Never);
        assert!(inline.is_never() && !inline.is_splitting());
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_parts(
            words in prop::collection::vec(
                prop::sample::select(vec!["<think>", "</think>", "<", "</", "think>", "\n", " ", "a", "é", "<thi"]),
                0..12,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
            end_only in any::<bool>(),
        ) {
            let tags = if end_only { ThinkTags::EndOnly } else { ThinkTags::AtStart };
            let answer = words.concat();
            let places: Vec<_> = answer.char_indices().map(|(at, _)| at).chain([answer.len()]).collect();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| *cut.get(&places)).chain([0, answer.len()]).collect();
            cuts.sort_unstable();
            let deltas: Vec<_> = cuts.windows(2).map(|cut| &answer[cut[0]..cut[1]]).collect();
            let (thinking, text, _) = split(tags, &deltas);
            let (all_thinking, all_text, _) = split(tags, &[&answer]);
            prop_assert_eq!((thinking, text), (all_thinking, all_text));
        }
    }
}
