//! Python: frozen dataclasses of what the library gives, and which of its own classes each stands for.

mod agent;
mod calls;
mod config;
mod values;

use crate::doc::Style;
use crate::model::{Default, Field, Json, Kind, Method, Shape, Shapes, Ty, Variant};
use anyhow::{Context as _, ensure};
use camino::Utf8Path;
use heck::{ToKebabCase as _, ToShoutySnakeCase as _, ToSnakeCase as _};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

pub(crate) const STYLE: Style = Style {
    mark: "``",
    name: |rust| rust.to_owned(),
    value: |name| name.to_snake_case(),
    null: "None",
};

/// The columns of a line.
pub(crate) const WIDTH: usize = 120;

/// The modules, in the order in which they import each other, and the shapes that each begins with; it has also what
/// these name, unless a module before it has.
const MODULES: [(&str, &[&str]); 10] = [
    (
        "outcomes",
        &["Outcome", "Problem", "TokenUsage", "Finished"],
    ),
    ("events", &["Event"]),
    ("effects", &["Outputs"]),
    ("machine", &["StateKind", "TimerKey"]),
    (
        "stores",
        &[
            "NewTurn",
            "PersistBatch",
            "Claimed",
            "TurnRecord",
            "ThreadRecord",
            "ThreadQuery",
            "LoggedEvent",
            "EventLog",
        ],
    ),
    (
        "turns",
        &[
            "NewRun",
            "ContextOverflow",
            "Trimmed",
            "StoredTurn",
            "CredentialRequest",
            "InstructionsRequest",
        ],
    ),
    ("sessions", &["SessionView"]),
    ("registry", &["Registered", "RegistryEvent"]),
    ("providers", &["Provider", "ContextWindow"]),
    ("journals", &["JournalReplay"]),
];

/// Variants and enums whose own name says too little, or is another's.
const NAMES: [(&str, &str, &str); 12] = [
    ("UserAnswer", "Given", "AnswerGiven"),
    ("UserAnswer", "Declined", "AnswerDeclined"),
    ("Incomplete", "", "IncompleteReason"),
    ("Event", "Warning", "WarningEvent"),
    ("Event", "Unknown", "UnknownEvent"),
    ("ToolResult", "Finished", "ToolOutput"),
    ("ToolResult", "Failed", "ToolFailure"),
    ("Failure", "Api", "ApiFailure"),
    ("Failure", "Connection", "ConnectionFailure"),
    ("Failure", "Stream", "StreamFailure"),
    ("Failure", "Reported", "ReportedFailure"),
    ("Failure", "LimitReached", "LimitFailure"),
];

/// What every variant's name of an enum ends with.
const ENDINGS: [(&str, &str); 2] = [("ArgumentsChange", "Change"), ("TimerKey", "Timer")];

/// Enums that are no class, but one or the other of their variants.
const UNIONS: [&str; 1] = ["ToolResult"];

/// What classes have by hand, in `_methods.py`.
const METHODS: [(&str, &str); 4] = [
    ("Event", "EventMethods"),
    ("ContextOverflow", "ContextOverflowMethods"),
    ("Outcome", "OutcomeMethods"),
    ("Finished", "FinishedMethods"),
];

/// Fields that are not printed: they may hold a key, or what was said.
const HIDDEN: [(&str, &str); 4] = [
    ("HttpRequest", "\"headers\", \"body\""),
    ("Finished", "\"text\", \"messages\", \"output\""),
    ("OutputInvalid", "\"text\", \"reason\""),
    ("UnexpectedBody", "\"excerpt\""),
];

