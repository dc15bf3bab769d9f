//! What each language has, by the names that its users write, read from its sources.
//!
//! A member is `Type.name`, and `Type::name` in Rust; an argument of an initializer `Type(name)`.

use super::rust::{Item, items};
use super::sources::declared;
use anyhow::Context as _;
use std::{collections::BTreeSet, fs, path::Path};

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Language {
    Rust,
    Swift,
    Kotlin,
    Python,
    Flutter,
    Web,
}

impl Language {
    pub(super) const ALL: [Self; 6] = [
        Self::Rust,
        Self::Swift,
        Self::Kotlin,
        Self::Python,
        Self::Flutter,
        Self::Web,
    ];

    /// As `features.toml` has it.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Swift => "swift",
            Self::Kotlin => "kotlin",
            Self::Python => "python",
            Self::Flutter => "flutter",
            Self::Web => "web",
        }
    }

    /// A name of Rust's in this language's casing.
    pub(super) fn cased(self, name: &str) -> String {
        match self {
            Self::Rust | Self::Python => name.to_owned(),
            _ => camel(name),
        }
    }
}

/// Everything that is known of the code.
pub(super) struct Known {
    /// The members of Rust's `AgentBuilder`, `Agent` and `Turn`, in the order of the sources. Those of a turn's handle are
    /// the turn's.
    pub(super) members: Vec<Item>,
    /// The options of the bindings' configuration.
    pub(super) options: Vec<Item>,
    names: Vec<BTreeSet<String>>,
}

/// Fields of the bindings' configuration that are no options of an agent, as their generator has it.
const NO_OPTIONS: [&str; 4] = ["tools", "run_ids", "credentials", "hooks"];
/// What Kotlin's function `agent` takes itself.
const OF_KOTLINS_FUNCTION: [&str; 4] = ["provider", "model", "base_url", "key"];

impl Known {
    /// Reads the sources of the repository.
    pub(super) fn read(root: &Path) -> anyhow::Result<Self> {
        let io = items(root, "io/src")?;
        let core = items(root, "core/src")?;
        let bindings = items(root, "bindings/src")?;
        let of = |item: &Item, name: &str| item.of.as_deref() == Some(name);
        let mut members = Vec::new();
        for owner in ["AgentBuilder", "Agent", "Turn"] {
            for item in &io {
                let is_handle = owner == "Turn" && of(item, "TurnHandle");
                let is_known = |known: &Item| of(known, owner) && known.name == item.name;
                if (of(item, owner) || is_handle) && !members.iter().any(is_known) {
                    let of = Some(owner.to_owned());
                    members.push(Item { of, ..item.clone() });
                }
            }
        }
        let options: Vec<_> = bindings
            .iter()
            .filter(|item| of(item, "RunConfig") && !item.is_function)
            .filter(|item| !NO_OPTIONS.contains(&&item.name[..]))
            .cloned()
            .collect();
        let setup: Vec<_> = bindings
            .iter()
            .filter(|item| of(item, "AgentSetup"))
            .collect();
        let given: Vec<_> = options
            .iter()
            .chain(setup)
            .map(|item| &item.name[..])
            .collect();

        let mut names = vec![BTreeSet::new(); Language::ALL.len()];
        let mut put = |language: Language, name: String| names[language as usize].insert(name);
        for item in io.iter().chain(&core) {
            put(Language::Rust, item.written("::"));
        }
        let hidden =
            [Language::Swift, Language::Kotlin].map(|language| (language, hidden(root, language)));
        for (language, hidden) in hidden {
            let hidden = hidden?;
            for item in &bindings {
                // What uniffi has of it bears its name there.
                let is_there = item.of.is_none() || item.is_exported || !item.is_function;
                let of_hidden = item.of.as_ref().is_some_and(|of| hidden.contains(of));
                if is_there && !of_hidden && !hidden.contains(&item.written(".")) {
                    put(language, item.cased(language).written("."));
                }
            }
        }
        for item in &bindings {
            // The shapes that Python's classes are made of.
            if !item.is_function {
                put(Language::Python, item.written("."));
            }
        }
        for name in given {
            let plain = name.trim_end_matches("_json");
            put(Language::Python, format!("Agent({plain})"));
            for name in [name, plain] {
                put(Language::Swift, format!("Agent({})", camel(name)));
            }
        }
        for item in &options {
            let name = camel(&item.name);
            let is_of_function = OF_KOTLINS_FUNCTION.contains(&&item.name[..]);
            let name = if is_of_function {
                format!("agent({name})")
            } else {
                format!("AgentBuilder.{name}")
            };
            put(Language::Kotlin, name);
        }
        for (language, folder, ending) in [
            (Language::Swift, "bindings/swift/Sources/Stepwell", "swift"),
            (
                Language::Kotlin,
                "bindings/kotlin/src/main/kotlin/dev/stepwell",
                "kt",
            ),
            (Language::Python, "bindings/python/src/stepwell", "py"),
            (Language::Flutter, "bindings/flutter/lib/src", "dart"),
            (Language::Web, "bindings/web/js", "ts"),
        ] {
            for text in texts(&root.join(folder), ending)? {
                for name in declared(language, &text) {
                    // Python's generated classes have their methods of these.
                    put(language, name.replace("Methods.", "."));
                }
            }
        }
        let shapes = fs::read_to_string(root.join("bindings/web/js/shapes.ts"))
            .context("cannot read bindings/web/js/shapes.ts")?;
        let setup = fs::read_to_string(root.join("bindings/web/js/setup.ts"))
            .context("cannot read bindings/web/js/setup.ts")?;
        for name in declared(Language::Web, &shapes) {
            if let Some(option) = name.strip_prefix("RunConfig.")
                && !is_omitted(&setup, option)
            {
                put(Language::Web, format!("AgentOptions.{option}"));
            }
            put(Language::Web, name);
        }
        Ok(Self::of(members, options, names))
    }

