//! Repairs frames that are not valid JSON, with mistakes that gateways and servers in JavaScript and Python make.
//!
//! - `NaN`, `Infinity` and `-Infinity` become null;
//! - of a key that comes twice in an object, the last one stays;
//! - half of a surrogate pair (`"\ud83d"`), which no text in Rust can hold, is written as [`halves`](super::halves) has
//!   it.

use super::halves;
use std::collections::BTreeSet;
use std::ops::Range;

/// The maximum nesting of a frame that is repaired.
const MAX_DEPTH: usize = 512;

/// Words for non-numbers that are not JSON.
const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];

/// Returns the frame as valid JSON, or `None` if it has none of these mistakes.
#[cold]
pub(super) fn mend(frame: &[u8]) -> Option<String> {
    let mut mender = Mender {
        frame,
        at: 0,
        out: Vec::with_capacity(frame.len()),
        open: Vec::new(),
        is_mended: false,
    };
    mender.run()?;
    String::from_utf8(mender.out)
        .ok()
        .filter(|_| mender.is_mended)
}

/// Repairs text whose halves of surrogate pairs are not joined later.
pub(crate) fn settled(text: &[u8]) -> Option<String> {
    mend(text).map(|mended| halves::settled(&mended).into_owned())
}

struct Mender<'a> {
    frame: &'a [u8],
    at: usize,
    out: Vec<u8>,
    open: Vec<Open>,
    is_mended: bool,
}

/// An open object or array.
enum Open {
    Array,
    Object {
        /// The positions of the members in the output.
        members: Vec<Member>,
        /// The next member.
        next: Member,
    },
}

#[derive(Default)]
struct Member {
    whole: Range<usize>,
    key: Option<Range<usize>>,
}

impl Mender<'_> {
    fn run(&mut self) -> Option<()> {
        while let Some(&byte) = self.frame.get(self.at) {
            match byte {
                b'"' => self.string()?,
                b'{' => {
                    self.copy(1)?;
                    let next = self.member();
                    let members = Vec::new();
                    self.open.push(Open::Object { members, next });
                }
                b'[' => {
                    self.copy(1)?;
                    self.open.push(Open::Array);
                }
                b',' => {
                    self.end_member();
                    self.copy(1)?;
                    let following = self.member();
                    if let Some(Open::Object { next, .. }) = self.open.last_mut() {
                        *next = following;
                    }
                }
                b'}' | b']' => {
                    self.end_member();
                    if let Open::Object { members, .. } = self.open.pop()? {
                        self.keep_last(&members);
                    }
                    self.copy(1)?;
                }
                b'N' | b'I' | b'-' => self.word()?,
                _ => self.copy(1)?,
            }
            if self.open.len() > MAX_DEPTH {
                return None;
            }
        }
        Some(())
    }

    /// Copies bytes unchanged.
    fn copy(&mut self, count: usize) -> Option<()> {
        let end = self.at.checked_add(count)?;
        self.out.extend_from_slice(self.frame.get(self.at..end)?);
        self.at = end;
        Some(())
    }

    fn member(&self) -> Member {
        Member {
            whole: self.out.len()..self.out.len(),
            key: None,
        }
    }

    fn end_member(&mut self) {
        let end = self.out.len();
        if let Some(Open::Object { members, next }) = self.open.last_mut() {
            let mut member = std::mem::take(next);
            member.whole.end = end;
            members.push(member);
        }
    }

    /// Removes all but the last member with each key from the object that ends here.
    fn keep_last(&mut self, members: &[Member]) {
        let mut known = BTreeSet::new();
        let mut kept: Vec<_> = members
            .iter()
            .rev()
            .filter(|member| match &member.key {
                Some(key) => known.insert(&self.out[key.clone()]),
                None => true,
            })
            .map(|member| &self.out[member.whole.clone()])
            .collect();
        if kept.len() == members.len() {
            return;
        }
        kept.reverse();
        let kept = kept.join(&b',');
        let start = members.first().map_or(0, |member| member.whole.start);
        self.out.truncate(start);
        self.out.extend_from_slice(&kept);
        self.is_mended = true;
    }

    fn word(&mut self) -> Option<()> {
        let rest = self.frame.get(self.at..)?;
        let Some(word) = WORDS.iter().find(|word| rest.starts_with(word)) else {
            return self.copy(1);
        };
        self.at += word.len();
        self.out.extend_from_slice(b"null");
        self.is_mended = true;
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        let start = self.out.len();
        self.copy(1)?;
        loop {
            let rest = self.frame.get(self.at..)?;
            self.copy(memchr::memchr2(b'"', b'\\', rest)?)?;
            let rest = self.frame.get(self.at..)?;
            if rest.starts_with(b"\"") {
                self.copy(1)?;
                break;
            }
            match code_unit(rest) {
                None => self.copy(2)?,
                Some(unit) if halves::is_high(unit) && is_low(rest.get(6..)) => self.copy(12)?,
                Some(unit) => match halves::written(unit) {
                    Some(half) => {
                        self.at += 6;
                        self.out.extend_from_slice(half.as_bytes());
                        self.is_mended = true;
                    }
                    None => self.copy(6)?,
                },
            }
        }
        let end = self.out.len();
        if let Some(Open::Object { next, .. }) = self.open.last_mut() {
            next.key.get_or_insert(start..end);
        }
        Some(())
    }
}

