//! TypeScript: the types of what the npm package takes and returns, which is JSON, and the calls of the machine and the
//! registry.

mod calls;

use crate::doc::Style;
use crate::forms::{self, Forms};
use crate::json;
use crate::model::{Field, Json, Method, Shape, ShapeKind, Shapes, Ty, Variant};
use askama::Template;
use camino::Utf8Path;
use heck::ToLowerCamelCase as _;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::LazyLock;

const STYLE: Style = Style {
    mark: "`",
    name: json::name,
    value: |name| name.to_lower_camel_case(),
    null: "null",
};

/// The length of a line, in columns.
const WIDTH: usize = 120;

/// What the package's own functions take and return. The file also has every shape that these mention.
const ROOTS: [&str; 14] = [
    "RunConfig",
    "Start",
    "StateKind",
    "HookAnswer",
    "Outputs",
    "Problem",
    "TokenUsage",
    "Registered",
    "RegistryEvent",
    "TurnRecord",
    "NewTurn",
    "Claimed",
    "PersistBatch",
    "ThreadRecord",
];

/// Shapes that have no declaration of their own.
const INLINE: [(&str, &str); 1] = [("HttpHeader", "[string, string]")];

/// Shapes of AG-UI, which may have fields that are not known here.
const OPEN: [&str; 2] = ["Interrupt", "TokenUsage"];

static FORMS: LazyLock<TypeScriptForms> =
    LazyLock::new(|| forms::parse(include_str!("../../forms/typescript.toml")));

/// `forms/typescript.toml`.
#[derive(Deserialize)]
struct TypeScriptForms {
    fields: Forms<SpecialField>,
    variants: Forms<String>,
}

#[derive(Deserialize)]
struct SpecialField {
    #[serde(default)]
    declaration: String,
    #[serde(default)]
    doc: String,
}

/// Writes the generated files into the package's `js`.
///
/// # Errors
/// The library cannot be read or lacks a shape; a file cannot be written.
pub(crate) fn write(library: &Utf8Path, folder: &Utf8Path) -> anyhow::Result<()> {
    let machine = Method::read_all(library, "RunMachine")?;
    let registry = Method::read_all(library, "RunRegistry")?;
    crate::write(folder, "shapes.ts", &File::new(&Shapes::read(library)?)?)?;
    crate::write(folder, "calls.ts", &calls::Calls::new(&machine, &registry))
}

/// `shapes.ts`.
#[derive(Template)]
#[template(path = "shapes.ts", escape = "none")]
struct File<'s> {
    shapes: &'s Shapes,
    items: Vec<Item<'s>>,
    visited: BTreeSet<String>,
}

