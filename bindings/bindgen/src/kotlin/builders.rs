//! Builders of the settings: the blocks of an agent's builder, such as `limits { … }`, and Java's way to make them, where a
//! constructor that takes Kotlin's durations cannot be called.

use super::{field_ty, ty};
use crate::model::{Field, ShapeKind, Shapes};
use askama::Template;
use heck::ToLowerCamelCase as _;
use std::collections::BTreeSet;
use uniffi_meta::Type;

/// The records that an app makes. The file also has builders of the records that these hold.
const ROOTS: [&str; 5] = [
    "RunConfig",
    "TurnOptions",
    "ToolDefinition",
    "ThreadQuery",
    "ModelPrice",
];

/// `Builders.kt`.
#[derive(Template)]
#[template(path = "Builders.kt", escape = "none")]
pub(super) struct Builders<'s> {
    /// The records with settings that may be left out, by name.
    records: Vec<(String, &'s [Field])>,
}

impl<'s> Builders<'s> {
    pub(super) fn new(shapes: &'s Shapes) -> anyhow::Result<Self> {
        let mut seen = BTreeSet::new();
        let mut next: Vec<_> = ROOTS.into();
        while let Some(name) = next.pop() {
            if seen.insert(name) {
                let fields = shapes.get(name)?.fields();
                next.extend(fields.filter_map(|field| field.ty.shape()));
            }
        }
        let mut records = Vec::new();
        for name in seen {
            let ShapeKind::Record(fields) = &shapes.get(name)?.kind else {
                continue;
            };
            if fields.iter().any(|field| field.default.is_some()) {
                records.push((name.to_owned(), &fields[..]));
            }
        }
        Ok(Self { records })
    }
}

/// Returns whether a field is a time, which has another type in Java, and whether it may be absent.
fn time(ty: &Type) -> Option<bool> {
    match ty {
        Type::Custom { name, .. } if name == "Duration" => Some(false),
        Type::Optional { inner_type } => time(inner_type).map(|_| true),
        _ => None,
    }
}

/// Returns a field's type as a parameter for Java, and the expression of its value.
fn parameter(field: &Field, name: &str) -> anyhow::Result<(String, String)> {
    Ok(match time(&field.raw_ty) {
        None => (ty(&field.raw_ty)?, name.to_owned()),
        Some(false) => (
            "java.time.Duration".to_owned(),
            format!("{name}.toKotlinDuration()"),
        ),
        Some(true) => (
            "java.time.Duration?".to_owned(),
            format!("{name}?.toKotlinDuration()"),
        ),
    })
}

/// Returns the check of a number that is set, before it is.
fn check(field: &Field) -> &'static str {
    match &field.raw_ty {
        Type::UInt32 | Type::UInt64 => ".notNegative()",
        Type::Optional { inner_type } if matches!(**inner_type, Type::UInt32 | Type::UInt64) => {
            "?.notNegative()"
        }
        _ => "",
    }
}
