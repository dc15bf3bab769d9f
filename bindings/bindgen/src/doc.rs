//! Rewrites documentation for a language: its names of fields and values, its marks for code.

use crate::model::{Shape, ShapeKind};

/// A language's names and marks in documentation.
pub(crate) struct Style {
    /// The mark on both sides of code.
    pub(crate) mark: &'static str,
    /// Converts the name of a field or a method.
    pub(crate) name: fn(&str) -> String,
    /// Converts the name of an enum's value.
    pub(crate) value: fn(&str) -> String,
    /// The name of an absent value.
    pub(crate) null: &'static str,
}

impl Style {
    /// Rewrites a documentation; `of` is the enum that it describes, if there is one.
    pub(crate) fn text(&self, doc: &str, of: Option<&Shape>) -> String {
        let mut text = String::with_capacity(doc.len());
        for (number, part) in doc.split('`').enumerate() {
            if number % 2 == 0 {
                text.push_str(part);
            } else {
                text.push_str(self.mark);
                text.push_str(&self.code(part, of));
                text.push_str(self.mark);
            }
        }
        text
    }

    /// Rewrites a documentation and wraps each paragraph into lines of at most `width` columns.
    pub(crate) fn lines(&self, doc: &str, of: Option<&Shape>, width: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let options = textwrap::Options::new(width)
            .break_words(false)
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit);
        for paragraph in self.text(doc, of).split("\n\n") {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            let wrapped = textwrap::wrap(paragraph, &options);
            lines.extend(wrapped.into_iter().map(String::from));
        }
        lines
    }

    fn code(&self, code: &str, of: Option<&Shape>) -> String {
        if code == "null" {
            return self.null.to_owned();
        }
        if let Some(ShapeKind::Enum(variants)) = of.map(|shape| &shape.kind)
            && variants.iter().any(|variant| variant.name == code)
        {
            return (self.value)(code);
        }
        let is_name = |part: &str| {
            let mut letters = part.chars();
            letters.next().is_some_and(char::is_lowercase)
                && part.contains('_')
                && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        let parts = code.split('.').map(|part| {
            if is_name(part) {
                (self.name)(part)
            } else {
                part.to_owned()
            }
        });
        parts.collect::<Vec<_>>().join(".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Variant;

    const STYLE: Style = Style {
        mark: "``",
        name: |rust| rust.to_uppercase(),
        value: |name| name.to_lowercase(),
        null: "None",
    };

    #[test]
    fn names_are_converted() {
        let warn = Variant {
            name: "Warn".to_owned(),
            doc: String::new(),
            fields: Vec::new(),
        };
        let of = Shape {
            name: "Rules".to_owned(),
            doc: String::new(),
            kind: ShapeKind::Enum(vec![warn]),
        };
        assert_eq!(
            STYLE.text(
                "`at_limit`, `Limits.max_tokens`, `Warn`, `null`, `Other`, `text`, `Last-Event-ID`",
                Some(&of)
            ),
            "``AT_LIMIT``, ``Limits.MAX_TOKENS``, ``warn``, ``None``, ``Other``, ``text``, ``Last-Event-ID``"
        );
    }

    #[test]
    fn paragraphs_are_wrapped_separately() {
        let lines = STYLE.lines("One two three.\n\nFour.", None, 8);
        assert_eq!(lines, ["One two", "three.", "", "Four."]);
    }
}