/// Writes the modules of the shapes beside uniffi's own.
///
/// # Errors
/// A library that cannot be read, or lacks a shape; two classes of one name; a folder that cannot be written.
pub(crate) fn write(library: &Utf8Path, folder: &Utf8Path) -> anyhow::Result<()> {
    let own = folder.join("stepwell_ffi.py");
    let text = fs::read_to_string(&own).with_context(|| format!("cannot read {own}"))?;
    fs::write(&own, values::with_values(&text)?).with_context(|| format!("cannot write {own}"))?;
    let [machine, registry] = ["RunMachine", "RunRegistry"].map(|of| Method::of(library, of));
    let files = files(&Shapes::read(library)?, &machine?, &registry?)?;
    for (name, text) in files {
        let file = folder.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {file}"))?;
    }
    Ok(())
}

/// The module of each class and its name there, by the shape and the variant.
type Written = BTreeMap<(String, String), (&'static str, String)>;

/// The files, by their names.
fn files(
    shapes: &Shapes,
    machine: &[Method],
    registry: &[Method],
) -> anyhow::Result<Vec<(String, String)>> {
    let mut written = Written::new();
    let mut files = Vec::new();
    for (module, roots) in MODULES {
        let mut file = Module {
            shapes,
            name: module,
            written: &mut written,
            classes: Vec::new(),
            lifted: Vec::new(),
            needed: BTreeMap::new(),
            text: String::new(),
        };
        for root in roots {
            file.write(root)?;
        }
        files.push((format!("{module}.py"), file.whole()));
    }
    files.push(("config.py".to_owned(), config::module(shapes)?));
    files.push(("agent.py".to_owned(), agent::module(shapes)?));
    let calls = calls::module(&written, machine, registry);
    files.push(("calls.py".to_owned(), calls));
    let mut classes = BTreeSet::new();
    for (_, class) in written.values() {
        ensure!(
            classes.insert(class),
            "there are two Python classes `{class}`: give one a name of its own in NAMES"
        );
    }
    Ok(files)
}

/// The Python name of a variant.
pub(crate) fn class(shape: &str, variant: &str) -> String {
    let is_named = |(of, name, _): &&(&str, &str, &str)| *of == shape && *name == variant;
    let ending = ENDINGS.iter().find(|(of, _)| *of == shape);
    if let Some((.., name)) = NAMES.iter().find(is_named) {
        (*name).to_owned()
    } else if variant.is_empty() {
        shape.to_owned()
    } else {
        format!("{variant}{}", ending.map_or("", |(_, ending)| ending))
    }
}

struct Module<'s> {
    shapes: &'s Shapes,
    name: &'static str,
    written: &'s mut Written,
    /// The classes of this module.
    classes: Vec<String>,
    /// What each stands for.
    lifted: Vec<(String, String)>,
    /// What it takes of other modules.
    needed: BTreeMap<&'static str, BTreeSet<String>>,
    text: String,
}

