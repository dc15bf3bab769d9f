//! The mutants, as cargo-mutants lists them.

use serde::Deserialize;
use std::{collections::BTreeSet, ops::Range};

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
    pub(super) fn range(&self, source: &str) -> Option<Range<usize>> {
        Some(byte(source, self.span.start)?..byte(source, self.span.end)?)
    }

    pub(super) fn replacement(&self) -> &str {
        &self.replacement
    }
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
    use super::{Place, byte};

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
