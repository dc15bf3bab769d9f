//! The classes of what the library takes, the configuration above all: each is written as JSON.

use super::{Collector, Dart, Item, value_name};
use crate::forms::{self, Forms};
use crate::json;
use crate::model::{Default, Field, Shape, ShapeKind, Ty};
use serde::Deserialize;
use std::sync::LazyLock;

/// A class that is written as JSON.
pub(super) struct InputClass<'s> {
    pub(super) shape: &'s Shape,
    /// The fields that the constructor takes by position.
    pub(super) positional: Vec<InputField<'s>>,
    pub(super) named: Vec<InputField<'s>>,
}

/// A field of such a class.
pub(super) struct InputField<'s> {
    pub(super) rust: &'s Field,
    pub(super) name: String,
    pub(super) ty: String,
    /// The default as a Dart expression, if it is not `null`.
    pub(super) default: Option<String>,
    pub(super) is_required: bool,
    /// Whether `null` has a meaning of its own: no limit, no wait.
    has_null_value: bool,
    /// The name in JSON.
    pub(super) key: String,
    /// The value in JSON, as a Dart expression.
    pub(super) json: String,
    pub(super) doc: String,
}

/// A field that has another form in Dart.
#[derive(Deserialize)]
struct Special {
    ty: String,
    default: Option<String>,
    json: String,
    doc: Option<String>,
}

static SPECIAL: LazyLock<Forms<Special>> =
    LazyLock::new(|| forms::parse(include_str!("../../forms/dart.toml")));

/// The class whose required fields are positional.
const POSITIONAL: &str = "ToolDefinition";

/// Classes whose JSON leaves out a `null`, which is not a value of their fields.
const OMIT_NULL: [&str; 5] = [
    "RunConfig",
    "TurnOptions",
    "GenerationSettings",
    "AgUiOptions",
    "ToolDefinition",
];

impl Collector<'_> {
    /// Adds a shape that the library takes, followed by those that it mentions.
    pub(super) fn input(&mut self, name: &str) -> anyhow::Result<()> {
        if !self.visited.insert(name.to_owned()) {
            return Ok(());
        }
        let shape = self.dart.0.get(name)?;
        let ShapeKind::Record(fields) = &shape.kind else {
            return self.push(name, Item::Enum(shape));
        };
        let forms = fields
            .iter()
            .map(|field| self.dart.input_field(name, field));
        let forms = forms.collect::<anyhow::Result<Vec<_>>>()?;
        let (positional, named) = forms
            .into_iter()
            .partition(|field| name == POSITIONAL && field.is_required);
        let class = InputClass {
            shape,
            positional,
            named,
        };
        self.push(name, Item::Input(class))?;
        let mentioned = fields.iter().filter(|field| {
            field.name == "tools" || forms::of(&SPECIAL, name, &field.name).is_none()
        });
        mentioned
            .filter_map(|field| field.ty.shape())
            .try_for_each(|name| self.input(name))
    }
}

impl InputClass<'_> {
    pub(super) fn all(&self) -> impl Iterator<Item = &InputField<'_>> {
        self.positional.iter().chain(&self.named)
    }

    pub(super) fn copy_doc(&self) -> String {
        let by_function = match self.all().find(|field| field.has_null_value) {
            None => String::new(),
            Some(field) => format!(
                " What may be none is given by a function: `{}: () => null`.",
                field.name
            ),
        };
        format!(
            "The same with what is given here; what is left out, or `null`, stays.{by_function}"
        )
    }

    pub(super) fn omits_null(&self) -> bool {
        OMIT_NULL.contains(&&self.shape.name[..])
    }
}

impl InputField<'_> {
    /// The type of the parameter of `copyWith`, without its `?`.
    pub(super) fn copy_type(&self) -> String {
        match self.has_null_value {
            true => format!("{} Function()", self.ty),
            false => self.ty.trim_end_matches('?').to_owned(),
        }
    }

    /// The value in a copy.
    pub(super) fn copied(&self) -> String {
        let name = &self.name;
        match self.has_null_value {
            true => format!("{name} == null ? this.{name} : {name}()"),
            false => format!("{name} ?? this.{name}"),
        }
    }
}

impl<'s> Dart<'s> {
    fn input_field(self, of: &str, field: &'s Field) -> anyhow::Result<InputField<'s>> {
        let name = json::name(&field.name);
        if let Some(special) = forms::of(&SPECIAL, of, &field.name) {
            return Ok(InputField {
                rust: field,
                key: name.clone(),
                name,
                ty: special.ty.clone(),
                default: special.default.clone(),
                is_required: false,
                has_null_value: false,
                json: special.json.clone(),
                doc: special.doc.as_ref().unwrap_or(&field.doc).clone(),
            });
        }
        let absent = field.if_absent(of);
        let is_optional = field.ty.is_optional() && absent.is_none();
        let inner = field.ty.inner();
        let ty = self.ty(inner)?;
        let default = match (absent, &field.default) {
            (Some(variant), _) => Some(format!("{ty}.{}", value_name(variant))),
            (None, None | Some(Default::Nothing)) => None,
            (None, Some(default)) => Some(literal(inner, &ty, default)),
        };
        let mark = if is_optional { "?" } else { "" };
        let is_number = matches!(inner, Ty::Int | Ty::Float | Ty::Duration);
        Ok(InputField {
            rust: field,
            key: json::key(field),
            ty: format!("{ty}{mark}"),
            default,
            is_required: field.default.is_none(),
            has_null_value: is_optional && is_number && !OMIT_NULL.contains(&of),
            json: self.input_json(&name, mark, inner)?,
            doc: field.doc.clone(),
            name,
        })
    }

    /// Returns the expression that writes a field of this name as JSON.
    fn input_json(self, name: &str, mark: &str, ty: &Ty) -> anyhow::Result<String> {
        Ok(match ty {
            Ty::Duration => format!("{name}{mark}.inMilliseconds"),
            Ty::Named(shape) if self.is_flat(shape)? => {
                let mut variants = self.0.get(shape)?.variants().iter();
                if variants.any(|variant| variant.name == "Continue") {
                    format!("{name} == {shape}.goOn ? 'continue' : {name}.name")
                } else {
                    format!("{name}{mark}.name")
                }
            }
            Ty::Named(_) => format!("{name}{mark}.toJson()"),
            Ty::List(inner) => match &**inner {
                Ty::Text => name.to_owned(),
                Ty::Named(shape) if self.is_flat(shape)? => {
                    format!("[for (final each in {name}) each.name]")
                }
                _ => format!("[for (final each in {name}) each.toJson()]"),
            },
            _ => name.to_owned(),
        })
    }
}

/// Formats a default of a field of this type.
fn literal(inner: &Ty, ty: &str, default: &Default) -> String {
    match (default, inner) {
        (Default::Nothing, _) => "null".to_owned(),
        (Default::Bool(value), _) => value.to_string(),
        (Default::Int(number), Ty::Duration) => format!("const Duration(milliseconds: {number})"),
        (Default::Int(number), _) => number.to_string(),
        (Default::Float(number), _) => number.clone(),
        (Default::Text(text), _) => format!("'{text}'"),
        (Default::Empty | Default::OfType, Ty::List(_)) => "const []".to_owned(),
        (Default::Empty | Default::OfType, Ty::Map) => "const {}".to_owned(),
        (Default::Empty | Default::OfType, _) => format!("const {ty}()"),
    }
}
