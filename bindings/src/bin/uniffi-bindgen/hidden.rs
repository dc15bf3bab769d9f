//! What is hidden from a language: `exclude` in `uniffi.toml`. uniffi passes over a name there that it does not know, and
//! leaves what only hidden things name, so the list is held against what the library declares and what was generated.

use anyhow::{Context as _, ensure};
use camino::Utf8Path;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use uniffi_bindgen::macro_metadata;
use uniffi_meta::{FieldMetadata, FnParamMetadata, Metadata, Type};

/// Looks whether just what is to be hidden from a language is.
///
/// # Errors
/// The list names what the library does not have; something that is left names what is hidden, or only what is hidden
/// names it; the generated text has something of it.
pub(crate) fn check(
    library: &Utf8Path,
    language: &str,
    generated: &Utf8Path,
) -> anyhow::Result<()> {
    let items = macro_metadata::extract_from_library(library)
        .with_context(|| format!("cannot read {library}"))?;
    let hidden = listed(language)?;
    let text = fs::read_to_string(generated).with_context(|| format!("cannot read {generated}"))?;
    let mut faults = Declared::of(items).faults(&hidden);
    faults.extend(seen(&hidden, &text));
    ensure!(
        faults.is_empty(),
        "`exclude` of {language} in uniffi.toml: {}",
        faults.join("; ")
    );
    Ok(())
}

#[derive(Deserialize)]
struct Config {
    defaults: Defaults,
}

#[derive(Deserialize)]
struct Defaults {
    bindings: BTreeMap<String, Language>,
}

#[derive(Default, Deserialize)]
struct Language {
    #[serde(default)]
    exclude: BTreeSet<String>,
}

fn listed(language: &str) -> anyhow::Result<BTreeSet<String>> {
    let file = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../uniffi.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    let mut config: Config = toml::from_str(&text).with_context(|| format!("{file}"))?;
    let language = config.defaults.bindings.remove(language);
    Ok(language.unwrap_or_default().exclude)
}

/// What the library declares, each by its name as `exclude` has it, with the types that it names.
#[derive(Default)]
struct Declared {
    types: BTreeMap<String, BTreeSet<String>>,
    /// Functions, and what makes a type: `Type.name`.
    beginnings: BTreeMap<String, BTreeSet<String>>,
    /// Methods, by their type and name.
    methods: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Declared {
    fn of(items: impl IntoIterator<Item = Metadata>) -> Self {
        let mut declared = Self::default();
        for item in items {
            match item {
                Metadata::Func(item) => {
                    let names = signature(&item.inputs, [&item.return_type, &item.throws]);
                    declared.beginnings.insert(item.name, names);
                }
                Metadata::Constructor(item) => {
                    let mut names = signature(&item.inputs, [&item.throws]);
                    let name = format!("{}.{}", item.self_name, item.name);
                    names.insert(item.self_name);
                    declared.beginnings.insert(name, names);
                }
                Metadata::Method(item) => {
                    let names = signature(&item.inputs, [&item.return_type, &item.throws]);
                    declared.methods.insert((item.self_name, item.name), names);
                }
                Metadata::TraitMethod(item) => {
                    let names = signature(&item.inputs, [&item.return_type, &item.throws]);
                    declared.methods.insert((item.trait_name, item.name), names);
                }
                Metadata::Object(item) => {
                    declared.types.insert(item.name, BTreeSet::new());
                }
                Metadata::Record(item) => {
                    declared.types.insert(item.name, fields(&item.fields));
                }
                Metadata::Enum(item) => {
                    let variants = item.variants.iter();
                    let names = variants.flat_map(|variant| fields(&variant.fields));
                    declared.types.insert(item.name, names.collect());
                }
                _ => {}
            }
        }
        declared
    }

    fn faults(&self, hidden: &BTreeSet<String>) -> Vec<String> {
        let mut faults = Vec::new();
        let methods = self.methods.keys().map(|(of, name)| format!("{of}.{name}"));
        let methods: BTreeSet<_> = methods.collect();
        for name in hidden {
            let is_there = self.types.contains_key(name)
                || self.beginnings.contains_key(name)
                || methods.contains(name);
            if !is_there {
                faults.push(format!("the library has no `{name}`"));
            }
        }
        let is_left = |(name, _): &(&String, &BTreeSet<String>)| !hidden.contains(*name);
        let begun = self.beginnings.iter().filter(is_left);
        let mut next: Vec<_> = begun
            .flat_map(|(of, named)| named.iter().map(move |name| (of.clone(), name)))
            .collect();
        let mut reached = BTreeSet::new();
        while let Some((of, name)) = next.pop() {
            if hidden.contains(name) {
                faults.push(format!("`{of}` is not hidden, and names `{name}`"));
                continue;
            }
            if !reached.insert(name) {
                continue;
            }
            let fields = self.types.get(name).into_iter().flatten();
            next.extend(fields.map(|field| (name.clone(), field)));
            for ((owner, method), named) in &self.methods {
                let method = format!("{owner}.{method}");
                if owner == name && !hidden.contains(&method) {
                    next.extend(named.iter().map(|named| (method.clone(), named)));
                }
            }
        }
        for name in self.types.keys() {
            if !reached.contains(name) && !hidden.contains(name) {
                faults.push(format!(
                    "only what is hidden names `{name}`: hide it as well"
                ));
            }
        }
        faults
    }
}

/// The types that a function names.
fn signature<'a>(
    inputs: &'a [FnParamMetadata],
    outputs: impl IntoIterator<Item = &'a Option<Type>>,
) -> BTreeSet<String> {
    let inputs = inputs.iter().map(|input| &input.ty);
    inputs
        .chain(outputs.into_iter().flatten())
        .filter_map(named)
        .collect()
}

