//! The records, enums and methods that the library declares.

use anyhow::Context as _;
use std::collections::BTreeMap;
use uniffi_meta::Type;

/// All records and enums of the library.
pub(crate) struct Shapes(pub(crate) BTreeMap<String, Shape>);

/// A method of one of the library's objects.
pub(crate) struct Method {
    /// The name in Rust.
    pub(crate) name: String,
    /// The documentation.
    pub(crate) doc: String,
    /// The arguments in order, without the time.
    pub(crate) arguments: Vec<Field>,
    /// The position of the time among the arguments, if the method is an input of a run.
    pub(crate) time_at: Option<usize>,
    /// The returned value, as a field called `answer`.
    pub(crate) returns: Option<Field>,
}

/// A record or an enum.
pub(crate) struct Shape {
    /// The name in Rust.
    pub(crate) name: String,
    /// The documentation.
    pub(crate) doc: String,
    /// The fields or variants.
    pub(crate) kind: ShapeKind,
}

/// What a shape holds.
pub(crate) enum ShapeKind {
    /// Fields.
    Record(Vec<Field>),
    /// One of these variants.
    Enum(Vec<Variant>),
}

/// A variant of an enum.
pub(crate) struct Variant {
    /// The name in Rust.
    pub(crate) name: String,
    /// The documentation.
    pub(crate) doc: String,
    /// The fields of the variant.
    pub(crate) fields: Vec<Field>,
}

/// A field of a record or of a variant.
#[derive(Clone)]
pub(crate) struct Field {
    /// The name in Rust.
    pub(crate) name: String,
    /// The documentation.
    pub(crate) doc: String,
    /// The type.
    pub(crate) ty: Ty,
    /// The default, if the field may be left out.
    pub(crate) default: Option<Default>,
    /// The type for uniffi, for the languages whose records are uniffi's own.
    pub(crate) raw_ty: Type,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    /// A Boolean.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// A duration.
    Duration,
    /// A point in time.
    Timestamp,
    /// JSON.
    Json(Json),
    /// Another shape.
    Named(String),
    /// A value that may be absent.
    Optional(Box<Self>),
    /// A list.
    List(Box<Self>),
    /// A map of texts to texts.
    Map,
}

/// The form of JSON that a field holds.
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

/// The value of a field that is left out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Default {
    /// The default of the field's type.
    OfType,
    /// No value.
    Nothing,
    /// A Boolean.
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
    /// Returns the shape of this name.
    ///
    /// # Errors
    /// The library has no such shape.
    pub(crate) fn get(&self, name: &str) -> anyhow::Result<&Shape> {
        self.0
            .get(name)
            .with_context(|| format!("the library has no shape `{name}`"))
    }
}

impl Shape {
    /// The variants of an enum.
    #[must_use]
    pub(crate) fn variants(&self) -> &[Variant] {
        match &self.kind {
            ShapeKind::Record(_) => &[],
            ShapeKind::Enum(variants) => variants,
        }
    }

    /// Returns whether the shape is an enum whose variants have no fields.
    #[must_use]
    pub(crate) fn is_flat(&self) -> bool {
        matches!(self.kind, ShapeKind::Enum(_))
            && self
                .variants()
                .iter()
                .all(|variant| variant.fields.is_empty())
    }

    /// The fields of a record.
    #[must_use]
    pub(crate) fn record_fields(&self) -> &[Field] {
        match &self.kind {
            ShapeKind::Record(fields) => fields,
            ShapeKind::Enum(_) => &[],
        }
    }

    /// All fields, also those of variants.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &Field> {
        let own = self.record_fields();
        let of_variants = self.variants().iter().flat_map(|variant| &variant.fields);
        own.iter().chain(of_variants)
    }
}

impl Method {
    /// Returns whether the method is an input of a run.
    #[must_use]
    pub(crate) const fn takes_time(&self) -> bool {
        self.time_at.is_some()
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
    /// Returns whether the field may be left out.
    pub(crate) fn may_be_absent(&self) -> bool {
        self.ty.is_optional() || self.default.is_some()
    }
}

impl Variant {
    /// Returns whether these are the variant's first fields.
    pub(crate) fn begins_with(&self, fields: &[Field]) -> bool {
        let is_same = |(one, other): (&Field, &Field)| one.name == other.name && one.ty == other.ty;
        self.fields.len() >= fields.len() && fields.iter().zip(&self.fields).all(is_same)
    }
}

impl Ty {
    /// Returns the shape that the type mentions, if it does.
    #[must_use]
    pub(crate) fn shape(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Optional(inner) | Self::List(inner) => inner.shape(),
            _ => None,
        }
    }

    /// Returns the type of a value that is not absent.
    #[must_use]
    pub(crate) fn inner(&self) -> &Self {
        match self {
            Self::Optional(inner) => inner,
            other => other,
        }
    }

    /// Returns whether the type is a time, which is a number of milliseconds in JSON.
    #[must_use]
    pub(crate) fn is_time(&self) -> bool {
        matches!(self.inner(), Self::Duration | Self::Timestamp)
    }

    /// Returns whether the value may be absent.
    #[must_use]
    pub(crate) const fn is_optional(&self) -> bool {
        matches!(self, Self::Optional(_))
    }
}

/// Fields of the configuration that are not options of an agent: an agent takes tools, hooks, credentials and the run
/// source with their code.
const NO_OPTIONS: [&str; 4] = ["tools", "run_ids", "credentials", "hooks"];

impl Shapes {
    /// The fields of the configuration that are options of an agent.
    ///
    /// # Errors
    /// The library has no `RunConfig`.
    pub(crate) fn options(&self) -> anyhow::Result<Vec<&Field>> {
        let fields = self.get("RunConfig")?.fields();
        Ok(fields
            .filter(|field| !NO_OPTIONS.contains(&&field.name[..]))
            .collect())
    }
}

/// The variants that an absent enum means: record, field and variant.
const ABSENT: [(&str, &str, &str); 8] = [
    ("RunConfig", "run_ids", "Derived"),
    ("RunConfig", "credentials", "Fixed"),
    ("RunConfig", "when_busy", "Fail"),
    ("Limits", "at_limit", "Complete"),
    ("ContextGuard", "at_limit", "Fail"),
    ("DevicePolicy", "background", "PauseClocks"),
    ("DevicePolicy", "network_change", "Keep"),
    ("DevicePolicy", "killed", "Continue"),
];

impl Field {
    /// Returns the variant that an absent enum of this record means, in the languages where it cannot be absent.
    pub(crate) fn if_absent(&self, of: &str) -> Option<&'static str> {
        let is_this = |(shape, name, _): &&(&str, &str, &str)| *shape == of && *name == self.name;
        ABSENT.iter().find(is_this).map(|(.., variant)| *variant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_fields_common_to_all_variants() {
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
            kind: ShapeKind::Enum(vec![
                variant("Add", &["path", "value"]),
                variant("End", &["path"]),
            ]),
        };
        let common: Vec<_> = shape.common().iter().map(|field| &field.name).collect();
        assert_eq!(common, ["path"]);
    }
}