fn is_low(escape: Option<&[u8]>) -> bool {
    escape.and_then(code_unit).is_some_and(halves::is_low)
}

/// Returns the code unit of the `\uXXXX` that the text begins with.
fn code_unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some((unit << 4) | u16::try_from(digit).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn mended(frame: &str) -> Option<String> {
        mend(frame.as_bytes())
    }

    #[test]
    fn what_is_json_is_left_alone() {
        for frame in [
            r#"{"a":[1,-2.5e3,"NaN"],"b":{"a":"\ud83d\ude00\\ud83d"},"c":null}"#,
            "[]",
            "",
            "[DONE]",
            "<html>",
            r#"{"a":"b"#,
            r#"{"a":"\"#,
            "}]",
            "\u{1f642}",
        ] {
            assert_eq!(mended(frame), None, "{frame}");
        }
        assert_eq!(mended(&format!("{}NaN", "[".repeat(MAX_DEPTH + 1))), None);
        assert_eq!(mend(b"[NaN,\"\xff\"]"), None);
    }

    #[test]
    fn what_means_no_number_is_null() {
        assert_eq!(
            mended(r#"{"a": NaN, "b":[Infinity,-Infinity , -1],"NaN":"Infinity"}"#).as_deref(),
            Some(r#"{"a": null, "b":[null,null , -1],"NaN":"Infinity"}"#)
        );
    }

    #[test]
    fn the_last_of_a_key_that_comes_twice_stays() {
        for (frame, expected) in [
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (
                r#"{"u":null,"b":[{"x":{"y":1},"x":"\"x\""}], "u" : {"n":[1,2]} }"#,
                r#"{"b":[{"x":"\"x\""}], "u" : {"n":[1,2]} }"#,
            ),
            (r#"[{"a":1,"a":2,"a":3},{"a":4}]"#, r#"[{"a":3},{"a":4}]"#),
        ] {
            assert_eq!(mended(frame).as_deref(), Some(expected));
        }
    }

    proptest! {
        /// The output reads like serde_json's reading of the frame, if serde_json accepts it: there the last key
        /// counts.
        #[test]
        fn only_what_is_doubled_goes(keys in prop::collection::vec("[a-c]", 0..6), more in "[\\[\\]{},:\"\\\\a-z0-9 ]{0,20}") {
            let members: Vec<_> = keys.iter().enumerate().map(|(at, key)| format!(r#""{key}":{{"{key}":{at}}}"#)).collect();
            let frame = format!("{{{}}}", members.join(","));
            let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
            let after = mended(&frame);
            prop_assert_eq!(read(after.as_deref().unwrap_or(&frame)), read(&frame));
            prop_assert_eq!(after.as_deref().and_then(mended), None);
            // Anything at all does no harm.
            let _ = mended(&more);
            let _ = mended(&format!("{frame}{more}"));
        }
    }
}
