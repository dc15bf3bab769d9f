//! What a run is told and asked, and the registry: methods of classes that `RunMachine` and `RunRegistry` extend.

use super::{WIDTH, Written, class, docstring};
use crate::model::{Field, Method, Ty};
use std::collections::{BTreeMap, BTreeSet};

/// A class of such methods.
struct Class {
    name: &'static str,
    doc: &'static str,
    /// The attribute that holds uniffi's object, and its class.
    inner: (&'static str, &'static str),
    /// What is written by hand.
    by_hand: &'static [&'static str],
}

const OF_MACHINE: Class = Class {
    name: "RunCalls",
    doc: "What a run is told and asked. `now` is the time, with its time zone; that of the system's clock if left out.",
    inner: ("_machine", "RunMachine"),
    by_hand: &[
        "hook_answered",
        "resume",
        "start",
        "steer",
        "steer_message",
        "tool_asks",
        "tool_finished",
        "tool_finished_parts",
    ],
};

const OF_REGISTRY: Class = Class {
    name: "RegistryCalls",
    doc: "The registry's calls. A mere id names the thread of an app that has one server and no rooms.",
    inner: ("_registry", "RunRegistry"),
    by_hand: &[],
};

/// What takes some work, or changes something, though it takes nothing: methods, where the others are properties.
const WORK: [&str; 9] = [
    "checkpoint",
    "digest",
    "end_journal",
    "poll_timeout",
    "running",
    "snapshot",
    "take_events",
    "take_journal",
    "unread_threads",
];

const BEGINNING: &str = "\
\"\"\"Generated from bindings/src.\"\"\"

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from . import stepwell_ffi as _ffi
from .._calls import answer_of, at, outputs_of
from .._record import Json, lower
from ..arguments import names_arguments
from ..stores import thread_key
";

/// The module's text; `written` has the module of each class.
pub(super) fn module(written: &Written, machine: &[Method], registry: &[Method]) -> String {
    let mut needed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut text = String::new();
    for (of, methods) in [(&OF_MACHINE, machine), (&OF_REGISTRY, registry)] {
        text.push_str(&format!("\n\n@names_arguments\nclass {}:\n", of.name));
        text.push_str(&docstring(4, of.doc, None));
        text.push_str(&format!("\n    {}: _ffi.{}\n", of.inner.0, of.inner.1));
        let generated = |method: &&Method| !of.by_hand.contains(&method.name.as_str());
        for method in methods.iter().filter(generated) {
            text.push_str(&of.method(method));
            let fields = method.arguments.iter().chain(&method.gives);
            let shapes = fields.filter_map(|field| field.ty.shape());
            for (module, class) in shapes.filter_map(|shape| written.get(&key(shape))) {
                needed.entry(module).or_default().insert(class);
            }
        }
    }
    needed.entry("effects").or_default().insert("Outputs");
    let imports = needed.iter().map(|(module, classes)| {
        let classes: Vec<_> = classes.iter().copied().collect();
        format!("from .{module} import {}\n", classes.join(", "))
    });
    format!(
        "{BEGINNING}{}\n__all__ = [\"{}\", \"{}\"]\n{text}",
        imports.collect::<String>(),
        OF_MACHINE.name,
        OF_REGISTRY.name
    )
}

fn key(shape: &str) -> (String, String) {
    (shape.to_owned(), String::new())
}

