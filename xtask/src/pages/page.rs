//! A page as Markdown: its blocks of code with their marks, and its links.

use super::marks::{self, Marks};
use anyhow::Context as _;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::path::{Path, PathBuf};

/// A page.
pub(crate) struct Page {
    /// From the repository's root.
    pub(crate) path: PathBuf,
    pub(crate) lines: usize,
    pub(crate) blocks: Vec<Block>,
    /// Where its links go.
    pub(crate) links: Vec<String>,
    /// What is said once of every block of a language: `<!-- every dart block: … -->`.
    pub(crate) of_language: Vec<(String, String)>,
}

/// A block of code.
#[derive(Debug)]
pub(crate) struct Block {
    /// The first word after the fence.
    pub(crate) language: String,
    pub(crate) text: String,
    /// Where it begins.
    pub(crate) line: usize,
    pub(crate) marks: Marks,
}

impl Page {
    pub(crate) fn parse(path: &Path, text: &str) -> anyhow::Result<Self> {
        let mut page = Self {
            path: path.to_owned(),
            lines: text.lines().count(),
            blocks: Vec::new(),
            links: Vec::new(),
            of_language: Vec::new(),
        };
        let mut comments: Vec<String> = Vec::new();
        let mut block: Option<Block> = None;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let line = text[..range.start].lines().count() + 1;
            match event {
                Event::Html(html) => comments.push(html.into_string()),
                Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
                Event::Start(Tag::CodeBlock(kind)) => {
                    let mut marks = Marks::default();
                    for comment in comments.drain(..) {
                        match of_language(&comment) {
                            Some(said) => page.of_language.push(said),
                            None => {
                                let read = marks.add(&comment);
                                read.with_context(|| format!("line {line}"))?;
                            }
                        }
                    }
                    let language = match &kind {
                        CodeBlockKind::Fenced(info) => {
                            info.split([',', ' ']).next().unwrap_or_default()
                        }
                        CodeBlockKind::Indented => "",
                    };
                    block = Some(Block {
                        language: language.to_owned(),
                        text: String::new(),
                        line,
                        marks,
                    });
                }
                Event::End(TagEnd::CodeBlock) => page.blocks.extend(block.take()),
                Event::Text(piece) => match &mut block {
                    Some(block) => block.text.push_str(&piece),
                    None => comments.clear(),
                },
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    comments.clear();
                    page.links.push(dest_url.into_string());
                }
                _ => comments.clear(),
            }
        }
        Ok(page)
    }
}

/// The language and what is said of all its blocks.
fn of_language(comment: &str) -> Option<(String, String)> {
    let (name, said) = marks::said(comment)?;
    let language = name.strip_prefix("every ")?.strip_suffix(" block")?;
    Some((language.to_owned(), said.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::Page;
    use std::path::Path;

    const PAGE: &str = "\
# A page

<!-- not run: of no block -->
[Elsewhere](https://example.org).

<!-- in: app -->
<!-- file: a.py -->
```python
print()
```

<!-- every dart block: no compiler -->
```dart
main() {}
```
";

    #[test]
    fn marks_are_of_the_block_that_follows_them() {
        let page = Page::parse(Path::new("page.md"), PAGE).unwrap();
        assert_eq!(page.links, ["https://example.org"]);
        assert_eq!(page.of_language.len(), 1);
        let [python, dart] = &page.blocks[..] else {
            panic!("{:?}", page.blocks)
        };
        assert_eq!((python.language.as_str(), python.line), ("python", 8));
        assert_eq!(python.text, "print()\n");
        assert_eq!(python.marks.folder.as_deref(), Some("app"));
        assert_eq!(python.marks.file.as_deref(), Some("a.py"));
        assert_eq!(python.marks.not_run, None);
        assert_eq!(dart.language, "dart");
    }

    #[test]
    fn a_mark_that_is_none_is_named_with_its_line() {
        let wrong = Page::parse(Path::new("page.md"), "<!-- run: x -->\n```sh\nls\n```\n");
        let said = format!("{:#}", wrong.err().unwrap());
        assert_eq!(said, "line 2: there is no mark `run`");
    }
}
