//! Python: the configuration, dataclasses that the app makes and that are lowered to uniffi's own.

use super::{ConfigField, FORMS, docstring, literal, with_unit};
use crate::forms;
use crate::model::{Field, Json, Shape, ShapeKind, Shapes, Ty};
use anyhow::bail;
use askama::Template;
use heck::ToSnakeCase as _;
use std::collections::BTreeSet;

/// `config.py`.
#[derive(Template)]
#[template(path = "config.py", escape = "none")]
pub(super) struct File<'s> {
    shapes: &'s Shapes,
    names: BTreeSet<&'s str>,
    classes: Vec<(&'s Shape, &'s [Field])>,
}

impl<'s> File<'s> {
    pub(super) fn new(shapes: &'s Shapes) -> anyhow::Result<Self> {
        let mut file = Self {
            shapes,
            names: BTreeSet::new(),
            classes: Vec::new(),
        };
        file.add("RunConfig")?;
        Ok(file)
    }

    /// Adds a record, preceded by those that it mentions.
    fn add(&mut self, name: &str) -> anyhow::Result<()> {
        let shape = self.shapes.get(name)?;
        let ShapeKind::Record(fields) = &shape.kind else {
            return Ok(());
        };
        if self.names.insert(&shape.name) {
            let plain = fields.iter().filter(|field| special(name, field).is_none());
            for mentioned in plain.filter_map(|field| field.ty.shape()) {
                self.add(mentioned)?;
            }
            self.classes.push((shape, fields));
        }
        Ok(())
    }

    fn field_doc(&self, of: &str, field: &Field) -> anyhow::Result<String> {
        let shape = field.ty.shape().map(|name| self.shapes.get(name));
        Ok(docstring(
            4,
            &with_unit(field, doc(of, field)),
            shape.transpose()?,
        ))
    }
}

fn special(of: &str, field: &Field) -> Option<&'static ConfigField> {
    forms::of(&FORMS.config, of, &field.name)
}

fn doc<'s>(of: &str, field: &'s Field) -> &'s str {
    let special = special(of, field).and_then(|special| special.doc.as_deref());
    special.unwrap_or(&field.doc)
}

/// Formats the field with its type and default.
fn declared(shapes: &Shapes, of: &str, field: &Field) -> anyhow::Result<String> {
    if let Some(special) = special(of, field) {
        return Ok(special.declared.clone());
    }
    let name = &field.name;
    let inner = match field.ty.inner() {
        Ty::Bool => "bool".to_owned(),
        Ty::Int => "int".to_owned(),
        Ty::Float | Ty::Duration => "float".to_owned(),
        Ty::Text => "str".to_owned(),
        Ty::Json(Json::Object) => {
            return Ok(format!(
                "{name}: Mapping[str, Json] = field(default_factory=dict)"
            ));
        }
        Ty::Named(name) => named(shapes, name)?,
        Ty::List(inner) if inner.shape().is_some() => {
            format!(
                "Sequence[{}]",
                named(shapes, inner.shape().unwrap_or_default())?
            )
        }
        _ => bail!("Python's configuration has no form for `{of}.{name}`"),
    };
    let absent = field.if_absent(of);
    let is_nullable = field.ty.is_optional() && absent.is_none();
    let null = if is_nullable { " | None" } else { "" };
    let default = match (absent, &field.default) {
        (Some(variant), _) => format!(" = \"{}\"", variant.to_snake_case()),
        (None, None) => String::new(),
        (None, Some(default)) => format!(" = {}", literal(&field.ty, &inner, default)),
    };
    Ok(format!("{name}: {inner}{null}{default}"))
}

fn named(shapes: &Shapes, name: &str) -> anyhow::Result<String> {
    let shape = shapes.get(name)?;
    if !shape.is_flat() {
        return Ok(name.to_owned());
    }
    let variants = shape.variants().iter();
    let words = variants.map(|variant| format!("\"{}\"", variant.name.to_snake_case()));
    Ok(format!("Literal[{}]", words.collect::<Vec<_>>().join(", ")))
}

/// Returns the expression of the field's value as uniffi takes it.
fn lowered(shapes: &Shapes, of: &str, field: &Field) -> anyhow::Result<String> {
    if let Some(special) = special(of, field) {
        return Ok(special.lowered.clone());
    }
    let own = format!("self.{}", field.name);
    let if_given = |lowered: String, is_nullable: bool| match is_nullable {
        true => format!("{lowered} if {own} else None"),
        false => lowered,
    };
    let is_nullable = field.ty.is_optional();
    Ok(match field.ty.inner() {
        Ty::Json(_) => if_given(format!("dict({own})"), true),
        Ty::List(inner) => match inner.shape() {
            Some(name) if shapes.get(name)?.is_flat() => {
                format!("[_ffi.{name}[each.upper()] for each in {own}]")
            }
            _ => format!("[each.lower() for each in {own}]"),
        },
        Ty::Named(name) if shapes.get(name)?.is_flat() => if_given(
            format!("_ffi.{name}[{own}.upper()]"),
            is_nullable && field.if_absent(of).is_none(),
        ),
        Ty::Named(_) => if_given(format!("{own}.lower()"), is_nullable),
        _ => own,
    })
}
