//! The public names of Rust sources, with their documentation.

use anyhow::{Context as _, bail};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::{fs, path::Path};

/// A function, a type, or a field or variant of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The type that it is of, if it is of one.
    pub(super) of: Option<String>,
    pub(super) name: String,
    /// The first sentence of its documentation.
    pub(super) about: String,
    pub(super) is_function: bool,
    /// Whether it, or the block it stands in, has an attribute with `export`.
    pub(super) is_exported: bool,
}

/// Those of all files below a folder, or of one file.
pub(super) fn items(root: &Path, path: &str) -> anyhow::Result<Vec<Item>> {
    let mut items = Vec::new();
    read(&root.join(path), &mut items).with_context(|| format!("cannot read {path}"))?;
    Ok(items)
}

fn read(path: &Path, items: &mut Vec<Item>) -> anyhow::Result<()> {
    if path.is_dir() {
        let mut entries: Vec<_> = fs::read_dir(path)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(fs::DirEntry::path);
        for entry in entries {
            read(&entry.path(), items)?;
        }
    } else if path.extension().is_some_and(|ending| ending == "rs") {
        let Ok(tokens) = fs::read_to_string(path)?.parse::<TokenStream>() else {
            bail!("{} is no Rust", path.display());
        };
        items.extend(Reader::new(None, false).items(tokens));
    }
    Ok(())
}

/// What stands before an item.
#[derive(Default)]
struct Before {
    doc: Vec<String>,
    is_exported: bool,
    is_public: bool,
    is_for_tests: bool,
}

struct Reader {
    of: Option<String>,
    is_exported: bool,
    found: Vec<Item>,
}

impl Reader {
    const fn new(of: Option<String>, is_exported: bool) -> Self {
        Self {
            of,
            is_exported,
            found: Vec::new(),
        }
    }

    /// The items of a file, or of an `impl`.
    fn items(mut self, tokens: TokenStream) -> Vec<Item> {
        let mut tokens = tokens.into_iter().peekable();
        let mut before = Before::default();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    if let Some(TokenTree::Group(group)) = tokens.peek() {
                        before.attribute(&group.stream());
                        tokens.next();
                    }
                }
                TokenTree::Punct(mark) if mark.as_char() == ';' => before = Before::default(),
                TokenTree::Ident(word) => match word.to_string().as_str() {
                    "pub" => {
                        // `pub(crate)` is not for users.
                        before.is_public = !matches!(tokens.peek(), Some(TokenTree::Group(_)));
                    }
                    "fn" => {
                        if let Some(TokenTree::Ident(name)) = tokens.next() {
                            self.found(&name.to_string(), &before, true);
                        }
                    }
                    "struct" | "enum" | "trait" => {
                        if let Some(TokenTree::Ident(name)) = tokens.next() {
                            let name = name.to_string();
                            self.found(&name, &before, false);
                            if let Some(body) = body(&mut tokens)
                                && before.is_public
                                && word != "trait"
                            {
                                self.found.extend(fields(&name, body, word == "struct"));
                            }
                            before = Before::default();
                        }
                    }
                    "impl" => {
                        let mut head = Vec::new();
                        let mut inside = None;
                        for token in tokens.by_ref() {
                            match token {
                                TokenTree::Group(group)
                                    if group.delimiter() == Delimiter::Brace =>
                                {
                                    inside = Some(group.stream());
                                    break;
                                }
                                other => head.push(other.to_string()),
                            }
                        }
                        let of_trait = head.iter().any(|word| word == "for");
                        if let (Some(inside), false, false) =
                            (inside, of_trait, before.is_for_tests)
                        {
                            let reader = Self::new(owner(&head), before.is_exported);
                            self.found.extend(reader.items(inside));
                        }
                        before = Before::default();
                    }
                    _ => {}
                },
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    before = Before::default();
                }
                _ => {}
            }
        }
        self.found
    }

    fn found(&mut self, name: &str, before: &Before, is_function: bool) {
        if before.is_public && !before.is_for_tests {
            self.found.push(Item {
                of: self.of.clone(),
                name: name.to_owned(),
                about: first_sentence(&before.doc),
                is_function,
                is_exported: self.is_exported || before.is_exported,
            });
        }
    }
}

impl Before {
    fn attribute(&mut self, attribute: &TokenStream) {
        let mut tokens = attribute.clone().into_iter();
        let first = tokens.next().map(|token| token.to_string());
        if first.as_deref() == Some("doc")
            && let Some(TokenTree::Literal(text)) = tokens.nth(1)
        {
            let text = text.to_string();
            self.doc.push(text.trim_matches('"').trim().to_owned());
        }
        let words = attribute.to_string();
        if first.as_deref() == Some("cfg_attr")
            && words.contains("doc")
            && !words.contains("not")
            && let Some(TokenTree::Group(group)) = attribute.clone().into_iter().nth(1)
            && let Some(TokenTree::Literal(text)) = group.stream().into_iter().last()
        {
            let text = text.to_string();
            self.doc.push(text.trim_matches('"').trim().to_owned());
        }
        self.is_exported |= words.contains("export");
        self.is_for_tests |= first.as_deref() == Some("cfg") && words.contains("test");
    }
}

