//! Dart: the classes that the library takes and returns as JSON, and the calls of the machine and the registry.

mod calls;
mod inputs;
mod outputs;

use crate::doc::Style;
use crate::json;
use crate::model::{Method, Shape, Shapes, Ty};
use anyhow::ensure;
use askama::Template;
use camino::Utf8Path;
use heck::ToLowerCamelCase as _;
use inputs::InputClass;
use outputs::{OutputClass, SealedClass, class_name};
use std::collections::BTreeSet;

const STYLE: Style = Style {
    mark: "`",
    name: json::name,
    value: value_name,
    null: "null",
};

/// The length of a line, in columns.
const WIDTH: usize = 120;

/// What the library returns. The file also has every shape that these mention.
const OUTPUTS: [&str; 11] = [
    "Event",
    "Effect",
    "StateKind",
    "Problem",
    "Registered",
    "RegistryEvent",
    "NewTurn",
    "Claimed",
    "PersistBatch",
    "ThreadRecord",
    "TurnRecord",
];

/// Classes that are written by hand, and enums that have no class.
const BY_HAND: [&str; 11] = [
    "ArgumentsChange",
    "CallKey",
    "EncryptedValueSubtype",
    "EventCommon",
    "HttpRequest",
    "Interrupt",
    "Outcome",
    "RunHandle",
    "ThreadKey",
    "ToolFailureKind",
    "ToolResult",
];

/// Writes the generated files into the package's `lib/src`.
///
/// # Errors
/// The library cannot be read, lacks a shape or has a type that Dart has no form for; two classes have one name; a file
/// cannot be written.
pub(crate) fn write(library: &Utf8Path, folder: &Utf8Path) -> anyhow::Result<()> {
    let shapes = &Shapes::read(library)?;
    let machine = Method::read_all(library, "RunMachine")?;
    let registry = Method::read_all(library, "RunRegistry")?;
    crate::write(folder, "shapes.dart", &File::new(shapes)?)?;
    crate::write(
        folder,
        "machine_calls.dart",
        &calls::machine(shapes, &machine),
    )?;
    crate::write(
        folder,
        "registry_calls.dart",
        &calls::registry(shapes, &registry),
    )
}

/// `shapes.dart`.
#[derive(Template)]
#[template(path = "shapes.dart", escape = "none")]
struct File<'s> {
    dart: Dart<'s>,
    items: Vec<Item<'s>>,
}

/// A declaration of the file.
enum Item<'s> {
    /// An enum whose variants have no fields.
    Enum(&'s Shape),
    /// The parent of the classes of an enum's variants.
    Sealed(SealedClass<'s>),
    /// The class of the events that the library passes on unchanged.
    OtherEvents,
    /// A class that is read from JSON.
    Output(OutputClass<'s>),
    /// A class that is written as JSON.
    Input(InputClass<'s>),
}

impl<'s> File<'s> {
    fn new(shapes: &'s Shapes) -> anyhow::Result<Self> {
        let mut collector = Collector {
            dart: Dart(shapes),
            items: Vec::new(),
            visited: BY_HAND.map(str::to_owned).into(),
            classes: BTreeSet::new(),
        };
        for root in OUTPUTS {
            collector.output(root)?;
        }
        collector.input("RunConfig")?;
        collector.input("TurnOptions")?;
        Ok(Self {
            dart: collector.dart,
            items: collector.items,
        })
    }
}

/// Collects the file's declarations, each followed by those that it mentions.
struct Collector<'s> {
    dart: Dart<'s>,
    items: Vec<Item<'s>>,
    visited: BTreeSet<String>,
    classes: BTreeSet<String>,
}

impl<'s> Collector<'s> {
    fn push(&mut self, class: &str, item: Item<'s>) -> anyhow::Result<()> {
        ensure!(
            self.classes.insert(class.to_owned()),
            "two Dart classes are called `{class}` (give one another name in NAMES)"
        );
        self.items.push(item);
        Ok(())
    }
}

/// The language's forms of the library's types.
#[derive(Clone, Copy)]
struct Dart<'s>(&'s Shapes);

impl Dart<'_> {
    /// Formats a field's documentation, which may mention the values of the field's enum.
    fn field_doc(self, doc: &str, ty: &Ty) -> anyhow::Result<String> {
        let of = ty.shape().map(|name| self.0.get(name)).transpose()?;
        Ok(doc_lines(doc, of, 2))
    }

    /// Returns whether the shape is an enum whose variants have no fields.
    fn is_flat(self, name: &str) -> anyhow::Result<bool> {
        Ok(self.0.get(name)?.is_flat())
    }
}

fn doc_lines(doc: &str, of: Option<&Shape>, indent: usize) -> String {
    let lines = STYLE.lines(doc, of, WIDTH - indent - 4).into_iter();
    let lines = lines.map(|line| format!("{:indent$}/// {line}", "").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// The name of an enum's value. `continue` is a keyword of the language.
fn value_name(variant: &str) -> String {
    match variant {
        "Continue" => "goOn".to_owned(),
        name => name.to_lower_camel_case(),
    }
}
