//! The calls of the machine and the registry: methods of classes that `RunMachine` and `RunRegistry` extend.

use super::{comment, ty};
use crate::json;
use crate::model::{Field, Json, Method, Ty};
use askama::Template;
use std::collections::BTreeSet;

/// Calls without arguments that are methods instead of properties, since they take some work or change something.
const WORK: [&str; 7] = [
    "checkpoint",
    "digest",
    "poll_timeout",
    "running",
    "snapshot",
    "take_events",
    "unread_threads",
];

/// `calls.ts`.
#[derive(Template)]
#[template(path = "calls.ts", escape = "none")]
pub(super) struct Calls<'s> {
    /// The imported types.
    types: BTreeSet<&'s str>,
    machine: Vec<&'s Method>,
    registry: Vec<&'s Method>,
}

impl<'s> Calls<'s> {
    pub(super) fn new(machine: &'s [Method], registry: &'s [Method]) -> Self {
        let [machine, registry] = [machine, registry].map(|methods| {
            let methods = methods.iter();
            methods
                .filter(|method| method.is_call())
                .collect::<Vec<_>>()
        });
        let methods = machine.iter().chain(&registry);
        let fields = methods.flat_map(|method| method.arguments.iter().chain(&method.returns));
        let mut types: BTreeSet<_> = fields.filter_map(|field| field.ty.shape()).collect();
        types.extend(["Json", "Message", "Outputs"]);
        Self {
            types,
            machine,
            registry,
        }
    }
}

/// Returns the returned type, the type argument of the call, and the conversion of the call's answer.
fn answer(method: &Method, answer: &Field) -> [String; 3] {
    let ty = type_of(method, answer);
    if answer.ty.is_optional() && !matches!(answer.ty.inner(), Ty::Json(_)) {
        let argument = format!("<{ty} | null>");
        [ty + " | undefined", argument, " ?? undefined".to_owned()]
    } else {
        [ty, String::new(), String::new()]
    }
}

fn is_property(method: &Method) -> bool {
    method.arguments.is_empty() && !WORK.contains(&&method.name[..])
}

/// Returns the documentation, with the names that the arguments have here.
fn doc(method: &Method) -> String {
    let in_code = |name: &str| format!("`{name}`");
    method
        .arguments
        .iter()
        .fold(method.json_doc(), |doc, field| {
            doc.replace(&in_code(&field.name), &in_code(&argument_name(field)))
        })
}

/// The declared parameters.
fn parameters(method: &Method) -> String {
    let parameters = method.arguments.iter();
    let mut parameters: Vec<_> = parameters.map(|field| parameter(method, field)).collect();
    if let Some(at) = method.time_at {
        parameters.insert(at, "nowMs?: number | null".to_owned());
    }
    parameters.join(", ")
}

/// The argument with the fields that are sent besides the call's name.
fn fields(method: &Method) -> String {
    let fields: Vec<_> = method.arguments.iter().map(sent).collect();
    match fields.is_empty() {
        true => String::new(),
        false => format!(", {{ {} }}", fields.join(", ")),
    }
}

fn parameter(method: &Method, field: &Field) -> String {
    let name = argument_name(field);
    let mut ty = type_of(method, field);
    // For an app with one server and no rooms, an id alone names the thread.
    if ty == "ThreadKey" {
        ty += " | string";
    }
    if field.may_be_absent() {
        let null = if ty == "Json" { "" } else { " | null" };
        format!("{name}?: {ty}{null}")
    } else {
        format!("{name}: {ty}")
    }
}

fn type_of(method: &Method, field: &Field) -> String {
    if method.is_content(&field.name) {
        "string | Json[]".to_owned()
    } else if method.is_messages(&field.name) {
        "Message[]".to_owned()
    } else {
        match field.ty.inner() {
            Ty::Bytes => "Uint8Array".to_owned(),
            Ty::Json(_) => ty(&Ty::Json(Json::Any)),
            other => ty(other),
        }
    }
}

/// `arguments` is a word of the language.
fn argument_name(field: &Field) -> String {
    match &field.name[..] {
        "arguments" => "edited".to_owned(),
        _ => json::key(field),
    }
}

/// Returns the field as it is sent: an absent one is left out.
fn sent(field: &Field) -> String {
    let (key, name) = (json::key(field), argument_name(field));
    let value = match field.ty.inner() {
        Ty::Bytes => format!("bodyText({name})"),
        Ty::Duration => format!("milliseconds({name})"),
        Ty::Named(shape) if shape == "ThreadKey" && field.may_be_absent() => {
            format!("{name} == null ? undefined : threadKey({name})")
        }
        Ty::Named(shape) if shape == "ThreadKey" => format!("threadKey({name})"),
        _ if field.may_be_absent() => format!("{name} ?? undefined"),
        _ => name.clone(),
    };
    if value == key {
        key
    } else {
        format!("{key}: {value}")
    }
}
