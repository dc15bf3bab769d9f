//! Builders of the settings, for Java, which cannot call a constructor that takes unsigned numbers or Kotlin's
//! durations.

use super::ty;
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
    /// The records that Java cannot make, or that have too many arguments, by name.
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
            let mut types = fields.iter().map(|field| &field.raw_ty);
            if ROOTS.contains(&name) || types.any(|ty| Signed::new(ty).is_some()) {
                records.push((name.to_owned(), &fields[..]));
            }
        }
        Ok(Self { records })
    }
}

/// A type that has another form in Java than in Kotlin.
struct Signed {
    ty: &'static str,
    into: &'static str,
    is_number: bool,
    is_optional: bool,
}

impl Signed {
    fn new(ty: &Type) -> Option<Self> {
        let signed = |ty, into, is_number| Self {
            ty,
            into,
            is_number,
            is_optional: false,
        };
        match ty {
            Type::UInt32 => Some(signed("Int", "toUInt()", true)),
            Type::UInt64 => Some(signed("Long", "toULong()", true)),
            Type::Custom { name, .. } if name == "Duration" => {
                Some(signed("java.time.Duration", "toKotlinDuration()", false))
            }
            Type::Optional { inner_type } => {
                let inner = Self::new(inner_type)?;
                Some(Self {
                    is_optional: true,
                    ..inner
                })
            }
            _ => None,
        }
    }
}

/// Returns a field's type as a parameter, and the expression of its value.
fn parameter(field: &Field, name: &str) -> anyhow::Result<(String, String)> {
    let Some(signed) = Signed::new(&field.raw_ty) else {
        return Ok((ty(&field.raw_ty)?, name.to_owned()));
    };
    let (mark, dot) = match signed.is_optional {
        true => ("?", "?."),
        false => ("", "."),
    };
    let check = match signed.is_number {
        true => format!("{dot}notNegative()"),
        false => String::new(),
    };
    Ok((
        format!("{}{mark}", signed.ty),
        format!("{name}{check}{dot}{}", signed.into),
    ))
}
