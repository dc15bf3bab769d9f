//! The rows, held against the code, and the document made of them.

use super::languages::{Known, Language};
use super::rust::Item;
use super::{DOCUMENT, NAMES};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `features.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Given {
    /// Why not, by the word that cells name it by.
    reasons: BTreeMap<String, String>,
    /// Members of Rust's that are no feature by themselves, with why.
    of_rust: BTreeMap<String, String>,
    /// By `Type::member`, or by the option's name: the cells that no rule gives.
    rows: BTreeMap<String, BTreeMap<String, Cell>>,
    /// Features beside an agent's members.
    beside: Vec<Beside>,
}

/// A feature that is no member of an agent.
#[derive(Deserialize)]
struct Beside {
    about: String,
    #[serde(flatten)]
    cells: BTreeMap<String, Cell>,
}

/// The name in a language, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Cell {
    Name(String),
    Not { not: String },
}

/// The cells of a row that are for all languages without one of their own.
const OTHERS: &str = "others";

struct Row {
    about: String,
    /// In the order of the languages.
    cells: Vec<Cell>,
}

/// All rows, by part.
pub(super) struct Table {
    parts: Vec<(&'static str, Vec<Row>)>,
    reasons: BTreeMap<String, String>,
}

/// What a row is of.
#[derive(Clone, Copy)]
enum Of {
    Option,
    Builder,
    Member,
}

impl Table {
    /// The table, and what is wrong with it.
    pub(super) fn make(known: &Known, given: Given) -> (Self, Vec<String>) {
        let mut maker = Maker {
            known,
            given: &given,
            used: Vec::new(),
            faults: Vec::new(),
        };
        let mut parts = vec![(
            "Options",
            maker.rows(Of::Option, &known.options.iter().collect::<Vec<_>>()),
        )];
        for (part, owner, of) in [
            ("Setting up", "AgentBuilder", Of::Builder),
            ("An agent", "Agent", Of::Member),
            ("A turn", "Turn", Of::Member),
        ] {
            let items = known.members.iter();
            let items: Vec<_> = items
                .filter(|item| item.of.as_deref() == Some(owner))
                .collect();
            parts.push((part, maker.rows(of, &items)));
        }
        let beside = given.beside.iter().map(|beside| {
            let of = |_| None;
            maker.row(&beside.about, &beside.about, &beside.cells, &of)
        });
        let beside = beside.collect();
        parts.push(("Beside", beside));
        for (key, cells) in &given.rows {
            if !maker.used.contains(key) && !cells.is_empty() {
                maker.faults.push(format!(
                    "{NAMES}: there is no `{key}` in Rust, nor an option of that name: take the row out"
                ));
            }
        }
        for key in given.of_rust.keys() {
            if !maker.used.contains(key) {
                maker.faults.push(format!(
                    "{NAMES}: there is no `{key}` in Rust: take it out of `of_rust`"
                ));
            }
        }
        for reason in given.reasons.keys() {
            let is_named = |cell: &Cell| matches!(cell, Cell::Not { not } if not == reason);
            let cells = parts.iter().flat_map(|(_, rows): &(_, Vec<Row>)| rows);
            if !cells.flat_map(|row| &row.cells).any(is_named) {
                maker.faults.push(format!(
                    "{NAMES}: nothing names the reason `{reason}`: take it out"
                ));
            }
        }
        let faults = maker.faults;
        let reasons = given.reasons;
        (Self { parts, reasons }, faults)
    }

    /// How many features.
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(|(_, rows)| rows.len()).sum()
    }

    /// The document.
    pub(super) fn document(&self) -> String {
        let mut numbers: Vec<&str> = Vec::new();
        let mut body = String::new();
        for (part, rows) in &self.parts {
            body.push_str(&format!(
                "\n## {part}\n\n| feature | Rust | Swift | Kotlin | Python | Flutter | Web |\n|---|---|---|---|---|---|---|\n"
            ));
            for row in rows {
                body.push_str(&format!("| {} |", row.about.replace('|', "\\|")));
                for cell in &row.cells {
                    match cell {
                        Cell::Name(name) => body.push_str(&format!(" `{name}` |")),
                        Cell::Not { not } => {
                            let known = numbers.iter().position(|number| number == not);
                            let number = known.unwrap_or_else(|| {
                                numbers.push(not);
                                numbers.len() - 1
                            });
                            body.push_str(&format!(" – <sup>{}</sup> |", number + 1));
                        }
                    }
                }
                body.push('\n');
            }
        }
        let mut text = format!(
            "# What each language has\n\nGenerated by `cargo xtask features` from the code, with the names and reasons of \
             [`features.toml`](../{NAMES}); the suite `features` compares. A name with brackets, `Agent(tools)`, is an argument \
             of the initializer, or of a function.\n{body}\n## Why not\n\n"
        );
        for (number, reason) in numbers.iter().enumerate() {
            let words = self.reasons.get(*reason).map_or(*reason, |words| words);
            text.push_str(&format!("{}. {words}\n", number + 1));
        }
        text
    }
}

struct Maker<'a> {
    known: &'a Known,
    given: &'a Given,
    used: Vec<String>,
    faults: Vec<String>,
}

impl Maker<'_> {
    fn rows(&mut self, of: Of, items: &[&Item]) -> Vec<Row> {
        let mut rows = Vec::new();
        for item in items {
            let key = match (of, &item.of) {
                (Of::Option, _) | (_, None) => item.name.clone(),
                (_, Some(owner)) => format!("{owner}::{}", item.name),
            };
            self.used.push(key.clone());
            if self.given.of_rust.contains_key(&key) {
                continue;
            }
            let known = self.known;
            let usual = |language: Language| {
                let names = usual(of, item, language);
                names.into_iter().find(|name| known.has(language, name))
            };
            let none = BTreeMap::new();
            let cells = self.given.rows.get(&key).unwrap_or(&none);
            rows.push(self.row(&key, &item.about, cells, &usual));
        }
        rows
    }

    /// A row of the cells that are given and of those that have their usual name.
    fn row(
        &mut self,
        key: &str,
        about: &str,
        cells: &BTreeMap<String, Cell>,
        usual: &dyn Fn(Language) -> Option<String>,
    ) -> Row {
        for name in cells.keys() {
            let is_one = Language::ALL.iter().any(|language| language.key() == name);
            if !is_one && name != OTHERS {
                self.faults
                    .push(format!("{NAMES}: `{key}`: there is no language `{name}`"));
            }
        }
        let cells = Language::ALL.map(|language| {
            let found = usual(language);
            let own = cells.get(language.key());
            let given = own.or_else(|| found.is_none().then(|| cells.get(OTHERS)).flatten());
            match (given, found) {
                (None, Some(name)) => Cell::Name(name),
                (Some(Cell::Name(name)), _) => {
                    if !self.known.has(language, name) {
                        self.faults.push(format!(
                            "{NAMES}: `{key}`: {} has no `{name}`: give the name that it has, or say why it has none",
                            language.key()
                        ));
                    }
                    Cell::Name(name.clone())
                }
                (Some(Cell::Not { not }), None) => {
                    if !self.given.reasons.contains_key(not) {
                        self.faults.push(format!(
                            "{NAMES}: `{key}`: there is no reason `{not}`: write it below `[reasons]`"
                        ));
                    }
                    Cell::Not { not: not.clone() }
                }
                (Some(Cell::Not { .. }), Some(name)) => {
                    self.faults.push(format!(
                        "{NAMES}: `{key}`: {} has it, as `{name}`: take the reason out",
                        language.key()
                    ));
                    Cell::Name(name)
                }
                (None, None) => {
                    self.faults.push(format!(
                        "{DOCUMENT}: {} has nothing for `{key}` ({about}): add it there, or give its name or the reason why \
                         not in {NAMES}",
                        language.key()
                    ));
                    Cell::Not { not: String::new() }
                }
            }
        });
        Row {
            about: about.to_owned(),
            cells: cells.into(),
        }
    }
}

/// The names that a language would have it by.
fn usual(of: Of, item: &Item, language: Language) -> Vec<String> {
    let raw = &item.name;
    let plain = raw.trim_end_matches("_json");
    let names = |form: &dyn Fn(String) -> String| {
        let names = [plain, raw].map(|name| form(language.cased(name)));
        names.to_vec()
    };
    match (of, language) {
        (Of::Option, Language::Rust) => names(&|name| format!("RunConfig::{name}")),
        (Of::Option, Language::Flutter) => names(&|name| format!("RunConfig.{name}")),
        (Of::Builder, Language::Rust) => names(&|name| format!("AgentBuilder::{name}")),
        (Of::Option | Of::Builder, Language::Kotlin) => {
            let mut all = names(&|name| format!("AgentBuilder.{name}"));
            all.extend(names(&|name| format!("agent({name})")));
            all
        }
        (Of::Option | Of::Builder, Language::Web) => names(&|name| format!("AgentOptions.{name}")),
        (Of::Option | Of::Builder, _) => names(&|name| format!("Agent({name})")),
        (Of::Member, _) => {
            let owner = item.of.as_deref().unwrap_or_default();
            let between = if language == Language::Rust {
                "::"
            } else {
                "."
            };
            let handle = format!("{owner}Handle{between}{raw}");
            let mut all = names(&|name| format!("{owner}{between}{name}"));
            if language == Language::Rust {
                all.push(handle);
            }
            all
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::languages::{Known, Language};
    use super::super::rust::Item;
    use super::{Given, Table};
    use std::collections::BTreeSet;

    fn known() -> Known {
        let member = |of: &str, name: &str| Item {
            of: Some(of.to_owned()),
            name: name.to_owned(),
            about: "What it does".to_owned(),
            is_function: true,
            is_exported: false,
        };
        let mut names = vec![BTreeSet::new(); Language::ALL.len()];
        for language in [
            Language::Swift,
            Language::Kotlin,
            Language::Python,
            Language::Web,
        ] {
            let name = language.cased("send_it");
            names[language as usize].insert(format!("Agent.{name}"));
        }
        names[Language::Rust as usize].insert("Agent::send_it".to_owned());
        names[Language::Flutter as usize].insert("Agent.say".to_owned());
        Known::of(vec![member("Agent", "send_it")], Vec::new(), names)
    }

    fn faults(given: &str) -> Vec<String> {
        let given: Given = toml::from_str(given).unwrap();
        Table::make(&known(), given).1
    }

    const NOTHING: &str = "beside = []\n[reasons]\n[of_rust]\n[rows]\n";

    #[test]
    fn a_language_without_a_name_or_a_reason_is_a_fault() {
        let found = faults(NOTHING);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("flutter has nothing for `Agent::send_it`"),
            "{found:?}"
        );

        let named = NOTHING.to_owned() + "\"Agent::send_it\" = { flutter = \"Agent.say\" }\n";
        assert_eq!(faults(&named), [""; 0]);
        let given: Given = toml::from_str(&named).unwrap();
        let document = Table::make(&known(), given).0.document();
        let row = "| What it does | `Agent::send_it` | `Agent.sendIt` | `Agent.sendIt` | `Agent.send_it` | `Agent.say` | `Agent.sendIt` |";
        assert!(document.contains(row), "{document}");
    }

    #[test]
    fn what_is_claimed_must_be_so() {
        let of = |row: &str| {
            let given = format!(
                "beside = []\n[of_rust]\n\"Agent::gone\" = \"gone\"\n[reasons]\nsize = \"It is too big.\"\n[rows]\n\"Agent::send_it\" = {row}\n"
            );
            faults(&given).join("\n")
        };
        let found = of("{ flutter = \"Agent.gone\", web = { not = \"size\" } }");
        assert!(found.contains("flutter has no `Agent.gone`"), "{found}");
        assert!(found.contains("web has it, as `Agent.sendIt`"), "{found}");
        assert!(
            found.contains("there is no `Agent::gone` in Rust"),
            "{found}"
        );
        assert!(found.contains("nothing names the reason `size`"), "{found}");
        let found = of("{ others = { not = \"nobody\" }, dutch = \"Agent.zeg\" }");
        assert!(found.contains("there is no reason `nobody`"), "{found}");
        assert!(found.contains("no language `dutch`"), "{found}");
    }
}
