//! All mutants of a file in one text: each changed function body stands before the function's own, and a switch chooses.
//!
//! So one build holds them all, and trying one costs no more than a run of the tests.

use super::list::{Mutant, Span};
use anyhow::Context as _;
use std::{collections::BTreeMap, fmt::Write, ops::Range};

/// The module that is put into the crate: it says which mutant is on.
pub(super) const SWITCH: &str = r#"
#[allow(missing_docs)]
pub(crate) mod __mutant {
    static ON: std::sync::LazyLock<usize> = std::sync::LazyLock::new(|| {
        std::env::var("STEPWELL_MUTANT").map_or(usize::MAX, |number| number.parse().expect("a number"))
    });
    #[inline]
    pub(crate) fn on() -> usize {
        *ON
    }
}
"#;

/// The variable that chooses a mutant for a program that holds them all.
pub(super) const VARIABLE: &str = "STEPWELL_MUTANT";

/// A file with its mutants in it.
#[derive(Debug)]
pub(super) struct Woven {
    pub(super) text: String,
    /// The lines that each mutant has for its own, from 1.
    lines: Vec<(Range<usize>, usize)>,
}

impl Woven {
    /// The mutant that a line was written for.
    pub(super) fn mutant_at(&self, line: usize) -> Option<usize> {
        let mut lines = self.lines.iter();
        let found = lines.find(|(lines, _)| lines.contains(&line));
        found.map(|(_, number)| *number)
    }
}

/// The bodies of the functions in a file. cargo-mutants tells them by the mutants that replace a body.
pub(super) fn bodies<'a>(
    source: &str,
    mutants: impl IntoIterator<Item = &'a Mutant>,
) -> BTreeMap<Span, Range<usize>> {
    let body = |mutant: &Mutant| Some((mutant.body()?.1, mutant.range(source)?));
    mutants.into_iter().filter_map(body).collect()
}

/// Puts in mutants with their numbers; each must change one of the functions.
pub(super) fn weave(
    source: &str,
    bodies: &BTreeMap<Span, Range<usize>>,
    mutants: &[(usize, &Mutant)],
) -> anyhow::Result<Woven> {
    let mut text = String::with_capacity(source.len() * 4);
    let mut lines = Vec::new();
    let mut copied = 0;
    for (function, body) in bodies {
        let mut of_function = mutants
            .iter()
            .filter(|(_, mutant)| mutant.function() == Some(*function))
            .peekable();
        if of_function.peek().is_none() {
            continue;
        }
        text.push_str(&source[copied..body.start]);
        copied = body.start;
        text.push_str("let __mutant = crate::__mutant::on();\n");
        for (number, mutant) in of_function {
            let range = mutant.range(source).context("it lies in another file")?;
            let begin = 1 + text.matches('\n').count();
            let _ = write!(
                text,
                "if __mutant == {number} {{ return {{ {}{}{}\n}}; }}\n",
                &source[body.start..range.start],
                mutant.replacement(),
                &source[range.end..body.end],
            );
            lines.push((begin..1 + text.matches('\n').count(), *number));
        }
    }
    text.push_str(&source[copied..]);
    Ok(Woven { text, lines })
}

#[cfg(test)]
mod tests {
    use super::{Mutant, bodies, weave};
    use serde_json::json;

    fn mutants() -> Vec<Mutant> {
        let span = |start: (usize, usize), end: (usize, usize)| {
            json!({
                "start": {"line": start.0, "column": start.1},
                "end": {"line": end.0, "column": end.1},
            })
        };
        let function = json!({"return_type": "-> u8", "span": span((1, 1), (4, 2))});
        let mutant = |genre: &str, replacement: &str, span| {
            json!({
                "file": "a.rs", "function": function, "genre": genre, "name": genre,
                "replacement": replacement, "span": span,
            })
        };
        let all = json!([
            mutant("FnValue", "0", span((2, 5), (3, 10))),
            mutant("BinaryOperator", "-", span((3, 7), (3, 8))),
        ]);
        serde_json::from_value(all).unwrap()
    }

    const SOURCE: &str = "fn f() -> u8 {\n    let a = 'ü';\n    a + b\n}\n";

    #[test]
    fn every_mutant_is_a_body_of_its_own_and_the_last_one_is_as_it_was() {
        let all = mutants();
        let bodies = bodies(SOURCE, &all);
        let woven = weave(SOURCE, &bodies, &[(0, &all[0]), (1, &all[1])]).unwrap();
        let expected = "fn f() -> u8 {\n    let __mutant = crate::__mutant::on();\n\
                        if __mutant == 0 { return { 0\n}; }\n\
                        if __mutant == 1 { return { let a = 'ü';\n    a - b\n}; }\n\
                        let a = 'ü';\n    a + b\n}\n";
        assert_eq!(woven.text, expected);
        let lines: Vec<_> = (1..=8).map(|line| woven.mutant_at(line)).collect();
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
    fn a_mutant_that_is_asked_for_alone_stands_in_the_body_that_another_one_tells() {
        let all = mutants();
        let known = all.iter().filter_map(Mutant::body).collect();
        assert!(all[1].is_within(&known));
        assert!(!all[1].is_within(&all[1..].iter().filter_map(Mutant::body).collect()));
        let woven = weave(SOURCE, &bodies(SOURCE, &all), &[(0, &all[1])]).unwrap();
        assert!(woven.text.contains("a - b"));
    }

    #[test]
    fn a_file_without_mutants_is_as_it_was() {
        let woven = weave(SOURCE, &bodies(SOURCE, &mutants()), &[]).unwrap();
        assert_eq!(woven.text, SOURCE);
    }
}
