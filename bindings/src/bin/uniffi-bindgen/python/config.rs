//! Python: the configuration, dataclasses that are made by the app and lowered to the library's own.

use super::{docstring, literal, with_unit};
use crate::model::{Field, Json, Kind, Shape, Shapes, Ty};
use anyhow::bail;
use heck::ToSnakeCase as _;
use std::collections::BTreeSet;

/// A field that Python has in another form.
struct Special {
    shape: &'static str,
    field: &'static str,
    declared: &'static str,
    /// What it is; as in Rust if empty.
    doc: &'static str,
    lowered: &'static str,
}

const SPECIAL: [Special; 6] = [
    Special {
        shape: "RunConfig",
        field: "key",
        declared: "key: str | None = field(default=None, repr=False)",
        doc: "",
        lowered: "self.key",
    },
    Special {
        shape: "RunConfig",
        field: "headers",
        declared: "headers: Mapping[str, str] = field(default_factory=dict, repr=False)",
        doc: "",
        lowered: "dict(self.headers)",
    },
    Special {
        shape: "RunConfig",
        field: "tools",
        declared: "tools: Sequence[Tool[..., Any] | Callable[..., Any]] = ()",
        doc: "The tools on offer.",
        lowered: "[lower_tool(tool) for tool in self.tools]",
    },
    Special {
        shape: "RunConfig",
        field: "providers",
        declared: "providers: Sequence[Mapping[str, Json]] = ()",
        doc: "Providers of the app's own, for `provider` to name, each as in the file that `stepwell --providers` takes.",
        lowered: "lower_providers(self.providers)",
    },
    Special {
        shape: "GenerationSettings",
        field: "tool_choice",
        declared: "tool_choice: Literal[\"auto\", \"never\", \"required\"] | Tool[..., Any] = \"auto\"",
        doc: "Whether the model may, must or must not call tools; or the one tool that it must call.",
        lowered: "lower_tool_choice(self.tool_choice)",
    },
    Special {
        shape: "GenerationSettings",
        field: "response_format",
        declared: "response_format: Literal[\"text\", \"json\"] | JsonSchema = \"text\"",
        doc: "What form the answer has.",
        lowered: "lower_response_format(self.response_format)",
    },
];

const BEGINNING: &str = r#""""Generated from bindings/src."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .._record import Json
from .._settings import (
    JsonSchema,
    lower_providers,
    lower_response_format,
    lower_tool,
    lower_tool_choice,
)
from ..arguments import checks_fields
from ..tools import Tool
from . import stepwell_ffi as _ffi

"#;

/// The module's text.
pub(super) fn module(shapes: &Shapes) -> anyhow::Result<String> {
    let mut file = File {
        shapes,
        classes: BTreeSet::new(),
        text: String::new(),
    };
    file.write("RunConfig")?;
    let all: String = file
        .classes
        .iter()
        .map(|class| format!("    \"{class}\",\n"))
        .collect();
    Ok(format!("{BEGINNING}__all__ = [\n{all}]\n{}", file.text))
}

/// A field as an argument of a function.
pub(super) struct Argument {
    /// Its type and default.
    pub(super) declared: String,
    /// The field, made of the argument.
    pub(super) value: String,
    /// What it is.
    pub(super) doc: String,
}

/// A field of the configuration as an argument: one whose default is made anew for each may be `None`.
pub(super) fn argument(shapes: &Shapes, of: &str, field: &Field) -> anyhow::Result<Argument> {
    let file = File {
        shapes,
        classes: BTreeSet::new(),
        text: String::new(),
    };
    let special = special(of, field);
    let doc = special.map(|special| special.doc);
    let declared = match special {
        Some(special) => special.declared.to_owned(),
        None => file.declared(of, field)?,
    };
    let name = &field.name;
    let declared = declared.trim_start_matches(&format!("{name}: "));
    let (ty, default) = match declared.split_once(" = ") {
        Some((ty, default)) => (ty, Some(default)),
        None => (declared, None),
    };
    let of_none = |made: &str| {
        let value = format!("{made} if {name} is None else {name}");
        (format!("{ty} | None = None"), value)
    };
    let plain = |default: &str| (format!("{ty} = {default}"), name.clone());
    let (declared, value) = match default {
        None => (ty.to_owned(), name.clone()),
        Some(default) if default.contains("default=None") => plain("None"),
        Some(default) if default.contains("default_factory=dict") => of_none("{}"),
        Some(default) if default.ends_with("()") && default != "()" => of_none(default),
        Some(default) => plain(default),
    };
    Ok(Argument {
        declared,
        value,
        doc: doc
            .filter(|doc| !doc.is_empty())
            .unwrap_or(&field.doc)
            .to_owned(),
    })
}

