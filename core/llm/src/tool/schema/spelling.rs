//! The form in which the model writes arguments if some provider does not accept the root of the tool's schema
//! unchanged.

use super::root::root_of;
use super::words::{has_type, pointer, property_names, refs};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The form in which the model writes a tool's arguments, where it differs from the form that the tool expects.
///
/// The form follows from the schema alone, so that a call is read the same way for every provider and at any later
/// time.
#[derive(Clone, Debug, PartialEq)]
pub enum Spelling {
    /// The complete value is one member of this name: for a root that is not a plain object.
    Wrapped(String),
    /// Members of the root have other names, where the provider refuses theirs: the tool's name, and the model's.
    Renamed(Vec<(String, String)>),
}

/// The keywords allowed in a root whose properties are renamed: none that names properties in another way, or that
/// depends on their names.
const PLAIN: [&str; 13] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
];

/// The keywords that no provider accepts in the root. Source: OpenAI's error message, "schema must have type 'object'
/// and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level", and Anthropic's, "`input_schema` does not
/// support oneOf, allOf, or anyOf at the top level".
const NOT_IN_ROOT: [&str; 7] = ["oneOf", "anyOf", "allOf", "enum", "const", "not", "$ref"];

impl Spelling {
    /// Returns the spelling for a tool with this schema, if it needs one.
    pub(crate) fn of(schema: &Value) -> Option<Self> {
        Self::of_root(&root_of(schema)?)
    }

    pub(super) fn of_root(root: &Map<String, Value>) -> Option<Self> {
        let is_object = !root.contains_key("type") || has_type(root, "object");
        if !is_object || NOT_IN_ROOT.iter().any(|word| root.contains_key(*word)) {
            return Some(Self::wrapped(root));
        }
        // The root is restricted to objects; schemas that refer to it must not be.
        let takes_others = root.get("type").is_none_or(|kind| kind != "object");
        if takes_others && names_itself(root, |place| place.is_empty()) {
            return Some(Self::wrapped(root));
        }
        let properties = root.get("properties").and_then(Value::as_object)?;
        if properties.keys().all(|name| is_plain(name)) {
            return None;
        }
        if !root.keys().all(|word| PLAIN.contains(&word.as_str()))
            || names_itself(root, |place| {
                place.is_empty() || place.starts_with("/properties")
            })
        {
            return Some(Self::wrapped(root));
        }
        let mut taken: BTreeSet<String> = properties.keys().cloned().collect();
        let odd = properties.keys().filter(|name| !is_plain(name));
        let renamed = odd.map(|name| (name.clone(), free(&plain(name), &mut taken)));
        Some(Self::Renamed(renamed.collect()))
    }

    fn wrapped(root: &Map<String, Value>) -> Self {
        let mut taken = BTreeSet::new();
        property_names(&mut Value::Object(root.clone()), &mut taken);
        Self::Wrapped(free("arguments", &mut taken))
    }

    /// Converts the model's form to the tool's own arguments. Arguments that are already in that form are unchanged.
    pub fn read(&self, written: Value) -> Value {
        let Value::Object(mut members) = written else {
            return written;
        };
        match self {
            Self::Wrapped(name) if members.keys().next() == Some(name) => {
                members.shift_remove(name).unwrap_or_default()
            }
            Self::Wrapped(_) => members.into(),
            Self::Renamed(names) => renamed(members, |name| {
                let mut names = names.iter();
                Some(&names.find(|(_, other)| other == name)?.0)
            }),
        }
    }

    /// Converts the tool's own arguments to the model's form. Arguments that are already in that form are unchanged.
    pub(crate) fn write(&self, own: Value) -> Value {
        match (self, self.read(own)) {
            (Self::Wrapped(name), own) => json!({name: own}),
            (Self::Renamed(names), Value::Object(members)) => renamed(members, |name| {
                let mut names = names.iter();
                Some(&names.find(|(own, _)| own == name)?.1)
            }),
            (Self::Renamed(_), own) => own,
        }
    }

    /// The model's name of a property of the root.
    pub(super) fn written<'a>(&'a self, name: &'a str) -> &'a str {
        match self {
            Self::Renamed(names) => {
                let mut names = names.iter();
                names
                    .find(|(own, _)| own == name)
                    .map_or(name, |(_, other)| other)
            }
            Self::Wrapped(_) => name,
        }
    }
}

/// Returns whether a reference in the schema names one of these places of it.
fn names_itself(root: &Map<String, Value>, is_place: impl Fn(&str) -> bool) -> bool {
    let mut names_itself = false;
    refs(&mut Value::Object(root.clone()), &mut |target| {
        names_itself |= pointer(target).is_some_and(|place| is_place(&place));
    });
    names_itself
}

/// The members under other names; one whose other name is there already stays.
fn renamed<'n>(members: Map<String, Value>, other: impl Fn(&str) -> Option<&'n String>) -> Value {
    let is_free = |name: &String| !members.contains_key(name);
    let new: Vec<_> = members
        .keys()
        .map(|name| other(name).filter(|name| is_free(name)).cloned())
        .collect();
    let members = new.into_iter().zip(members);
    members
        .map(|(new, (name, value))| (new.unwrap_or(name), value))
        .collect::<Map<_, _>>()
        .into()
}

/// Returns whether Anthropic takes the name for a property: `^[a-zA-Z0-9_.-]{1,64}$`. It looks at those of the root
/// alone.
pub(super) fn is_plain(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain_byte)
}

fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

fn plain(name: &str) -> String {
    let is_plain = |c: char| u8::try_from(c).is_ok_and(is_plain_byte);
    let plain: String = name
        .chars()
        .take(60)
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    if plain.is_empty() {
        "_".to_owned()
    } else {
        plain
    }
}

/// The name, or the first of `name_2`, `name_3`, … that nothing has.
fn free(name: &str, taken: &mut BTreeSet<String>) -> String {
    let others = (2..).map(|number: u32| format!("{name}_{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(others);
    let free = names.find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}