    /// What was found; the names in the order of the languages.
    pub(super) const fn of(
        members: Vec<Item>,
        options: Vec<Item>,
        names: Vec<BTreeSet<String>>,
    ) -> Self {
        Self {
            members,
            options,
            names,
        }
    }

    /// Whether a language has something by this name.
    pub(super) fn has(&self, language: Language, name: &str) -> bool {
        self.names[language as usize].contains(name)
    }
}

impl Item {
    fn cased(&self, language: Language) -> Self {
        let is_name = self.name.starts_with(char::is_lowercase);
        let name = if is_name {
            language.cased(&self.name)
        } else {
            self.name.clone()
        };
        let mut of = self.of.clone();
        if language == Language::Kotlin {
            // As uniffi has it there.
            of = of.map(|of| of.replace("Error", "Exception"));
        }
        Self {
            of,
            name,
            ..self.clone()
        }
    }

    fn written(&self, between: &str) -> String {
        match &self.of {
            Some(of) => format!("{of}{between}{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// What uniffi leaves out for a language, as its configuration says. What is written there is held against the library
/// where the bindings are generated.
fn hidden(root: &Path, language: Language) -> anyhow::Result<BTreeSet<String>> {
    const CONFIG: &str = "uniffi.toml";
    let text =
        fs::read_to_string(root.join(CONFIG)).with_context(|| format!("cannot read {CONFIG}"))?;
    let config: toml::Value =
        toml::from_str(&text).with_context(|| format!("cannot read {CONFIG}"))?;
    let keys = ["defaults", "bindings", language.key(), "exclude"];
    let names = keys.iter().try_fold(&config, |value, key| value.get(key));
    let names = names.and_then(toml::Value::as_array);
    let names = names.with_context(|| format!("{CONFIG} has no {}", keys.join(".")))?;
    Ok(names
        .iter()
        .filter_map(toml::Value::as_str)
        .map(str::to_owned)
        .collect())
}

/// What `extends Omit<RunConfig, "a" | "b">` leaves out.
fn is_omitted(setup: &str, option: &str) -> bool {
    let omitted = setup.split_once("Omit<RunConfig, ").map(|(_, rest)| rest);
    let omitted = omitted
        .and_then(|rest| rest.split_once('>'))
        .map(|(names, _)| names);
    omitted.is_some_and(|names| names.contains(&format!("\"{option}\"")))
}

/// The texts of the files below a folder whose names end so, without what is generated.
fn texts(folder: &Path, ending: &str) -> anyhow::Result<Vec<String>> {
    let mut texts = Vec::new();
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == ending) {
            texts.push(fs::read_to_string(&path)?);
        }
    }
    Ok(texts)
}

/// `next_batch` as `nextBatch`.
pub(super) fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let mut cased = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        cased.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        cased.push_str(letters.as_str());
    }
    cased
}

#[cfg(test)]
mod tests {
    use super::{camel, is_omitted};

    #[test]
    fn names_are_cased_and_omitted() {
        assert_eq!(camel("next_registry_event"), "nextRegistryEvent");
        let agent = "extends Omit<RunConfig, \"tools\" | \"runIds\"> {";
        assert!(is_omitted(agent, "runIds") && !is_omitted(agent, "limits"));
    }
}