impl Module<'_> {
    /// Writes a shape, and before it those that it names.
    fn write(&mut self, name: &str) -> anyhow::Result<()> {
        if name == "HttpHeader" {
            return Ok(());
        }
        let key = (name.to_owned(), String::new());
        if let Some((module, class)) = self.written.get(&key) {
            if *module != self.name && !UNIONS.contains(&name) {
                self.needed.entry(module).or_default().insert(class.clone());
            }
            return Ok(());
        }
        self.written.insert(key, (self.name, class(name, "")));
        let shape = self.shapes.get(name)?;
        for named in shape.fields().filter_map(|field| field.ty.shape()) {
            self.write(named)?;
        }
        match &shape.kind {
            Kind::Record(fields) => {
                self.record(&class(name, ""), &shape.doc, "Record", fields);
                self.lifted.push((name.to_owned(), class(name, "")));
            }
            Kind::Enum(variants) if shape.is_flat() => self.words(shape, variants),
            Kind::Enum(variants) => self.variants(shape, variants),
        }
        Ok(())
    }

    fn words(&mut self, shape: &Shape, variants: &[Variant]) {
        let name = class(&shape.name, "");
        self.begin(&format!("class {name}(str, enum.Enum):"), &shape.doc);
        for variant in variants {
            let word = if shape.name == "EncryptedValueSubtype" {
                variant.name.to_kebab_case()
            } else {
                variant.name.to_snake_case()
            };
            let line = format!("    {} = \"{word}\"\n", variant.name.to_shouty_snake_case());
            self.text.push_str(&line);
            self.doc(&variant.doc, None);
        }
        self.lifted.push((shape.name.clone(), name.clone()));
        self.classes.push(name);
    }

    fn variants(&mut self, shape: &Shape, variants: &[Variant]) {
        let base = class(&shape.name, "");
        let common = shape.common();
        let is_union = UNIONS.contains(&shape.name.as_str());
        if !is_union {
            self.record(&base, &shape.doc, "Record", common);
        }
        for variant in variants {
            let (parent, known) = if is_union {
                ("Record", 0)
            } else {
                (&base[..], common.len())
            };
            let name = class(&shape.name, &variant.name);
            self.record(&name, &variant.doc, parent, &variant.fields[known..]);
            let key = (shape.name.clone(), variant.name.clone());
            self.written.insert(key, (self.name, name.clone()));
            let theirs = format!("{}.{}", shape.name, variant.name.to_shouty_snake_case());
            self.lifted.push((theirs, name));
        }
    }

    fn record(&mut self, name: &str, doc: &str, parent: &str, fields: &[Field]) {
        let methods = METHODS.iter().find(|(of, _)| *of == name);
        let methods = methods.map_or(String::new(), |(_, methods)| format!("{methods}, "));
        self.begin(&format!("@record\nclass {name}({methods}{parent}):"), doc);
        if let Some((_, hidden)) = HIDDEN.iter().find(|(of, _)| *of == name) {
            let line =
                format!("    _hidden: ClassVar[frozenset[str]] = frozenset({{{hidden}}})\n\n");
            self.text.push_str(&line);
        }
        // What may be missing at the end may be left out.
        let is_needed = |field: &Field| !field.ty.is_optional() && field.default.is_none();
        let needed = fields.iter().rposition(is_needed);
        for (position, field) in fields.iter().enumerate() {
            let default = match &field.default {
                _ if needed.is_some_and(|needed| position <= needed) => String::new(),
                Some(default) => format!(" = {}", literal(&field.ty, "", default)),
                None => " = None".to_owned(),
            };
            let name = &field.name;
            let ty = self.ty(&field.ty);
            self.text.push_str(&format!("    {name}: {ty}{default}\n"));
            let told = field.ty.shape().and_then(|name| self.shapes.get(name).ok());
            self.doc(&with_unit(field, &field.doc), told);
        }
        self.classes.push(name.to_owned());
    }

    fn begin(&mut self, head: &str, doc: &str) {
        self.text.push_str(&format!("\n\n{head}\n"));
        self.doc(doc, None);
        self.text.push('\n');
    }

    fn doc(&mut self, doc: &str, of: Option<&Shape>) {
        let text = docstring(4, doc, of);
        self.text.push_str(&text);
    }

    fn ty(&self, of: &Ty) -> String {
        match of {
            Ty::Bool => "bool".to_owned(),
            Ty::Int => "int".to_owned(),
            Ty::Float | Ty::Duration => "float".to_owned(),
            Ty::Timestamp => "datetime".to_owned(),
            Ty::Text => "str".to_owned(),
            Ty::Bytes => "bytes".to_owned(),
            Ty::Json(Json::Any) => "Json".to_owned(),
            Ty::Json(Json::Object | Json::Message) => "dict[str, Json]".to_owned(),
            Ty::Json(Json::Array) => "list[Json]".to_owned(),
            Ty::Map => "dict[str, str]".to_owned(),
            Ty::Optional(inner) if **inner == Ty::Json(Json::Any) => "Json".to_owned(),
            Ty::Optional(inner) => format!("{} | None", self.ty(inner)),
            Ty::List(inner) => format!("list[{}]", self.ty(inner)),
            Ty::Named(name) if name == "HttpHeader" => "tuple[str, str]".to_owned(),
            Ty::Named(name) => self.named(name),
        }
    }

    /// A shape's class, or those of its variants.
    fn named(&self, name: &str) -> String {
        match self.shapes.get(name) {
            Ok(shape) if UNIONS.contains(&name) => {
                let variants = shape.variants().iter();
                let classes: Vec<_> = variants.map(|variant| class(name, &variant.name)).collect();
                classes.join(" | ")
            }
            _ => class(name, ""),
        }
    }

    /// The file, with what it imports and what it says of itself.
    fn whole(mut self) -> String {
        let lifts = self
            .lifted
            .iter()
            .map(|(theirs, ours)| format!("lifts(_ffi.{theirs}, {ours})\n"));
        let lifts: String = lifts.collect();
        let methods = METHODS
            .iter()
            .filter(|(of, _)| self.classes.iter().any(|class| class == of));
        let methods: Vec<_> = methods.map(|(_, methods)| *methods).collect();
        let mut imports = vec![
            "from . import stepwell_ffi as _ffi".to_owned(),
            "from .._record import Json, Record, lifts, record".to_owned(),
        ];
        if !methods.is_empty() {
            imports.push(format!("from .._methods import {}", methods.join(", ")));
        }
        for (module, classes) in &self.needed {
            let classes: Vec<_> = classes.iter().map(String::as_str).collect();
            imports.push(format!("from .{module} import {}", classes.join(", ")));
        }
        self.classes.sort();
        let all: String = self
            .classes
            .iter()
            .map(|class| format!("    \"{class}\",\n"))
            .collect();
        format!(
            "\"\"\"Generated from bindings/src.\"\"\"\n\nfrom __future__ import annotations\n\nimport enum\nfrom datetime import datetime\nfrom typing import ClassVar\n\n\
             {}\n\n__all__ = [\n{all}]\n{}\n\n{lifts}",
            imports.join("\n"),
            self.text
        )
    }
}

