//! The mutants, as cargo-mutants lists them.

use crate::faults::weave::Change;
use anyhow::Context as _;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// One small fault: a piece of a source file, and what stands there instead.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Mutant {
    pub(super) file: String,
    function: Option<Function>,
    genre: String,
    /// As a user reads it, with file, line and column.
    pub(super) name: String,
    replacement: String,
    span: Span,
}

#[derive(Clone, Debug, Deserialize)]
struct Function {
    return_type: String,
    span: Span,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    start: Place,
    end: Place,
}

/// Both from 1; the column counts characters.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    line: usize,
    column: usize,
}

impl Mutant {
    /// The function that it changes, if that can have a changed body beside its own: `None` for a constant, and for a
    /// function of a type without a name, which two bodies would give two of.
    pub(super) fn function(&self) -> Option<Span> {
        let function = self.function.as_ref()?;
        let is_nameless = function.return_type.contains("impl ");
        (!is_nameless).then_some(function.span)
    }

    /// The file and the function whose whole body it replaces, if it does.
    pub(super) fn body(&self) -> Option<(&str, Span)> {
        let function = self.function().filter(|_| self.genre == "FnValue")?;
        Some((&self.file, function))
    }

    /// Whether it lies in one of these functions.
    pub(super) fn is_within(&self, functions: &BTreeSet<(&str, Span)>) -> bool {
        let function = self.function();
        function.is_some_and(|function| functions.contains(&(&self.file, function)))
    }

    /// The bytes of the source that it replaces.
    fn range(&self, source: &str) -> Option<Range<usize>> {
        Some(byte(source, self.span.start)?..byte(source, self.span.end)?)
    }

    /// What it changes in its function, whose body is one of these; `None` where it changes no such function.
    pub(super) fn change(
        &self,
        number: usize,
        source: &str,
        bodies: &BTreeMap<Span, Range<usize>>,
    ) -> anyhow::Result<Option<Change>> {
        let Some(body) = self.function().and_then(|function| bodies.get(&function)) else {
            return Ok(None);
        };
        Ok(Some(Change {
            number,
            body: body.clone(),
            range: self.range(source).context("it lies in another file")?,
            replacement: self.replacement.clone(),
        }))
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

/// Where a place of the source lies, in bytes.
fn byte(source: &str, place: Place) -> Option<usize> {
    let lines = source.split_inclusive('\n');
    let before: usize = lines.take(place.line.checked_sub(1)?).map(str::len).sum();
    let rest = source.get(before..)?;
    let line = rest.split_inclusive('\n').next().unwrap_or("");
    let mut columns = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    Some(before + columns.nth(place.column.checked_sub(1)?)?)
}

#[cfg(test)]
mod tests {
    use super::{Mutant, Place, bodies, byte};
    use serde_json::json;

    const SOURCE: &str = "fn f() -> u8 {\n    let a = 'ü';\n    a + b\n}\n";

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

    #[test]
    fn a_mutant_that_is_asked_for_alone_stands_in_the_body_that_another_one_tells() {
        let all = mutants();
        let known = all.iter().filter_map(Mutant::body).collect();
        assert!(all[1].is_within(&known));
        assert!(!all[1].is_within(&all[1..].iter().filter_map(Mutant::body).collect()));
        let change = all[1].change(7, SOURCE, &bodies(SOURCE, &all)).unwrap();
        let change = change.unwrap();
        assert_eq!((change.number, &SOURCE[change.range]), (7, "+"));
        assert_eq!(&SOURCE[change.body], "let a = 'ü';\n    a + b");
        assert!(
            all[1]
                .change(7, SOURCE, &bodies(SOURCE, &all[1..]))
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_place_counts_characters() {
        let source = "one\nü two\n";
        let at = |line, column| byte(source, Place { line, column });
        assert_eq!(at(1, 1), Some(0));
        assert_eq!(at(2, 3).map(|at| &source[at..]), Some("two\n"));
        assert_eq!(at(0, 1), None);
        assert_eq!(at(2, 30), None);
    }
}
