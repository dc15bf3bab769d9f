//! Python: frozen dataclasses of what the library returns, the configuration, and the calls of the machine and the
//! registry.

mod calls;
mod config;
mod values;

use crate::doc::Style;
use crate::forms::{self, Forms};
use crate::model::{Default, Field, Json, Method, Shape, ShapeKind, Shapes, Ty, Variant};
use anyhow::{Context as _, ensure};
use askama::Template;
use camino::Utf8Path;
use heck::{ToKebabCase as _, ToShoutySnakeCase as _, ToSnakeCase as _};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::LazyLock;

const STYLE: Style = Style {
    mark: "``",
    name: |rust| rust.to_owned(),
    value: |name| name.to_snake_case(),
    null: "None",
};

/// The length of a line, in columns.
const WIDTH: usize = 120;

/// The modules, in the order in which they import each other, with the shapes that each begins with. A module also has
/// the shapes that these mention, unless an earlier module has them.
const MODULES: [(&str, &[&str]); 11] = [
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
    ("chat", &["ChatState", "ChatUpdate"]),
];

/// Names for variants and enums whose own name says too little, or is taken.
const NAMES: [(&str, &str, &str); 16] = [
    ("ContentPart", "", "MediaContent"),
    ("UserAnswer", "Given", "AnswerGiven"),
    ("UserAnswer", "Declined", "AnswerDeclined"),
    ("Incomplete", "", "IncompleteReason"),
    ("Event", "PartialArguments", "ToolArgumentsUpdate"),
    ("Event", "PartialOutput", "OutputUpdate"),
    ("Event", "Pending", "PendingUpdate"),
    ("Event", "Warning", "WarningUpdate"),
    ("Event", "Unknown", "UnknownEvent"),
    ("ToolResult", "Finished", "ToolOutput"),
    ("ToolResult", "Failed", "ToolFailure"),
    ("Failure", "Api", "ApiFailure"),
    ("Failure", "Connection", "ConnectionFailure"),
    ("Failure", "Stream", "StreamFailure"),
    ("Failure", "Reported", "ReportedFailure"),
    ("Failure", "LimitReached", "LimitFailure"),
];

/// The endings of the names of an enum's variants.
const ENDINGS: [(&str, &str); 3] = [
    ("ArgumentsChange", "Change"),
    ("ChatPart", "Part"),
    ("TimerKey", "Timer"),
];

/// Enums that have no class of their own: a union of their variants' classes.
const UNIONS: [&str; 1] = ["ToolResult"];

/// Mixins with the hand-written methods of a class, in `_methods.py`.
const MIXINS: [(&str, &str); 4] = [
    ("Event", "EventMethods"),
    ("ContextOverflow", "ContextOverflowMethods"),
    ("Outcome", "OutcomeMethods"),
    ("Finished", "FinishedMethods"),
];

