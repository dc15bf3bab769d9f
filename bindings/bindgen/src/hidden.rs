//! Checks `exclude` in `uniffi.toml`, the list of what is hidden from a language. Uniffi ignores unknown names in it,
//! and keeps types that only hidden items mention. So the list is compared with what the library declares and with the
//! generated source.

use anyhow::{Context as _, ensure};
use camino::Utf8Path;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use uniffi_bindgen::macro_metadata;
use uniffi_meta::{FieldMetadata, FnParamMetadata, Metadata, Type};

/// Checks that a language's list is complete and has no superfluous name.
///
/// # Errors The list has a name that the library lacks; a visible item mentions a hidden one; only hidden items mention
/// a visible type; the generated text has a hidden item.
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
    let file = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../../uniffi.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    let mut config: Config = toml::from_str(&text).with_context(|| format!("{file}"))?;
    let language = config.defaults.bindings.remove(language);
    Ok(language.unwrap_or_default().exclude)
}

/// What the library declares, by its name in `exclude`, with the types that it mentions.
#[derive(Default)]
struct Declared {
    types: BTreeMap<String, BTreeSet<String>>,
    /// Functions, and constructors as `Type.name`.
    entry_points: BTreeMap<String, BTreeSet<String>>,
    /// Methods, by type and name.
    methods: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Declared {
    fn of(items: impl IntoIterator<Item = Metadata>) -> Self {
        let mut declared = Self::default();
        for item in items {
            match item {
                Metadata::Func(item) => {
                    let names = signature(&item.inputs, [&item.return_type, &item.throws]);
                    declared.entry_points.insert(item.name, names);
                }
                Metadata::Constructor(item) => {
                    let mut names = signature(&item.inputs, [&item.throws]);
                    let name = format!("{}.{}", item.self_name, item.name);
                    names.insert(item.self_name);
                    declared.entry_points.insert(name, names);
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
                || self.entry_points.contains_key(name)
                || methods.contains(name);
            if !is_there {
                faults.push(format!("the library has no `{name}`"));
            }
        }
        let is_left = |(name, _): &(&String, &BTreeSet<String>)| !hidden.contains(*name);
        let begun = self.entry_points.iter().filter(is_left);
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

/// Returns the types that a function mentions.
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

/// Returns the library's own type that a type mentions. The keys of maps are texts.
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

/// Finds hidden items in a generated text: a type by its name, a member by the name of its function in the library.
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

    /// Returns the declarations of an agent for runners, which take tasks.
    fn declared() -> Declared {
        let method = |of: &str, name: &str| (of.to_owned(), name.to_owned());
        Declared {
            types: ["Agent", "Runner", "Task", "Turn"]
                .map(|name| (name.to_owned(), BTreeSet::new()))
                .into(),
            entry_points: [("Agent.new".to_owned(), set(&["Agent"]))].into(),
            methods: [
                (method("Agent", "with_runner"), set(&["Agent", "Runner"])),
                (method("Agent", "send"), set(&["Turn"])),
                (method("Runner", "run"), set(&["Task"])),
            ]
            .into(),
        }
    }

    #[test]
    fn a_hidden_item_hides_what_belongs_to_it() {
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
    fn finds_hidden_items_in_generated_text() {
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
