//! Builders of the settings, for Java: it cannot call a constructor that takes unsigned numbers or Kotlin's durations.

use super::{doc, edits::IMPORTS, ty};
use crate::model::{Field, Kind, Shapes};
use anyhow::Context as _;
use heck::ToLowerCamelCase as _;
use std::collections::BTreeSet;
use uniffi_meta::Type;

/// What an app makes itself; with what they hold.
const ROOTS: [&str; 5] = [
    "RunConfig",
    "TurnOptions",
    "ToolDefinition",
    "ThreadQuery",
    "ModelPrice",
];

/// The builders of all records that Java cannot make, or makes by too many arguments.
///
/// # Errors
/// A field that has no form here.
pub(super) fn builders(shapes: &Shapes) -> anyhow::Result<String> {
    let mut text = format!(
        "// Generated from bindings/src.\n\npackage dev.stepwell\n\n{IMPORTS}import kotlin.time.toKotlinDuration\n"
    );
    let mut seen = BTreeSet::new();
    let mut next: Vec<_> = ROOTS.map(str::to_owned).into();
    while let Some(name) = next.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let shape = shapes.get(&name)?;
        next.extend(
            shape
                .fields()
                .filter_map(|field| Some(field.ty.shape()?.to_owned())),
        );
    }
    for name in seen {
        if let Kind::Record(fields) = &shapes.get(&name)?.kind
            && (ROOTS.contains(&&name[..])
                || fields
                    .iter()
                    .any(|field| Signed::of(&field.raw_ty).is_some()))
        {
            text.push_str(
                &builder(&name, fields).with_context(|| format!("a builder of `{name}`"))?,
            );
        }
    }
    Ok(text)
}

/// A type as Java has it, where that is not Kotlin's.
struct Signed {
    ty: &'static str,
    into: &'static str,
    is_number: bool,
    is_optional: bool,
}

impl Signed {
    fn of(ty: &Type) -> Option<Self> {
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
                let inner = Self::of(inner_type)?;
                Some(Self {
                    is_optional: true,
                    ..inner
                })
            }
            _ => None,
        }
    }
}

/// A field as an argument: its type, and what it becomes.
fn argument(field: &Field, name: &str) -> anyhow::Result<(String, String)> {
    Ok(match Signed::of(&field.raw_ty) {
        Some(signed) => {
            let (mark, dot) = if signed.is_optional {
                ("?", "?.")
            } else {
                ("", ".")
            };
            let checked = if signed.is_number {
                "notNegative()."
            } else {
                ""
            };
            let checked = checked.replace('.', dot);
            (
                format!("{}{mark}", signed.ty),
                format!("{name}{dot}{checked}{}", signed.into),
            )
        }
        None => (ty(&field.raw_ty)?, name.to_owned()),
    })
}

fn builder(of: &str, fields: &[Field]) -> anyhow::Result<String> {
    let (mut parameters, mut arguments, mut setters) = (Vec::new(), Vec::new(), String::new());
    for field in fields {
        let name = field.name.to_lower_camel_case();
        if field.default.is_none() {
            let (ty, value) = argument(field, &name)?;
            parameters.push(format!("{name}: {ty}"));
            arguments.push(format!("{name} = {value}"));
            continue;
        }
        let (ty, value) = argument(field, "value")?;
        setters.push_str(&format!(
            "{}    public fun {name}(value: {ty}): {of}Builder = apply {{\n        made = made.copy({name} = {value})\n    }}\n\n",
            doc(&field.doc)
        ));
    }
    Ok(format!(
        "\n/** Makes a [{of}], for Java. What is not set is as by default. */\n\
         public class {of}Builder({}) {{\n    private var made: {of} = {of}({})\n\n{setters}\
         \x20   /** What was set. */\n    public fun build(): {of} = made\n}}\n",
        parameters.join(", "),
        arguments.join(", "),
    ))
}