/// The braces of a type, if it has some: a struct of nothing, or of a tuple, has none.
fn body(tokens: &mut impl Iterator<Item = TokenTree>) -> Option<TokenStream> {
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                return Some(group.stream());
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => return None,
            _ => {}
        }
    }
    None
}

/// Fields that are public, and variants: what an identifier stands for at the beginning of a part between commas.
fn fields(of: &str, body: TokenStream, is_struct: bool) -> Vec<Item> {
    let mut items = Vec::new();
    let mut is_public = !is_struct;
    let mut before = Before::default();
    let mut is_new = true;
    let mut depth = 0_i32;
    let mut tokens = body.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' && is_new => {
                if let Some(TokenTree::Group(group)) = tokens.next() {
                    before.attribute(&group.stream());
                }
            }
            TokenTree::Punct(mark) => match mark.as_char() {
                '<' => depth += 1,
                '>' => depth -= 1,
                ',' if depth == 0 => {
                    (before, is_new, is_public) = (Before::default(), true, !is_struct);
                }
                _ => {}
            },
            TokenTree::Ident(word) if is_new && word == "pub" => {
                is_public = !matches!(tokens.peek(), Some(TokenTree::Group(_)));
            }
            TokenTree::Ident(word) if is_new => {
                if is_public {
                    items.push(Item {
                        of: Some(of.to_owned()),
                        name: word.to_string(),
                        about: first_sentence(&before.doc),
                        is_function: false,
                        is_exported: false,
                    });
                }
                is_new = false;
            }
            _ => {}
        }
    }
    items
}

/// The type of `impl<…> module::Type<…>`.
fn owner(head: &[String]) -> Option<String> {
    let mut depth = 0_i32;
    let mut owner = None;
    for word in head {
        match word.as_str() {
            "<" => depth += 1,
            ">" => depth -= 1,
            "where" => break,
            word if depth == 0 && word.starts_with(char::is_alphabetic) => {
                owner = Some(word.to_owned());
            }
            _ => {}
        }
    }
    owner
}

/// Without the addresses of its links.
fn first_sentence(lines: &[String]) -> String {
    let paragraph: Vec<_> = lines.iter().take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph
        .iter()
        .map(|line| line.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    let paragraph = paragraph.replace("\\\"", "\"");
    let mut text = String::new();
    let mut rest = &paragraph[..];
    while let Some((before, link)) = rest.split_once('[') {
        let Some((words, after)) = link.split_once(']') else {
            break;
        };
        text.push_str(before);
        text.push_str(words);
        rest = after
            .strip_prefix('(')
            .and_then(|address| address.split_once(')'))
            .map_or(after, |(_, after)| after);
    }
    text.push_str(rest);
    let end = text
        .match_indices([':', '.', ';'])
        .find(|(at, mark)| text[at + mark.len()..].starts_with(' ') && *at > 12);
    let sentence = end.map_or(&text[..], |(at, _)| &text[..at]);
    sentence.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Item, Reader};

    fn items(text: &str) -> Vec<Item> {
        Reader::new(None, false).items(text.parse().unwrap())
    }

    #[test]
    fn what_users_call_is_found_with_its_documentation() {
        let found = items(
            "/// An agent.\npub struct Agent { inner: u8 }\n\
             /// Settings.\npub struct Config { /// How [far](crate::far) it goes. Never further.\n\
             pub limits: Map<String, u8>, pub text: bool }\n\
             #[uniffi::export]\nimpl Agent {\n\
             /// Says something: to the model.\npub async fn send<T: Into<String>>(&self) -> Turn { let pub_ = 1; }\n\
             pub(crate) fn hidden(&self) {}\n}\n\
             impl<T: Fn()> Store for Agent<T> { pub fn not_ours() {} }\n\
             pub fn free() {}\n#[cfg(test)] mod tests { pub fn none() {} }",
        );
        let names: Vec<_> = found
            .iter()
            .map(|item| {
                (
                    item.of.as_deref().unwrap_or(""),
                    &item.name[..],
                    item.is_exported,
                )
            })
            .collect();
        assert_eq!(
            names,
            [
                ("", "Agent", false),
                ("", "Config", false),
                ("Config", "limits", false),
                ("Config", "text", false),
                ("Agent", "send", true),
                ("", "free", false),
            ]
        );
        assert_eq!(found[2].about, "How far it goes");
        assert_eq!(found[4].about, "Says something");
    }
}