/// Fields that are not printed: they may hold a key, or the conversation.
const HIDDEN: [(&str, &str); 4] = [
    ("HttpRequest", r#"{"headers", "body"}"#),
    ("Finished", r#"{"text", "messages", "output"}"#),
    ("OutputInvalid", r#"{"text", "reason"}"#),
    ("UnexpectedBody", r#"{"excerpt"}"#),
];

static FORMS: LazyLock<PythonForms> =
    LazyLock::new(|| forms::parse(include_str!("../../forms/python.toml")));

/// `forms/python.toml`.
#[derive(Deserialize)]
struct PythonForms {
    config: Forms<ConfigField>,
}

#[derive(Deserialize)]
struct ConfigField {
    declared: String,
    lowered: String,
    doc: Option<String>,
}

/// Edits uniffi's own module, and writes the modules of the shapes next to it.
///
/// # Errors
/// The library cannot be read or lacks a shape; two classes have one name; a file cannot be written.
pub(crate) fn write(library: &Utf8Path, folder: &Utf8Path) -> anyhow::Result<()> {
    let own = folder.join("stepwell_ffi.py");
    let text = fs::read_to_string(&own).with_context(|| format!("cannot read {own}"))?;
    fs::write(&own, values::with_values(&text)?).with_context(|| format!("cannot write {own}"))?;
    let shapes = &Shapes::read(library)?;
    let mut classes = Classes::new();
    for (name, roots) in MODULES {
        let module = Module::new(shapes, name, roots, &mut classes)?;
        crate::write(folder, &format!("{name}.py"), &module)?;
    }
    let mut names = BTreeSet::new();
    for (_, name) in classes.values() {
        ensure!(
            names.insert(name),
            "two Python classes are called `{name}` (give one another name in NAMES)"
        );
    }
    crate::write(folder, "config.py", &config::File::new(shapes)?)?;
    let machine = Method::read_all(library, "RunMachine")?;
    let registry = Method::read_all(library, "RunRegistry")?;
    let calls = calls::File::new(&classes, &machine, &registry);
    crate::write(folder, "calls.py", &calls)
}

/// The module and the name of each class, by its shape and its variant.
type Classes = BTreeMap<(String, String), (&'static str, String)>;

/// The class of a variant, or of the whole shape if the variant's name is empty.
fn class_name(shape: &str, variant: &str) -> String {
    let is_named = |(of, name, _): &&(&str, &str, &str)| *of == shape && *name == variant;
    if let Some((.., name)) = NAMES.iter().find(is_named) {
        (*name).to_owned()
    } else if variant.is_empty() {
        shape.to_owned()
    } else {
        let ending = ENDINGS.iter().find(|(of, _)| *of == shape);
        format!("{variant}{}", ending.map_or("", |(_, ending)| ending))
    }
}

/// A module of dataclasses and enums.
#[derive(Template)]
#[template(path = "module.py", escape = "none")]
struct Module<'s> {
    shapes: &'s Shapes,
    name: &'static str,
    items: Vec<Item<'s>>,
    /// uniffi's classes, each with the class that it is lifted to.
    lifted: Vec<(String, String)>,
    /// The classes that are imported, by their module.
    imports: BTreeMap<&'static str, BTreeSet<String>>,
}

/// A declaration of a module.
enum Item<'s> {
    /// An enum whose variants have no fields.
    Enum(&'s Shape),
    Class(Class<'s>),
}

struct Class<'s> {
    name: String,
    doc: &'s str,
    parent: String,
    fields: &'s [Field],
}

impl<'s> Module<'s> {
    fn new(
        shapes: &'s Shapes,
        name: &'static str,
        roots: &[&str],
        classes: &mut Classes,
    ) -> anyhow::Result<Self> {
        let mut module = Self {
            shapes,
            name,
            items: Vec::new(),
            lifted: Vec::new(),
            imports: BTreeMap::new(),
        };
        for root in roots {
            module.add(root, classes)?;
        }
        Ok(module)
    }

    /// Adds a shape, preceded by those that it mentions.
    fn add(&mut self, name: &str, classes: &mut Classes) -> anyhow::Result<()> {
        if name == "HttpHeader" {
            return Ok(());
        }
        let key = (name.to_owned(), String::new());
        if let Some((module, class)) = classes.get(&key) {
            if *module != self.name && !UNIONS.contains(&name) {
                self.imports
                    .entry(module)
                    .or_default()
                    .insert(class.clone());
            }
            return Ok(());
        }
        let class = class_name(name, "");
        classes.insert(key, (self.name, class.clone()));
        let shape = self.shapes.get(name)?;
        for mentioned in shape.fields().filter_map(|field| field.ty.shape()) {
            self.add(mentioned, classes)?;
        }
        match &shape.kind {
            ShapeKind::Enum(variants) if !shape.is_flat() => {
                self.add_variants(shape, variants, classes);
                return Ok(());
            }
            ShapeKind::Enum(_) => self.items.push(Item::Enum(shape)),
            ShapeKind::Record(fields) => {
                self.add_class(class.clone(), &shape.doc, "Record", fields);
            }
        }
        self.lifted.push((name.to_owned(), class));
        Ok(())
    }

    /// Adds the classes of an enum's variants, below one of what they have in common.
    fn add_variants(&mut self, shape: &'s Shape, variants: &'s [Variant], classes: &mut Classes) {
        let base = class_name(&shape.name, "");
        let (parent, inherited) = if UNIONS.contains(&&shape.name[..]) {
            ("Record", 0)
        } else {
            self.add_class(base.clone(), &shape.doc, "Record", shape.common());
            (&base[..], shape.common().len())
        };
        for variant in variants {
            let name = class_name(&shape.name, &variant.name);
            self.add_class(
                name.clone(),
                &variant.doc,
                parent,
                &variant.fields[inherited..],
            );
            let key = (shape.name.clone(), variant.name.clone());
            classes.insert(key, (self.name, name.clone()));
            let theirs = format!("{}.{}", shape.name, variant.name.to_shouty_snake_case());
            self.lifted.push((theirs, name));
        }
    }

    fn add_class(&mut self, name: String, doc: &'s str, parent: &str, fields: &'s [Field]) {
        self.items.push(Item::Class(Class {
            name,
            doc,
            parent: parent.to_owned(),
            fields,
        }));
    }

    fn class_names(&self) -> BTreeSet<String> {
        let names = self.items.iter().map(|item| match item {
            Item::Enum(shape) => class_name(&shape.name, ""),
            Item::Class(class) => class.name.clone(),
        });
        names.collect()
    }

    /// The mixins of this module's classes.
    fn mixins(&self) -> Option<String> {
        let names = self.class_names();
        let mixins = MIXINS.iter().filter(|(class, _)| names.contains(*class));
        let mixins: Vec<_> = mixins.map(|(_, mixin)| *mixin).collect();
        (!mixins.is_empty()).then(|| mixins.join(", "))
    }

    fn field_doc(&self, field: &Field) -> String {
        let of = field.ty.shape().and_then(|name| self.shapes.get(name).ok());
        docstring(4, &with_unit(field, &field.doc), of)
    }

    fn ty(&self, of: &Ty) -> String {
        ty(of, ["list", "dict"], &|name| self.named(name))
    }

    /// Returns a shape's class, or the union of its variants' classes.
    fn named(&self, name: &str) -> String {
        match self.shapes.get(name) {
            Ok(shape) if UNIONS.contains(&name) => {
                let variants = shape.variants().iter();
                let classes = variants.map(|variant| class_name(name, &variant.name));
                classes.collect::<Vec<_>>().join(" | ")
            }
            _ => class_name(name, ""),
        }
    }
}

impl Class<'_> {
    fn bases(&self) -> String {
        let mixin = MIXINS.iter().find(|(class, _)| *class == self.name);
        let mixin = mixin.map_or(String::new(), |(_, mixin)| format!("{mixin}, "));
        mixin + &self.parent
    }

    fn hidden(&self) -> Option<&'static str> {
        let mut hidden = HIDDEN.iter();
        Some(hidden.find(|(class, _)| *class == self.name)?.1)
    }

    /// Formats the default of the field at this index. Only a field that no required one follows may be left out.
    fn default(&self, index: usize) -> String {
        let is_required = |field: &Field| !field.ty.is_optional() && field.default.is_none();
        if self.fields[index..].iter().any(is_required) {
            return String::new();
        }
        let field = &self.fields[index];
        match &field.default {
            Some(default) => format!(" = {}", literal(&field.ty, "", default)),
            None => " = None".to_owned(),
        }
    }
}

/// Formats a type, with the names of a list and a map and those of the shapes' classes.
fn ty(of: &Ty, names: [&str; 2], named: &dyn Fn(&str) -> String) -> String {
    let [list, map] = names;
    match of {
        Ty::Bool => "bool".to_owned(),
        Ty::Int => "int".to_owned(),
        Ty::Float | Ty::Duration => "float".to_owned(),
        Ty::Timestamp => "datetime".to_owned(),
        Ty::Text => "str".to_owned(),
        Ty::Bytes => "bytes".to_owned(),
        Ty::Json(Json::Any) => "Json".to_owned(),
        Ty::Json(Json::Object | Json::Message) => format!("{map}[str, Json]"),
        Ty::Json(Json::Array) => format!("{list}[Json]"),
        Ty::Map => format!("{map}[str, str]"),
        Ty::Optional(inner) if **inner == Ty::Json(Json::Any) => "Json".to_owned(),
        Ty::Optional(inner) => format!("{} | None", ty(inner, names, named)),
        Ty::List(inner) => format!("{list}[{}]", ty(inner, names, named)),
        Ty::Named(name) if name == "HttpHeader" => "tuple[str, str]".to_owned(),
        Ty::Named(name) => named(name),
    }
}

/// The value of an enum's variant.
fn word(shape: &Shape, variant: &Variant) -> String {
    match &shape.name[..] {
        "EncryptedValueSubtype" => variant.name.to_kebab_case(),
        _ => variant.name.to_snake_case(),
    }
}

fn comma_separated(names: &BTreeSet<String>) -> String {
    names
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Adds the unit that a time's type does not state.
fn with_unit(field: &Field, doc: &str) -> String {
    let unit = match field.ty.inner() {
        Ty::Duration => " In seconds.",
        Ty::Timestamp => " In UTC.",
        _ => "",
    };
    format!("{doc}{unit}")
}

/// Formats a docstring, indented by `indent` columns and without an end of line.
fn docstring(indent: usize, doc: &str, of: Option<&Shape>) -> String {
    let lines = STYLE.lines(doc, of, WIDTH - indent - 3);
    let margin = " ".repeat(indent);
    let last = lines.last().map_or(0, String::len) + indent + 6;
    let end = if last > WIDTH {
        format!("\n{margin}")
    } else {
        String::new()
    };
    let text = lines
        .join(&format!("\n{margin}"))
        .replace(&format!("\n{margin}\n"), "\n\n");
    format!("{margin}\"\"\"{text}{end}\"\"\"")
}

/// Formats a default of a field of this class; a time is in seconds.
fn literal(ty: &Ty, class: &str, default: &Default) -> String {
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
