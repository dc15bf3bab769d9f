//! Which modules of a crate there are, and what each names of the others.

use anyhow::{Context as _, bail};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

type Path = Vec<String>;

/// A path from one module to something, in a `use` or elsewhere.
pub(super) struct Import {
    pub(super) file: String,
    pub(super) line: usize,
    /// The module that it stands in.
    pub(super) from: Path,
    /// Where it leads, from the root of the crate.
    pub(super) to: Path,
    /// As it stands there.
    pub(super) written: String,
}

/// All but the tests of a crate.
#[derive(Default)]
pub(super) struct Sources {
    modules: BTreeSet<Path>,
    pub(super) imports: Vec<Import>,
    /// What a module gives out of others: its name there, and where it comes from.
    given_out: BTreeMap<(Path, String), Path>,
    /// The modules of which a module gives out all.
    given_out_whole: BTreeMap<Path, Vec<Path>>,
}

/// Where the reader is.
#[derive(Clone)]
struct Place {
    file: String,
    /// The folder of the modules that are declared here.
    folder: String,
    module: Path,
}

/// A path as it is written.
struct Written {
    segments: Path,
    /// The name that it is given with `as`.
    alias: Option<String>,
    line: usize,
}

impl Sources {
    /// Follows the declarations of modules from `lib.rs` in a folder; `read` gives the text of a file.
    pub(super) fn read(
        read: &dyn Fn(&str) -> Option<String>,
        folder: &str,
    ) -> anyhow::Result<Self> {
        let mut sources = Self::default();
        let mut files = vec![Place {
            file: format!("{folder}/lib.rs"),
            folder: folder.to_owned(),
            module: Path::new(),
        }];
        while let Some(place) = files.pop() {
            let text = read(&place.file).with_context(|| format!("cannot read {}", place.file))?;
            let tokens = text
                .parse()
                .map_err(|error| anyhow::anyhow!("{}: {error}", place.file))?;
            for mut declared in sources.tokens(&place, tokens) {
                let beside = format!("{}.rs", declared.folder);
                let within = format!("{}/mod.rs", declared.folder);
                declared.file = match (read(&beside), read(&within)) {
                    (Some(_), _) => beside,
                    (None, Some(_)) => within,
                    (None, None) => bail!("{}: there is neither {beside} nor {within}", place.file),
                };
                files.push(declared);
            }
        }
        let found = std::mem::take(&mut sources.imports);
        sources.imports = found
            .into_iter()
            .map(|import| Import {
                to: sources.origin(import.to),
                ..import
            })
            .collect();
        Ok(sources)
    }

    /// The modules that are declared in one.
    pub(super) fn children<'s>(&'s self, module: &'s [String]) -> impl Iterator<Item = &'s str> {
        self.modules.iter().filter_map(move |path| {
            let (name, parent) = path.split_last()?;
            (parent == module).then_some(name.as_str())
        })
    }

    /// Reads what is in a module, and gives the modules in files of their own that it declares.
    fn tokens(&mut self, place: &Place, tokens: TokenStream) -> Vec<Place> {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut declared = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let rest = &tokens[at..];
            at += match rest {
                [hash, TokenTree::Group(attribute), ..] if is(hash, '#') => {
                    if is_for_tests(attribute.stream()) {
                        item(rest)
                    } else {
                        self.attribute(place, attribute.stream());
                        2
                    }
                }
                [TokenTree::Ident(word), TokenTree::Group(visible), ..]
                    if word == "pub" && visible.delimiter() == Delimiter::Parenthesis =>
                {
                    2
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), next, ..] if word == "mod" => {
                    let name = name.to_string();
                    let mut place = place.clone();
                    place.folder = format!("{}/{name}", place.folder);
                    place.module.push(name);
                    self.modules.insert(place.module.clone());
                    match next {
                        TokenTree::Group(body) => {
                            declared.extend(self.tokens(&place, body.stream()));
                        }
                        _ => declared.push(place),
                    }
                    3
                }
                [TokenTree::Ident(word), ..] if word == "use" => {
                    let mut paths = Vec::new();
                    let length = read_path(&rest[1..], &mut Path::new(), &mut paths);
                    for path in paths {
                        self.used(place, path);
                    }
                    1 + length
                }
                [TokenTree::Ident(word), colon, ..]
                    if starts(&word.to_string()) && is(colon, ':') =>
                {
                    let mut paths = Vec::new();
                    let length = read_path(rest, &mut Path::new(), &mut paths);
                    for path in paths {
                        self.named(place, &path);
                    }
                    length.max(1)
                }
                [TokenTree::Group(group), ..] => {
                    declared.extend(self.tokens(place, group.stream()));
                    1
                }
                _ => 1,
            };
        }
        declared
    }

    /// An attribute's own paths, and those that it has as text: `with = "crate::…"`.
    fn attribute(&mut self, place: &Place, attribute: TokenStream) {
        for token in attribute.clone() {
            match token {
                TokenTree::Group(group) => self.attribute(place, group.stream()),
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    let text = text.trim_matches('"');
                    let first = text.split("::").next().unwrap_or_default();
                    if starts(first) && first != text {
                        let written = Written {
                            segments: text.split("::").map(str::to_owned).collect(),
                            alias: None,
                            line: literal.span().start().line,
                        };
                        self.named(place, &written);
                    }
                }
                _ => {}
            }
        }
        let is_flat = !attribute
            .clone()
            .into_iter()
            .any(|token| matches!(token, TokenTree::Group(_)));
        if is_flat {
            self.tokens(place, attribute);
        }
    }

    fn used(&mut self, place: &Place, path: Written) {
        self.named(place, &path);
        let to = absolute(&place.module, &path.segments);
        match path.alias.or_else(|| to.last().cloned()) {
            Some(all) if all == "*" => {
                let whole = self.given_out_whole.entry(place.module.clone());
                whole.or_default().push(to[..to.len() - 1].to_vec());
            }
            Some(name) => {
                self.given_out.insert((place.module.clone(), name), to);
            }
            None => {}
        }
    }

    fn named(&mut self, place: &Place, path: &Written) {
        if path.segments.first().is_some_and(|first| starts(first)) {
            self.imports.push(Import {
                file: place.file.clone(),
                line: path.line,
                from: place.module.clone(),
                to: absolute(&place.module, &path.segments),
                written: path.segments.join("::"),
            });
        }
    }

    /// Where the thing is that a path leads to, by whatever modules it is given out.
    fn origin(&self, mut path: Path) -> Path {
        // No way is longer; one that leads back to itself compiles nowhere.
        for _ in 0..16 {
            let Some(known) = (0..path.len()).find(|at| !self.modules.contains(&path[..=*at]))
            else {
                break;
            };
            let module = path[..known].to_vec();
            let rest = &path[known + 1..];
            let by_name = self.given_out.get(&(module.clone(), path[known].clone()));
            path = match (
                by_name,
                self.given_out_whole.get(&module).map(Vec::as_slice),
            ) {
                (Some(origin), _) if origin[..] != path[..=known] => [origin, rest].concat(),
                (None, Some([whole])) if path[known] != "*" => [whole, &path[known..]].concat(),
                _ => break,
            };
        }
        path
    }
}

