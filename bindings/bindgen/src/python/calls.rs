//! The calls of the machine and the registry: methods of classes that `RunMachine` and `RunRegistry` extend.

use super::{Classes, WIDTH, class_name, comma_separated, ty};
use crate::model::{Field, Method, Ty};
use askama::Template;
use std::collections::{BTreeMap, BTreeSet};

/// A class of such methods.
struct Class {
    name: &'static str,
    doc: &'static str,
    /// The attribute with uniffi's object.
    inner: &'static str,
    inner_class: &'static str,
    /// The methods that are written by hand.
    by_hand: &'static [&'static str],
}

const OF_MACHINE: Class = Class {
    name: "RunCalls",
    doc: "What a run is told and asked. `now` is the time, with its time zone; that of the system's clock if left out.",
    inner: "_machine",
    inner_class: "RunMachine",
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
    inner: "_registry",
    inner_class: "RunRegistry",
    by_hand: &[],
};

/// Calls without arguments that are methods and no properties, since they take some work or change something.
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

/// `calls.py`.
#[derive(Template)]
#[template(path = "calls.py", escape = "none")]
pub(super) struct File<'s> {
    /// The classes that are imported, by their module.
    imports: BTreeMap<&'static str, BTreeSet<String>>,
    classes: [(Class, Vec<&'s Method>); 2],
}

impl<'s> File<'s> {
    pub(super) fn new(classes: &Classes, machine: &'s [Method], registry: &'s [Method]) -> Self {
        let with_methods = |class: Class, methods: &'s [Method]| {
            let is_generated = |method: &&Method| !class.by_hand.contains(&&method.name[..]);
            let methods: Vec<_> = methods.iter().filter(is_generated).collect();
            (class, methods)
        };
        let with_methods = [
            with_methods(OF_MACHINE, machine),
            with_methods(OF_REGISTRY, registry),
        ];
        let methods = with_methods.iter().flat_map(|(_, methods)| methods);
        let fields = methods.flat_map(|method| method.arguments.iter().chain(&method.returns));
        let mut imports = BTreeMap::<_, BTreeSet<_>>::new();
        for shape in fields
            .filter_map(|field| field.ty.shape())
            .chain(["Outputs"])
        {
            if let Some((module, class)) = classes.get(&(shape.to_owned(), String::new())) {
                imports.entry(*module).or_default().insert(class.clone());
            }
        }
        Self {
            imports,
            classes: with_methods,
        }
    }
}

impl Class {
    /// Returns the arguments of the function that calls uniffi's method.
    fn call(&self, method: &Method) -> String {
        let mut sent = vec![format!("self.{}.{}", self.inner, method.name)];
        sent.extend(method.arguments.iter().map(|field| value(method, field)));
        if let Some(at) = method.time_at {
            sent.insert(at + 1, "at(now)".to_owned());
        }
        sent.join(", ")
    }
}

/// Returns whether the method returns the outputs of an input.
fn is_outputs(method: &Method) -> bool {
    method.takes_time() || method.name == "poll_outputs"
}

fn is_property(method: &Method) -> bool {
    let is_method = is_outputs(method) || WORK.contains(&&method.name[..]);
    method.arguments.is_empty() && !is_method
}

fn returned(method: &Method) -> String {
    match &method.returns {
        _ if is_outputs(method) => "Outputs".to_owned(),
        None => "None".to_owned(),
        Some(answer) => type_of(method, answer, false),
    }
}

/// Formats the line that declares the method, or the lines if one is too long.
fn head(method: &Method) -> String {
    let (name, ty) = (&method.name, returned(method));
    let mut declared = vec!["self".to_owned()];
    declared.extend(method.arguments.iter().map(|field| argument(method, field)));
    if method.takes_time() {
        declared.extend(["*", "now: datetime | None = None"].map(ToOwned::to_owned));
    }
    let line = format!("    def {name}({}) -> {ty}:", declared.join(", "));
    if line.len() <= WIDTH {
        return line;
    }
    let declared = declared.join(",\n        ");
    format!("    def {name}(\n        {declared},\n    ) -> {ty}:")
}

/// Returns the documentation with Python's names of the exceptions, and the units of times.
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

/// The name of an argument. `bytes` is a type of the language.
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

/// Returns the type of an argument or of what is returned.
fn type_of(method: &Method, field: &Field, is_argument: bool) -> String {
    let names = match is_argument {
        true => ["Sequence", "Mapping"],
        false => ["list", "dict"],
    };
    if method.is_messages(&field.name) {
        let [list, map] = names;
        return format!("{list}[{map}[str, Json]]");
    }
    if matches!(field.ty.inner(), Ty::Json(_)) {
        return "Json".to_owned();
    }
    ty(&field.ty, names, &|shape| match shape {
        "ThreadKey" if is_argument => "ThreadKey | str".to_owned(),
        _ => class_name(shape, ""),
    })
}

/// Returns the expression of an argument as uniffi takes it.
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
