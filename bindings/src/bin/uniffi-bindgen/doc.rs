//! Documentation in a language's own words: its names for fields and values, its marks for code.

use crate::model::{Kind, Shape};

/// How a language writes what a documentation names.
pub(crate) struct Style {
    /// What stands on both sides of code.
    pub(crate) mark: &'static str,
    /// A field's or method's name.
    pub(crate) name: fn(&str) -> String,
    /// The value of an enum, after its Rust name.
    pub(crate) value: fn(&str) -> String,
    /// What stands for a value that is not there.
    pub(crate) null: &'static str,
}

impl Style {
    /// The documentation as this language has it; `of` is what it tells of, if that is an enum.
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

    /// The same in lines of at most `width` columns, each paragraph by itself.
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
        if let Some(Kind::Enum(variants)) = of.map(|shape| &shape.kind)
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
    fn what_a_documentation_names_is_in_the_languages_words() {
        let warn = Variant {
            name: "Warn".to_owned(),
            doc: String::new(),
            fields: Vec::new(),
        };
        let of = Shape {
            name: "Rules".to_owned(),
            doc: String::new(),
            kind: Kind::Enum(vec![warn]),
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
    fn paragraphs_are_wrapped_by_themselves() {
        let lines = STYLE.lines("One two three.\n\nFour.", None, 8);
        assert_eq!(lines, ["One two", "three.", "", "Four."]);
    }
}