/// A declaration of the file.
enum Item<'s> {
    Interface(&'s Shape),
    /// The union of all events, with its documentation.
    RunEvent(&'s str),
    Union(Union<'s>),
}

struct Union<'s> {
    name: &'s str,
    doc: &'s str,
    shape: &'s Shape,
    /// Additional fields of all variants.
    common: Option<&'static str>,
    variants: Vec<&'s Variant>,
}

impl<'s> File<'s> {
    fn new(shapes: &'s Shapes) -> anyhow::Result<Self> {
        let mut file = Self {
            shapes,
            items: Vec::new(),
            visited: BTreeSet::new(),
        };
        ROOTS.iter().try_for_each(|root| file.add(root))?;
        Ok(file)
    }

    /// Adds a shape, followed by those that it mentions.
    fn add(&mut self, name: &str) -> anyhow::Result<()> {
        let is_inline = INLINE.iter().any(|(inline, _)| *inline == name);
        if is_inline || !self.visited.insert(name.to_owned()) {
            return Ok(());
        }
        let shape = self.shapes.get(name)?;
        match &shape.kind {
            ShapeKind::Record(_) => self.items.push(Item::Interface(shape)),
            ShapeKind::Enum(variants) if name == "Event" => self.add_events(shape, variants)?,
            ShapeKind::Enum(variants) => {
                let common = (name == "Outcome").then_some("{ problem?: Problem }");
                self.add_union(&shape.name, &shape.doc, shape, common, variants);
            }
        }
        let is_replaced = |field: &&Field| special(name, field).is_some();
        let mentioned = shape.fields().filter(|field| !is_replaced(field));
        mentioned
            .filter_map(|field| field.ty.shape())
            .try_for_each(|name| self.add(name))
    }

    /// Adds the events of the protocol, which all may have the same additional fields, and those of the turn.
    fn add_events(&mut self, shape: &'s Shape, variants: &'s [Variant]) -> anyhow::Result<()> {
        self.items.push(Item::RunEvent(&shape.doc));
        let (ag_ui, of_turn): (Vec<_>, Vec<_>) =
            variants.iter().partition(|variant| json::is_ag_ui(variant));
        let doc =
            "An event of the protocol, unchanged; neighbouring pieces of one text come as one.";
        self.add_union("AgUiEvent", doc, shape, Some("EventCommon"), ag_ui);
        self.add("EventCommon")?;
        self.add_union(
            "TurnEvent",
            "An event of the turn itself.",
            shape,
            None,
            of_turn,
        );
        Ok(())
    }

    fn add_union(
        &mut self,
        name: &'s str,
        doc: &'s str,
        shape: &'s Shape,
        common: Option<&'static str>,
        variants: impl IntoIterator<Item = &'s Variant>,
    ) {
        let variants = variants.into_iter();
        let known = variants.filter(|variant| json::has(&shape.name, variant));
        self.items.push(Item::Union(Union {
            name,
            doc,
            shape,
            common,
            variants: known.collect(),
        }));
    }

    /// Formats the fields of an interface or of a variant, with their documentation.
    fn fields(&self, of: &Shape, fields: &[Field], indent: usize) -> anyhow::Result<String> {
        let mut text = String::new();
        for field in fields {
            let (declaration, doc) = match special(&of.name, field) {
                Some(special) if special.declaration.is_empty() => continue,
                Some(special) => (special.declaration.clone(), &special.doc),
                None => (declaration(field), &field.doc),
            };
            let doc = self.field_doc(field, doc, indent)?;
            text += &format!("\n{doc}\n{:indent$}{declaration};", "");
        }
        Ok(text)
    }

    /// Formats a field's documentation, with the unit of a time.
    fn field_doc(&self, field: &Field, doc: &str, indent: usize) -> anyhow::Result<String> {
        let ty = field.ty.inner();
        let unit = match ty {
            Ty::Duration => " In milliseconds.",
            Ty::Timestamp => " In milliseconds since the epoch.",
            _ => "",
        };
        let of = ty.shape().map(|name| self.shapes.get(name)).transpose()?;
        Ok(comment(&format!("{doc}{unit}"), of, indent))
    }
}

fn is_open(shape: &Shape) -> bool {
    OPEN.contains(&&shape.name[..])
}

/// Returns the variant's type, unless it is an object with the variant's fields.
fn variant_type(shape: &Shape, variant: &Variant) -> Option<String> {
    let is_word =
        shape.is_flat() || (json::tag(&shape.name).is_none() && variant.fields.is_empty());
    let word = || is_word.then(|| format!("\"{}\"", json::word(&shape.name, variant)));
    let special = forms::of(&FORMS.variants, &shape.name, &variant.name);
    special.cloned().or_else(word)
}

fn special(of: &str, field: &Field) -> Option<&'static SpecialField> {
    forms::of(&FORMS.fields, of, &field.name)
}

/// Formats a documentation as a comment, without an end of line.
fn comment(doc: &str, of: Option<&Shape>, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let lines = STYLE.lines(doc, of, WIDTH - indent - 3);
    if let [line] = &lines[..]
        && indent + line.len() + 7 <= WIDTH
    {
        return format!("{margin}/** {line} */");
    }
    let lines = lines
        .iter()
        .map(|line| format!("{margin} * {line}").trim_end().to_owned() + "\n");
    format!("{margin}/**\n{}{margin} */", lines.collect::<String>())
}

/// Formats `name?: type`.
fn declaration(field: &Field) -> String {
    let name = json::key(field);
    let mark = if field.may_be_absent() { "?" } else { "" };
    // For numbers of the configuration `null` is a value of its own: no limit, no wait.
    let null = match field.ty.inner() {
        Ty::Int | Ty::Float | Ty::Duration if field.default.is_some() && field.ty.is_optional() => {
            " | null"
        }
        _ => "",
    };
    format!("{name}{mark}: {}{null}", ty(&field.ty))
}

fn ty(of: &Ty) -> String {
    match of {
        Ty::Bool => "boolean".to_owned(),
        Ty::Int | Ty::Float | Ty::Duration | Ty::Timestamp => "number".to_owned(),
        Ty::Text | Ty::Bytes => "string".to_owned(),
        Ty::Json(Json::Any) => "Json".to_owned(),
        Ty::Json(Json::Object) => "{ [name: string]: Json }".to_owned(),
        Ty::Json(Json::Message) => "Message".to_owned(),
        Ty::Json(Json::Array) => "Json[]".to_owned(),
        Ty::Named(name) if name == "Event" => "RunEvent".to_owned(),
        Ty::Named(name) => INLINE
            .iter()
            .find(|(inline, _)| inline == name)
            .map_or_else(|| name.clone(), |(_, text)| (*text).to_owned()),
        Ty::Optional(inner) => ty(inner),
        Ty::List(inner) => match &**inner {
            Ty::Json(Json::Object) => "Json[]".to_owned(),
            inner => format!("{}[]", ty(inner)),
        },
        Ty::Map => "Record<string, string>".to_owned(),
    }
}