/// A field's documentation, with what a time's type does not say.
pub(crate) fn with_unit(field: &Field, doc: &str) -> String {
    let unit = match field.ty.inner() {
        Ty::Duration => " In seconds.",
        Ty::Timestamp => " In UTC.",
        _ => "",
    };
    format!("{doc}{unit}")
}

/// A docstring, so many columns from the margin.
pub(crate) fn docstring(indent: usize, doc: &str, of: Option<&Shape>) -> String {
    let lines = STYLE.lines(doc, of, WIDTH - indent - 3);
    let margin = " ".repeat(indent);
    let mut text = format!("{margin}\"\"\"");
    for (number, line) in lines.iter().enumerate() {
        if number > 0 {
            text.push('\n');
            if !line.is_empty() {
                text.push_str(&margin);
            }
        }
        text.push_str(line);
    }
    let last = lines.last().map_or(0, String::len) + indent + 6;
    if last > WIDTH {
        text.push_str(&format!("\n{margin}"));
    }
    text.push_str("\"\"\"\n");
    text
}

/// A default as Python writes it, of a field of this class; a time is in seconds.
pub(crate) fn literal(ty: &Ty, class: &str, default: &Default) -> String {
    match (default, ty.inner()) {
        (Default::Nothing, _) => "None".to_owned(),
        (Default::Bool(true), _) => "True".to_owned(),
        (Default::Bool(false), _) => "False".to_owned(),
        (Default::Int(number), Ty::Duration) => format!("{:?}", *number as f64 / 1000.0),
        (Default::Int(number), _) => number.to_string(),
        (Default::Float(number), _) => number.clone(),
        (Default::Text(text), _) => format!("{text:?}"),
        (Default::Empty, _) | (Default::OfType, Ty::List(_)) => "()".to_owned(),
        (Default::OfType, _) => format!("{class}()"),
    }
}