struct File<'s> {
    shapes: &'s Shapes,
    classes: BTreeSet<String>,
    text: String,
}

impl File<'_> {
    /// Writes a record, and before it those that it names.
    fn write(&mut self, name: &str) -> anyhow::Result<()> {
        let shape = self.shapes.get(name)?;
        let Kind::Record(fields) = &shape.kind else {
            return Ok(());
        };
        if !self.classes.insert(name.to_owned()) {
            return Ok(());
        }
        for field in fields {
            if let Some(named) = field.ty.shape()
                && special(name, field).is_none()
            {
                self.write(named)?;
            }
        }
        let head =
            format!("\n\n@dataclass(frozen=True, kw_only=True)\n@checks_fields\nclass {name}:\n");
        self.text.push_str(&head);
        self.doc(&shape.doc, None);
        self.text.push('\n');
        let mut lowered = String::new();
        for field in fields {
            let (declared, doc, value) = match special(name, field) {
                Some(special) if special.doc.is_empty() => (
                    special.declared.to_owned(),
                    &field.doc[..],
                    special.lowered.to_owned(),
                ),
                Some(special) => (
                    special.declared.to_owned(),
                    special.doc,
                    special.lowered.to_owned(),
                ),
                None => (
                    self.declared(name, field)?,
                    &field.doc[..],
                    self.lowered(name, field)?,
                ),
            };
            self.text.push_str(&format!("    {declared}\n"));
            let told = field
                .ty
                .shape()
                .map(|name| self.shapes.get(name))
                .transpose()?;
            self.doc(&with_unit(field, doc), told);
            let theirs = &field.name;
            lowered.push_str(&format!("            {theirs}={value},\n"));
        }
        self.text.push_str(&format!(
            "\n    def lower(self) -> _ffi.{name}:\n        \"\"\"The library's form.\"\"\"\n        return _ffi.{name}(\n{lowered}        )\n"
        ));
        Ok(())
    }

    fn doc(&mut self, doc: &str, of: Option<&Shape>) {
        let text = docstring(4, doc, of);
        self.text.push_str(&text);
    }

    /// The field with its type and default.
    fn declared(&self, of: &str, field: &Field) -> anyhow::Result<String> {
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
            Ty::Named(name) => self.named(name)?,
            Ty::List(inner) => match inner.shape() {
                Some(inner) => format!("Sequence[{}]", self.named(inner)?),
                None => bail!("the configuration of Python has no form for `{of}.{name}`"),
            },
            _ => bail!("the configuration of Python has no form for `{of}.{name}`"),
        };
        let absent = field.if_absent(of);
        let optional = if field.ty.is_optional() && absent.is_none() {
            " | None"
        } else {
            ""
        };
        let default = match (absent, &field.default) {
            (Some(variant), _) => format!(" = \"{}\"", variant.to_snake_case()),
            (None, None) => String::new(),
            (None, Some(default)) => format!(" = {}", literal(&field.ty, &inner, default)),
        };
        Ok(format!("{name}: {inner}{optional}{default}"))
    }

    fn named(&self, name: &str) -> anyhow::Result<String> {
        let shape = self.shapes.get(name)?;
        if !shape.is_flat() {
            return Ok(name.to_owned());
        }
        let words = shape
            .variants()
            .iter()
            .map(|variant| format!("\"{}\"", variant.name.to_snake_case()));
        Ok(format!("Literal[{}]", words.collect::<Vec<_>>().join(", ")))
    }

    /// The value as the library takes it.
    fn lowered(&self, of: &str, field: &Field) -> anyhow::Result<String> {
        let own = format!("self.{}", field.name);
        let lowered = match field.ty.inner() {
            Ty::Json(_) => format!("dict({own}) if {own} else None"),
            Ty::List(inner) => match inner.shape() {
                Some(name) if self.shapes.get(name)?.is_flat() => {
                    format!("[_ffi.{name}[each.upper()] for each in {own}]")
                }
                _ => format!("[each.lower() for each in {own}]"),
            },
            Ty::Named(name) if self.shapes.get(name)?.is_flat() => {
                let lowered = format!("_ffi.{name}[{own}.upper()]");
                if field.if_absent(of).is_none() && field.ty.is_optional() {
                    format!("{lowered} if {own} else None")
                } else {
                    lowered
                }
            }
            Ty::Named(_) if field.ty.is_optional() => format!("{own}.lower() if {own} else None"),
            Ty::Named(_) => format!("{own}.lower()"),
            _ => own,
        };
        Ok(lowered)
    }
}

fn special(of: &str, field: &Field) -> Option<&'static Special> {
    SPECIAL
        .iter()
        .find(|special| special.shape == of && special.field == field.name)
}