/// How a path begins that leads to the crate's own.
fn starts(word: &str) -> bool {
    ["crate", "super", "self"].contains(&word)
}

/// A path from the root; one that begins otherwise is a child's, or another crate's.
fn absolute(module: &[String], segments: &[String]) -> Path {
    let mut base = module.to_vec();
    let mut rest = segments;
    while let [first, after @ ..] = rest {
        match first.as_str() {
            "crate" => base.clear(),
            "super" => {
                base.pop();
            }
            "self" => {}
            _ => break,
        }
        rest = after;
    }
    base.extend_from_slice(rest);
    base
}

/// Reads a path, or the tree of a `use`, into the paths that it stands for. How many tokens it takes.
fn read_path(tokens: &[TokenTree], before: &mut Path, paths: &mut Vec<Written>) -> usize {
    let known = before.len();
    let (mut at, mut line) = (0, 0);
    let mut alias = None;
    let mut is_tree = false;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => {
                // `a::{self}` is `a`.
                if at > 0 || before.is_empty() || name != "self" {
                    before.push(name.to_string());
                }
                line = name.span().start().line;
            }
            Some(star) if is(star, '*') => {
                before.push("*".to_owned());
                line = star.span().start().line;
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<_> = group.stream().into_iter().collect();
                for branch in inner.split(|token| is(token, ',')) {
                    read_path(branch, before, paths);
                }
                is_tree = true;
            }
            _ => break,
        }
        at += 1;
        match &tokens[at..] {
            [one, two, next, ..] if is(one, ':') && is(two, ':') && !is(next, '<') => at += 2,
            [TokenTree::Ident(word), TokenTree::Ident(name), ..] if word == "as" => {
                alias = Some(name.to_string());
                at += 2;
                break;
            }
            _ => break,
        }
    }
    if !is_tree && at > 0 {
        paths.push(Written {
            segments: before.clone(),
            alias,
            line,
        });
    }
    before.truncate(known);
    at
}

fn is(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// Whether an attribute is `cfg(test)` or `cfg(all(test, …))`.
fn is_for_tests(attribute: TokenStream) -> bool {
    let words: Vec<_> = attribute.into_iter().collect();
    let [TokenTree::Ident(cfg), TokenTree::Group(condition)] = &words[..] else {
        return false;
    };
    let condition: Vec<_> = condition.stream().into_iter().collect();
    cfg == "cfg"
        && match &condition[..] {
            [TokenTree::Ident(only)] => only == "test",
            [TokenTree::Ident(all), TokenTree::Group(of)] if all == "all" => of
                .stream()
                .into_iter()
                .any(|token| matches!(token, TokenTree::Ident(word) if word == "test")),
            _ => false,
        }
}

/// How many tokens an item takes, with the attributes before it.
fn item(tokens: &[TokenTree]) -> usize {
    let is_use = |at: usize| {
        let of_item = tokens[..at].iter().rev();
        of_item
            .take_while(|token| !is(token, '#'))
            .any(|token| matches!(token, TokenTree::Ident(word) if word == "use"))
    };
    let end = (0..tokens.len()).find(|&at| match &tokens[at] {
        TokenTree::Group(body) => body.delimiter() == Delimiter::Brace && !is_use(at),
        token => is(token, ';'),
    });
    end.map_or(tokens.len(), |end| end + 1)
}
