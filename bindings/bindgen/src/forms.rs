//! The forms that differ from those of the other languages: the files in `forms`.

use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Forms by shape and by field or variant.
pub(crate) type Forms<T> = BTreeMap<String, BTreeMap<String, T>>;

/// Reads a file of this crate.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).expect("the files in `forms` have the fields that are read")
}

/// Returns the form of a field or a variant, if there is one.
pub(crate) fn of<'f, T>(forms: &'f Forms<T>, shape: &str, name: &str) -> Option<&'f T> {
    forms.get(shape)?.get(name)
}
