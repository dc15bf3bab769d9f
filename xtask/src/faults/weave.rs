//! All faults of a file in one text: each changed function body stands before the function's own, and a switch chooses.
//!
//! So one build holds them all, and trying one costs no more than a run of the tests. What is not changed is linted as it
//! is in the repository.

use std::{collections::BTreeMap, fmt::Write, ops::Range};

/// The module that is put into the crate: it says which fault is on.
pub(crate) const SWITCH: &str = r#"
#[allow(missing_docs, clippy::disallowed_methods)]
pub(crate) mod __fault {
    static ON: std::sync::LazyLock<usize> = std::sync::LazyLock::new(|| {
        std::env::var("STEPWELL_FAULT").map_or(usize::MAX, |number| number.parse().expect("a number"))
    });
    #[inline]
    pub(crate) fn on() -> usize {
        *ON
    }
}
"#;

/// The variable that chooses a fault for a program that holds them all.
pub(crate) const VARIABLE: &str = "STEPWELL_FAULT";

/// A place in a function that a fault changes. The ranges are bytes of the file.
#[derive(Debug)]
pub(crate) struct Change {
    /// The fault's number; it may have changes in several places.
    pub(crate) number: usize,
    /// The body of the function, without its braces.
    pub(crate) body: Range<usize>,
    /// What is replaced.
    pub(crate) range: Range<usize>,
    pub(crate) replacement: String,
}

/// A file with its faults in it.
#[derive(Debug)]
pub(crate) struct Woven {
    pub(crate) text: String,
    /// The lines that each fault has for its own, from 1.
    lines: Vec<(Range<usize>, usize)>,
}

impl Woven {
    /// The fault that a line was written for.
    pub(crate) fn fault_at(&self, line: usize) -> Option<usize> {
        let mut lines = self.lines.iter();
        let found = lines.find(|(lines, _)| lines.contains(&line));
        found.map(|(_, number)| *number)
    }
}

/// Puts in the changes.
pub(crate) fn weave(source: &str, changes: Vec<Change>) -> Woven {
    let mut bodies: BTreeMap<(usize, usize), BTreeMap<usize, Vec<Change>>> = BTreeMap::new();
    for change in changes {
        let body = (change.body.start, change.body.end);
        let of_body = bodies.entry(body).or_default();
        of_body.entry(change.number).or_default().push(change);
    }
    let mut text = String::with_capacity(source.len() * 4);
    let mut lines = Vec::new();
    let mut copied = 0;
    for ((start, end), faults) in bodies {
        text.push_str(&source[copied..start]);
        copied = start;
        text.push_str("let __fault = crate::__fault::on();\n");
        for (number, mut changes) in faults {
            changes.sort_by_key(|change| change.range.start);
            let begin = 1 + text.matches('\n').count();
            let _ = write!(
                text,
                "#[allow(warnings)] {{ if __fault == {number} {{ return {{ "
            );
            let mut at = start;
            for change in changes {
                text.push_str(&source[at..change.range.start]);
                text.push_str(&change.replacement);
                at = change.range.end;
            }
            text.push_str(&source[at..end]);
            text.push_str("\n}; } }\n");
            lines.push((begin..1 + text.matches('\n').count(), number));
        }
    }
    text.push_str(&source[copied..]);
    Woven { text, lines }
}

#[cfg(test)]
mod tests {
    use super::{Change, weave};

    const SOURCE: &str = "fn f() -> u8 {\n    let a = 'ü';\n    a + b\n}\n";

    /// A change of this text, in the one function's body.
    fn change(number: usize, text: &str, replacement: &str) -> Change {
        let start = SOURCE.find(text).unwrap();
        Change {
            number,
            body: SOURCE.find("let").unwrap()..SOURCE.find("\n}").unwrap(),
            range: start..start + text.len(),
            replacement: replacement.to_owned(),
        }
    }

    #[test]
    fn every_fault_is_a_body_of_its_own_and_the_last_one_is_as_it_was() {
        let whole = "let a = 'ü';\n    a + b";
        let woven = weave(
            SOURCE,
            vec![
                change(0, whole, "0"),
                change(1, "+", "-"),
                change(1, "'ü'", "2"),
            ],
        );
        let expected = "fn f() -> u8 {\n    let __fault = crate::__fault::on();\n\
                        #[allow(warnings)] { if __fault == 0 { return { 0\n}; } }\n\
                        #[allow(warnings)] { if __fault == 1 { return { let a = 2;\n    a - b\n}; } }\n\
                        let a = 'ü';\n    a + b\n}\n";
        assert_eq!(woven.text, expected);
        let lines: Vec<_> = (1..=8).map(|line| woven.fault_at(line)).collect();
        let own = [
            None,
            None,
            Some(0),
            Some(0),
            Some(1),
            Some(1),
            Some(1),
            None,
        ];
        assert_eq!(lines, own);
    }

    #[test]
    fn a_file_without_faults_is_as_it_was() {
        assert_eq!(weave(SOURCE, Vec::new()).text, SOURCE);
    }
}
