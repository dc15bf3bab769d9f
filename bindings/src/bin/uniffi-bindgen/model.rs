//! The shapes as the library declares them.

use anyhow::Context as _;
use std::collections::BTreeMap;
use uniffi_meta::Type;

/// All records and enums of the library.
pub(crate) struct Shapes(pub(crate) BTreeMap<String, Shape>);

/// A method of one of the library's objects.
pub(crate) struct Method {
    /// Its name in Rust.
    pub(crate) name: String,
    /// What it does.
    pub(crate) doc: String,
    /// What it takes, in order, but for the time.
    pub(crate) arguments: Vec<Field>,
    /// Where the time stands among these, if it is an input of a run.
    pub(crate) time_at: Option<usize>,
    /// What it gives, as `answer`.
    pub(crate) gives: Option<Field>,
}

/// A record or an enum.
pub(crate) struct Shape {
    /// Its name in Rust.
    pub(crate) name: String,
    /// What it is.
    pub(crate) doc: String,
    /// What it holds.
    pub(crate) kind: Kind,
}

/// What a shape holds.
pub(crate) enum Kind {
    /// Fields.
    Record(Vec<Field>),
    /// One of these.
    Enum(Vec<Variant>),
}

/// One of an enum's.
pub(crate) struct Variant {
    /// Its name in Rust.
    pub(crate) name: String,
    /// What it is.
    pub(crate) doc: String,
    /// What it holds besides.
    pub(crate) fields: Vec<Field>,
}

/// A field of a record or of a variant.
#[derive(Clone)]
pub(crate) struct Field {
    /// Its name in Rust.
    pub(crate) name: String,
    /// What it is.
    pub(crate) doc: String,
    /// What it holds.
    pub(crate) ty: Ty,
    /// What it is if it is left out; nothing if it cannot be.
    pub(crate) default: Option<Default>,
    /// Its type as uniffi has it, for the languages whose records are uniffi's own.
    pub(crate) raw_ty: Type,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    /// Yes or no.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// A length of time.
    Duration,
    /// A point in time.
    Timestamp,
    /// JSON.
    Json(Json),
    /// Another shape.
    Named(String),
    /// Something or nothing.
    Optional(Box<Self>),
    /// Any number of them, in order.
    List(Box<Self>),
    /// Texts by texts.
    Map,
}

/// Which JSON a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    /// Any.
    Any,
    /// An object.
    Object,
    /// An AG-UI message.
    Message,
    /// An array.
    Array,
}

/// What a field is if it is left out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Default {
    /// That of its type.
    OfType,
    /// Nothing.
    Nothing,
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(u64),
    /// A number, as it is written in Rust.
    Float(String),
    /// A text.
    Text(String),
    /// No elements.
    Empty,
}

impl Shapes {
    /// The shape of this name.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn get(&self, name: &str) -> anyhow::Result<&Shape> {
        self.0
            .get(name)
            .with_context(|| format!("the library has no shape `{name}`"))
    }
}

impl Shape {
    /// The variants, if it has some.
    #[must_use]
    pub(crate) fn variants(&self) -> &[Variant] {
        match &self.kind {
            Kind::Record(_) => &[],
            Kind::Enum(variants) => variants,
        }
    }

    /// Whether it is an enum of mere names.
    #[must_use]
    pub(crate) fn is_flat(&self) -> bool {
        matches!(self.kind, Kind::Enum(_))
            && self
                .variants()
                .iter()
                .all(|variant| variant.fields.is_empty())
    }

    /// All fields, of whatever variant.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &Field> {
        let own: &[Field] = match &self.kind {
            Kind::Record(fields) => fields,
            Kind::Enum(_) => &[],
        };
        let of_variants = self.variants().iter().flat_map(|variant| &variant.fields);
        own.iter().chain(of_variants)
    }
}