fn fields(fields: &[FieldMetadata]) -> BTreeSet<String> {
    fields.iter().filter_map(|field| named(&field.ty)).collect()
}

/// The library's own type that one names; keys of maps are texts.
fn named(ty: &Type) -> Option<String> {
    match ty {
        Type::Object { name, .. } | Type::Record { name, .. } | Type::Enum { name, .. } => {
            Some(name.clone())
        }
        Type::Optional { inner_type }
        | Type::Sequence { inner_type }
        | Type::Box { inner_type } => named(inner_type),
        Type::Map { value_type, .. } => named(value_type),
        _ => None,
    }
}

/// What of it a generated text has: a type by its name, a member by that of its function in the library.
fn seen(hidden: &BTreeSet<String>, text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words: BTreeSet<_> = words.collect();
    let is_there = |name: &&String| match name.split_once('.') {
        Some((of, member)) => {
            let end = format!("_{}_{member}", of.to_lowercase());
            words.iter().any(|word| word.ends_with(&end))
        }
        None => words.contains(&name[..]),
    };
    let found = hidden.iter().filter(is_there);
    found
        .map(|name| format!("`{name}` was generated"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// An agent that is made for runners, which are given tasks.
    fn declared() -> Declared {
        let method = |of: &str, name: &str| (of.to_owned(), name.to_owned());
        Declared {
            types: ["Agent", "Runner", "Task", "Turn"]
                .map(|name| (name.to_owned(), BTreeSet::new()))
                .into(),
            beginnings: [("Agent.new".to_owned(), set(&["Agent"]))].into(),
            methods: [
                (method("Agent", "with_runner"), set(&["Agent", "Runner"])),
                (method("Agent", "send"), set(&["Turn"])),
                (method("Runner", "run"), set(&["Task"])),
            ]
            .into(),
        }
    }

    #[test]
    fn all_that_belongs_to_it_is_hidden() {
        let faults = |hidden: &[&str]| declared().faults(&set(hidden));
        assert_eq!(faults(&[]), [""; 0]);
        assert_eq!(faults(&["Agent.with_runner", "Runner", "Task"]), [""; 0]);
        let found = faults(&["Agent.with_runner", "Runner"]).join("\n");
        assert!(
            found.contains("only what is hidden names `Task`"),
            "{found}"
        );
        let found = faults(&["Runner", "Task"]).join("\n");
        assert!(
            found.contains("`Agent.with_runner` is not hidden, and names `Runner`"),
            "{found}"
        );
        let found = faults(&["Agent.gone"]).join("\n");
        assert!(found.contains("the library has no `Agent.gone`"), "{found}");
    }

    #[test]
    fn what_was_generated_is_found() {
        let text =
            "class Tasks { fun run() = ffi_fn_method_agent_with_runner(/** See [Task]. */) }";
        let found = seen(
            &set(&["Task", "Runner", "Agent.with_runner", "Agent.send"]),
            text,
        );
        assert_eq!(
            found,
            ["`Agent.with_runner` was generated", "`Task` was generated"]
        );
    }
}