impl Class {
    fn method(&self, method: &Method) -> String {
        let name = &method.name;
        let mut declared: Vec<_> = ["self".to_owned()].into();
        declared.extend(method.arguments.iter().map(|field| argument(method, field)));
        let mut sent: Vec<_> = [format!("self.{}.{name}", self.inner.0)].into();
        sent.extend(method.arguments.iter().map(|field| value(method, field)));
        if let Some(at) = method.time_at {
            declared.extend(["*", "now: datetime | None = None"].map(ToOwned::to_owned));
            sent.insert(at + 1, "at(now)".to_owned());
        }
        let is_input = method.time_at.is_some() || name == "poll_outputs";
        let (ty, body) = match &method.gives {
            _ if is_input => ("Outputs".to_owned(), "        return outputs_of(CALL)\n"),
            None => ("None".to_owned(), "        answer_of(CALL)\n"),
            Some(answer) => (
                type_of(method, answer, false),
                "        answer: TYPE = answer_of(CALL)\n        return answer\n",
            ),
        };
        let body = body.replace("TYPE", &ty).replace("CALL", &sent.join(", "));
        let is_property =
            method.arguments.is_empty() && !is_input && !WORK.contains(&name.as_str());
        let property = if is_property { "    @property\n" } else { "" };
        let line = format!("    def {name}({}) -> {ty}:\n", declared.join(", "));
        let head = if line.trim_end().len() <= WIDTH {
            line
        } else {
            let declared = declared.join(",\n        ");
            format!("    def {name}(\n        {declared},\n    ) -> {ty}:\n")
        };
        let doc = docstring(8, &doc(method), None);
        format!("\n{property}{head}{doc}{body}")
    }
}

/// What it does, with the exceptions that it raises.
fn doc(method: &Method) -> String {
    let mut doc = method.doc.clone();
    for kind in ["InvalidArgument", "Misuse", "Stale"] {
        doc = doc.replace(&format!("`{kind}`"), &format!("`{kind}Error`"));
    }
    for field in &method.arguments {
        if *field.ty.inner() == Ty::Duration {
            doc.push_str(&format!(" `{}` is in seconds.", field.name));
        }
    }
    doc
}

/// `bytes` is a type of the language.
fn name_of(field: &Field) -> &str {
    match &field.name[..] {
        "bytes" => "data",
        name => name,
    }
}

fn argument(method: &Method, field: &Field) -> String {
    let (name, ty) = (name_of(field), type_of(method, field, true));
    if !field.may_be_absent() {
        return format!("{name}: {ty}");
    }
    let none = if ty == "Json" || ty.ends_with("None") {
        ""
    } else {
        " | None"
    };
    format!("{name}: {ty}{none} = None")
}

/// The type of what is taken, or given.
fn type_of(method: &Method, field: &Field, is_taken: bool) -> String {
    let (list, map) = if is_taken {
        ("Sequence", "Mapping")
    } else {
        ("list", "dict")
    };
    if method.is_messages(&field.name) {
        return format!("{list}[{map}[str, Json]]");
    }
    let ty = match field.ty.inner() {
        Ty::Bool => "bool".to_owned(),
        Ty::Int => "int".to_owned(),
        Ty::Float | Ty::Duration => "float".to_owned(),
        Ty::Timestamp => "datetime".to_owned(),
        Ty::Text => "str".to_owned(),
        Ty::Bytes => "bytes".to_owned(),
        Ty::Json(_) => return "Json".to_owned(),
        Ty::Map => format!("{map}[str, str]"),
        Ty::Named(shape) if shape == "ThreadKey" && is_taken => "ThreadKey | str".to_owned(),
        Ty::Named(shape) => class(shape, ""),
        Ty::List(inner) => match inner.shape() {
            Some(shape) => format!("{list}[{}]", class(shape, "")),
            None => format!("{list}[str]"),
        },
        Ty::Optional(_) => unreachable!("what is within is no option"),
    };
    if field.ty.is_optional() {
        format!("{ty} | None")
    } else {
        ty
    }
}

/// What the library is given for an argument.
fn value(method: &Method, field: &Field) -> String {
    let name = name_of(field);
    match field.ty.inner() {
        _ if method.is_messages(name) => format!("list({name})"),
        Ty::Map => format!("dict({name} or {{}})"),
        Ty::List(_) => format!("list({name})"),
        Ty::Named(shape) if shape == "ThreadKey" && field.may_be_absent() => {
            format!("None if {name} is None else lower(thread_key({name}))")
        }
        Ty::Named(shape) if shape == "ThreadKey" => format!("lower(thread_key({name}))"),
        Ty::Named(_) => format!("lower({name})"),
        _ => name.to_owned(),
    }
}
