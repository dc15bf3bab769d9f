//! Sealed values: data that a provider wants back unchanged (a signature, encrypted reasoning), together with the
//! provider's name. AG-UI's `encryptedValue` has this form in Stepwell, so that no provider is sent another provider's
//! data.

use crate::provider::Dialect;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Serialize)]
struct Sealing<'a, T: ?Sized> {
    provider: &'a str,
    dialect: Dialect,
    value: &'a T,
}

#[derive(Deserialize)]
struct Sealed<'a> {
    #[serde(borrow)]
    provider: Cow<'a, str>,
    dialect: Dialect,
    #[serde(borrow)]
    value: &'a RawValue,
}

/// Seals a value for `provider` and its API with this dialect.
pub(super) fn seal<T: Serialize + ?Sized>(provider: &str, dialect: Dialect, value: &T) -> String {
    // Strings, maps with string keys and finite numbers cannot fail.
    serde_json::to_string(&Sealing {
        provider,
        dialect,
        value,
    })
    .unwrap_or_default()
}

/// Opens a sealed value, if it belongs to this provider and dialect.
pub(super) fn open<'a, T: Deserialize<'a>>(
    sealed: Option<&'a str>,
    provider: &str,
    dialect: Dialect,
) -> Option<T> {
    let sealed: Sealed<'a> = serde_json::from_str(sealed?).ok()?;
    let is_own = sealed.provider == provider && sealed.dialect == dialect;
    is_own
        .then(|| serde_json::from_str(sealed.value.get()).ok())
        .flatten()
}

/// Returns the dialect for which a value is sealed.
pub(super) fn dialect(sealed: &str) -> Option<Dialect> {
    let sealed: Sealed<'_> = serde_json::from_str(sealed).ok()?;
    Some(sealed.dialect)
}

/// Returns the value with `change`, sealed for the same provider; `None` if it has another form.
pub(super) fn changed<T: DeserializeOwned + Serialize>(
    sealed: &str,
    change: impl FnOnce(&mut T),
) -> Option<String> {
    let sealed: Sealed<'_> = serde_json::from_str(sealed).ok()?;
    let mut value: T = serde_json::from_str(sealed.value.get()).ok()?;
    change(&mut value);
    Some(seal(&sealed.provider, sealed.dialect, &value))
}

/// Returns whether a value is sealed for another provider.
pub(super) fn is_foreign(sealed: Option<&str>, provider: &str, dialect: Dialect) -> bool {
    sealed.is_some() && open::<IgnoredAny>(sealed, provider, dialect).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_provider_gets_a_value_back() {
        let sealed = seal("anthropic", Dialect::Anthropic, "c2ln");
        let open = |provider, dialect| open::<String>(Some(sealed.as_str()), provider, dialect);
        assert_eq!(
            open("anthropic", Dialect::Anthropic).as_deref(),
            Some("c2ln")
        );
        assert_eq!(open("bedrock", Dialect::Anthropic), None);
        assert_eq!(open("anthropic", Dialect::OpenAiChat), None);
    }

    #[test]
    fn what_others_have_sealed_is_nobodys() {
        for foreign in ["", "c2ln", "[]", "{}", r#"{"provider":"a","value":1}"#] {
            assert_eq!(
                open::<u32>(Some(foreign), "a", Dialect::Anthropic),
                None,
                "{foreign}"
            );
        }
        assert_eq!(open::<u32>(None, "a", Dialect::Anthropic), None);
    }
}