impl Shape {
    /// The fields that all variants begin with.
    pub(crate) fn common(&self) -> &[Field] {
        let variants = self.variants();
        let Some(first) = variants.first() else {
            return &[];
        };
        let has = |count: &usize| {
            let fields = &first.fields[..=*count];
            variants.iter().all(|variant| variant.begins_with(fields))
        };
        let count = (0..first.fields.len()).take_while(has).count();
        &first.fields[..count]
    }
}

impl Field {
    /// Whether it may be left out.
    pub(crate) fn may_be_absent(&self) -> bool {
        self.ty.is_optional() || self.default.is_some()
    }
}

impl Variant {
    /// Whether these are the first of its fields.
    pub(crate) fn begins_with(&self, fields: &[Field]) -> bool {
        let is_same = |(one, other): (&Field, &Field)| one.name == other.name && one.ty == other.ty;
        self.fields.len() >= fields.len() && fields.iter().zip(&self.fields).all(is_same)
    }
}

impl Ty {
    /// The shape that it names, if it does.
    #[must_use]
    pub(crate) fn shape(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Optional(inner) | Self::List(inner) => inner.shape(),
            _ => None,
        }
    }

    /// What it holds where it holds something.
    #[must_use]
    pub(crate) fn inner(&self) -> &Self {
        match self {
            Self::Optional(inner) => inner,
            other => other,
        }
    }

    /// Whether it is a time, which in JSON is a number of milliseconds.
    #[must_use]
    pub(crate) fn is_time(&self) -> bool {
        matches!(self.inner(), Self::Duration | Self::Timestamp)
    }

    /// Whether it may hold nothing.
    #[must_use]
    pub(crate) const fn is_optional(&self) -> bool {
        matches!(self, Self::Optional(_))
    }
}

/// What of the configuration is no option of an agent: it has tools and hooks with their code, and its source of runs says whose
/// ids there are.
const NO_OPTIONS: [&str; 4] = ["tools", "run_ids", "credentials", "hooks"];

impl Shapes {
    /// The fields of the configuration that are options of an agent.
    ///
    /// # Errors
    /// There is no configuration.
    pub(crate) fn options(&self) -> anyhow::Result<Vec<&Field>> {
        let fields = self.get("RunConfig")?.fields();
        Ok(fields
            .filter(|field| !NO_OPTIONS.contains(&&field.name[..]))
            .collect())
    }
}

/// What enums that may be absent are then.
const ABSENT: [(&str, &str, &str); 9] = [
    ("RunConfig", "run_ids", "Derived"),
    ("RunConfig", "credentials", "Fixed"),
    ("RunConfig", "when_busy", "Fail"),
    ("Limits", "at_limit", "Complete"),
    ("RetryPolicy", "empty_answer", "Fail"),
    ("ContextGuard", "at_limit", "Fail"),
    ("DevicePolicy", "background", "PauseClocks"),
    ("DevicePolicy", "network_change", "Keep"),
    ("DevicePolicy", "killed", "Continue"),
];

impl Field {
    /// What an enum of this record of the configuration is that is absent, in the languages where it is no option.
    pub(crate) fn if_absent(&self, of: &str) -> Option<&'static str> {
        let is_this = |(shape, name, _): &&(&str, &str, &str)| *shape == of && *name == self.name;
        ABSENT.iter().find(is_this).map(|(.., variant)| *variant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_variants_begin_with_is_common() {
        let variant = |name: &str, fields: &[&str]| Variant {
            name: name.to_owned(),
            doc: String::new(),
            fields: fields
                .iter()
                .map(|name| Field {
                    name: (*name).to_owned(),
                    doc: String::new(),
                    ty: Ty::Text,
                    default: None,
                    raw_ty: Type::String,
                })
                .collect(),
        };
        let shape = Shape {
            name: "Change".to_owned(),
            doc: String::new(),
            kind: Kind::Enum(vec![
                variant("Add", &["path", "value"]),
                variant("End", &["path"]),
            ]),
        };
        let common: Vec<_> = shape.common().iter().map(|field| &field.name).collect();
        assert_eq!(common, ["path"]);
    }
}
