//! Strings, read fragment by fragment.

use super::change::{Change, Feed};
use super::escape::{Escape, Step};
use super::expect::Expect;
use super::invalid::Stop;
use super::reader::Reader;
use crate::words;
use std::ops::Range;

/// The part of a string that is in one fragment.
struct Scan<'t> {
    text: &'t str,
    /// The position of the next byte.
    at: usize,
    /// The characters that are certain and not yet in the reader's `scratch`.
    plain: Range<usize>,
    escape: Escape,
    /// Whether the string is part of the value so far.
    is_shown: bool,
    /// Whether the feed is sent what the string grows by.
    is_reported: bool,
}

/// The reason why a scan stops.
enum ScanEnd {
    /// The string's closing quote.
    Quote,
    /// The end of the fragment.
    Fragment,
    /// A byte that no string may have here.
    Mistake(&'static str),
}

impl Reader {
    /// Continues a string whose opening quote is at `from`, and returns the position after what was read.
    pub(super) fn string(
        &mut self,
        text: &str,
        at: usize,
        (key, from, escape): (bool, usize, Escape),
        feed: &mut Feed<'_>,
    ) -> Result<usize, Stop> {
        let is_shown = !key && !self.withholds();
        let mut scan = Scan {
            text,
            at,
            plain: at..at,
            escape,
            is_shown,
            is_reported: is_shown && feed.listens(),
        };
        let end = self.scan(&mut scan);
        let Scan {
            at,
            plain,
            escape,
            is_reported,
            ..
        } = scan;
        if escape == Escape::None {
            self.show_up_to(plain.end, is_shown);
        }
        if is_reported {
            self.append(&text[plain], feed);
        }
        match end {
            ScanEnd::Quote if key => self.key_ended(text, from, at + 1)?,
            ScanEnd::Quote => {
                if is_reported {
                    feed.say(Change::End {
                        path: &self.pointer,
                    });
                }
                self.value_ended(text, at + 1, feed);
            }
            ScanEnd::Fragment => {
                self.expect = Expect::String { key, from, escape };
                return Ok(at);
            }
            ScanEnd::Mistake(reason) => {
                self.expect = Expect::String { key, from, escape };
                return Err(Stop::at(text, at, reason));
            }
        }
        Ok(at + 1)
    }

    fn scan(&mut self, scan: &mut Scan<'_>) -> ScanEnd {
        loop {
            let end = match scan.escape {
                Escape::None => self.scan_plain(scan),
                _ => self.scan_escape(scan),
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Reads characters that stand for themselves, up to an escape.
    #[inline]
    fn scan_plain(&mut self, scan: &mut Scan<'_>) -> Option<ScanEnd> {
        let bytes = scan.text.as_bytes();
        scan.at += words::plain(&bytes[scan.at..]);
        scan.plain.end = scan.at;
        match bytes.get(scan.at) {
            None => Some(ScanEnd::Fragment),
            Some(b'"') => Some(ScanEnd::Quote),
            Some(b'\\') => {
                if scan.is_reported {
                    self.scratch.push_str(&scan.text[scan.plain.clone()]);
                }
                // From here to the end of the escape nothing is certain.
                self.show_up_to(scan.at, scan.is_shown);
                scan.plain = scan.at..scan.at;
                scan.escape = Escape::Backslash;
                scan.at += 1;
                None
            }
            Some(_) => Some(ScanEnd::Mistake("a control character in a string")),
        }
    }

    /// Reads one byte of an escape.
    fn scan_escape(&mut self, scan: &mut Scan<'_>) -> Option<ScanEnd> {
        let Some(&byte) = scan.text.as_bytes().get(scan.at) else {
            return Some(ScanEnd::Fragment);
        };
        match scan.escape.step(byte) {
            Err(reason) => return Some(ScanEnd::Mistake(reason)),
            Ok(Step::Open(next)) => {
                scan.escape = next;
                scan.at += 1;
            }
            Ok(Step::Decoded {
                characters,
                next,
                takes_byte,
            }) => {
                scan.at += usize::from(takes_byte);
                if scan.is_reported {
                    self.scratch.extend(characters.into_iter().flatten());
                }
                scan.escape = next;
                scan.plain = scan.at..scan.at;
                self.show_up_to(scan.at - next.open_bytes(), scan.is_shown);
            }
        }
        None
    }

    fn show_up_to(&mut self, end: usize, is_shown: bool) {
        if is_shown {
            self.said = end;
        }
    }

    /// Reports what the string grew by: the content of `scratch`, and then `plain`.
    fn append(&mut self, plain: &str, feed: &mut Feed<'_>) {
        let text = if self.scratch.is_empty() {
            plain
        } else {
            self.scratch.push_str(plain);
            &self.scratch
        };
        if !text.is_empty() {
            feed.say(Change::Append {
                path: &self.pointer,
                text,
            });
        }
        self.scratch.clear();
    }
}
