//! The classes of what the library returns: each is read from JSON.

use super::{Collector, Dart, Item};
use crate::json;
use crate::model::{Field, Json, Shape, ShapeKind, Ty, Variant};
use anyhow::bail;

/// Returned shapes that the library also takes, or that a store keeps and gives back: they are written as JSON, too.
const WRITTEN: [&str; 10] = [
    "Block",
    "Claimed",
    "NewTurn",
    "PersistBatch",
    "Question",
    "ThreadRecord",
    "TurnBlock",
    "TurnKey",
    "TurnRecord",
    "Unfinished",
];

/// Names for shapes and variants whose own name says too little, or is taken.
const NAMES: [(&str, &str, &str); 14] = [
    ("Event", "", "RunEvent"),
    ("Event", "Custom", "CustomEvent"),
    ("Event", "Started", "TurnStarted"),
    ("Event", "Completed", "TurnCompleted"),
    ("Event", "PartialArguments", "ToolArgumentsUpdate"),
    ("Event", "PartialOutput", "OutputUpdate"),
    ("Event", "Pending", "PendingUpdate"),
    ("Event", "Raw", "RawEvent"),
    ("Event", "ReasoningMessageContent", "ReasoningUpdate"),
    ("Event", "TextMessageContent", "TextUpdate"),
    ("Event", "Warning", "WarningUpdate"),
    ("RegistryEvent", "Unread", "ThreadUnread"),
    ("RegistryEvent", "Read", "ThreadRead"),
    ("RegistryEvent", "Missed", "EventsMissed"),
];

/// Events that are no updates of a turn: its end is its result, and the others are warnings of it.
const NO_UPDATES: [&str; 3] = ["AnswerDropped", "Completed", "UnknownToolCall"];

/// Mixins with the hand-written members of a class.
const MIXINS: [(&str, &str); 1] = [("ToolCallUpdate", "ToolCallResults")];

/// Fields that the JSON API lacks.
const OMITTED: [(&str, &str); 3] = [
    ("Event", "common"),
    ("Event", "parts"),
    ("Effect", "stored_outcome"),
];

/// The field that is text for uniffi, and any JSON in the JSON API.
const ANY_JSON: (&str, &str) = ("ToolCallResult", "content");

/// The parent of the classes of an enum's variants.
pub(super) struct SealedClass<'s> {
    pub(super) shape: &'s Shape,
    pub(super) name: String,
}

/// A class that is read from JSON.
pub(super) struct OutputClass<'s> {
    pub(super) name: String,
    pub(super) doc: &'s str,
    parent: Option<String>,
    /// The fields in the JSON API, those of the parent first.
    pub(super) fields: Vec<Field>,
    inherited: usize,
}

impl<'s> Collector<'s> {
    /// Adds a shape that the library returns, followed by those that it mentions.
    pub(super) fn output(&mut self, name: &str) -> anyhow::Result<()> {
        if !self.visited.insert(name.to_owned()) {
            return Ok(());
        }
        let shape = self.dart.0.get(name)?;
        match &shape.kind {
            ShapeKind::Enum(_) if shape.is_flat() => self.push(name, Item::Enum(shape))?,
            ShapeKind::Enum(_) => self.sealed(shape)?,
            ShapeKind::Record(fields) => {
                self.class(shape, name, &shape.doc, None, fields)?;
            }
        }
        let kept = shape.fields().filter(|field| !is_omitted(shape, field));
        kept.filter_map(|field| field.ty.shape())
            .try_for_each(|name| self.output(name))
    }

    fn sealed(&mut self, shape: &'s Shape) -> anyhow::Result<()> {
        let name = class_name(&shape.name, "");
        let sealed = SealedClass {
            shape,
            name: name.clone(),
        };
        let variants = sealed.variants();
        self.push(&name, Item::Sealed(sealed))?;
        for variant in variants {
            let class = class_name(&shape.name, &variant.name);
            let parent = Some(parent_of(shape, variant));
            self.class(shape, &class, &variant.doc, parent, &variant.fields)?;
        }
        if shape.name == "Event" {
            self.push("AgUiEvent", Item::OtherEvents)?;
        }
        Ok(())
    }

    fn class(
        &mut self,
        shape: &Shape,
        name: &str,
        doc: &'s str,
        parent: Option<String>,
        fields: &[Field],
    ) -> anyhow::Result<()> {
        let kept = fields.iter().filter(|field| !is_omitted(shape, field));
        let mut fields: Vec<_> = kept.cloned().collect();
        for field in &mut fields {
            if ANY_JSON == (name, &field.name) {
                field.ty = Ty::Json(Json::Any);
            }
        }
        let class = OutputClass {
            inherited: parent.as_ref().map_or(0, |_| shape.common().len()),
            name: name.to_owned(),
            doc,
            parent,
            fields,
        };
        self.push(name, Item::Output(class))
    }
}

impl<'s> SealedClass<'s> {
    pub(super) fn variants(&self) -> Vec<&'s Variant> {
        let variants = self.shape.variants().iter();
        let kept = variants.filter(|variant| json::has(&self.shape.name, variant));
        kept.collect()
    }

    pub(super) fn parameters(&self) -> String {
        let fields = self.shape.common().iter();
        let fields = fields.map(|field| format!("this.{}", json::name(&field.name)));
        fields.collect::<Vec<_>>().join(", ")
    }
}

impl OutputClass<'_> {
    fn mixin(&self) -> Option<&'static str> {
        let mut mixins = MIXINS.iter();
        Some(mixins.find(|(class, _)| *class == self.name)?.1)
    }

    pub(super) fn clauses(&self) -> String {
        let parent = self.parent.as_ref().map(|name| format!(" extends {name}"));
        let mixin = self.mixin().map(|name| format!(" with {name}"));
        parent.unwrap_or_default() + &mixin.unwrap_or_default()
    }

    /// The constructor's parameters: positional where the field is always there, else named.
    pub(super) fn parameters(&self) -> String {
        let (mut positional, mut named) = (Vec::new(), Vec::new());
        for (index, field) in self.fields.iter().enumerate() {
            let owner = if index < self.inherited {
                "super"
            } else {
                "this"
            };
            let parameters = if field.ty.is_optional() {
                &mut named
            } else {
                &mut positional
            };
            parameters.push(format!("{owner}.{}", json::name(&field.name)));
        }
        if !named.is_empty() {
            positional.push(format!("{{{}}}", named.join(", ")));
        }
        positional.join(", ")
    }

    pub(super) fn own_fields(&self) -> &[Field] {
        &self.fields[self.inherited..]
    }

    pub(super) fn is_written(&self) -> bool {
        WRITTEN.contains(&&self.name[..])
    }

    pub(super) fn overrides(&self, field: &Field) -> bool {
        self.mixin().is_some() && field.name == "result"
    }
}

impl Dart<'_> {
    /// Returns the expression that writes the field as JSON.
    pub(super) fn write(self, field: &Field) -> anyhow::Result<String> {
        let name = json::name(&field.name);
        let mark = if field.ty.is_optional() { "?" } else { "" };
        Ok(match field.ty.inner() {
            Ty::Named(shape) if self.is_flat(shape)? => format!("{name}{mark}.name"),
            Ty::Named(_) => format!("{name}{mark}.toJson()"),
            Ty::List(inner) if **inner == Ty::Text => name,
            Ty::List(_) => format!("[for (final each in {name}) each.toJson()]"),
            Ty::Timestamp => format!("{name}{mark}.millisecondsSinceEpoch"),
            Ty::Duration | Ty::Bytes | Ty::Map => bail!("Dart does not write {:?}", field.ty),
            _ => name,
        })
    }

    pub(super) fn ty(self, of: &Ty) -> anyhow::Result<String> {
        Ok(match of {
            Ty::Bool => "bool".to_owned(),
            Ty::Int => "int".to_owned(),
            Ty::Float => "double".to_owned(),
            Ty::Text => "String".to_owned(),
            Ty::Duration => "Duration".to_owned(),
            Ty::Timestamp => "DateTime".to_owned(),
            Ty::Json(Json::Any) => "Object?".to_owned(),
            Ty::Json(Json::Object | Json::Message) => "JsonObject".to_owned(),
            Ty::Json(Json::Array) => "List<JsonObject>".to_owned(),
            Ty::Named(name) if is_json(name) => "JsonObject".to_owned(),
            Ty::Named(name) if name == "EncryptedValueSubtype" => "String".to_owned(),
            Ty::Named(name) => name.clone(),
            Ty::Optional(inner) => {
                let inner = self.ty(inner)?;
                format!("{}?", inner.trim_end_matches('?'))
            }
            Ty::List(inner) => format!("List<{}>", self.ty(inner)?),
            Ty::Map => "Map<String, String>".to_owned(),
            Ty::Bytes => bail!("Dart has no form for bytes"),
        })
    }

    /// Returns the expression that reads the field from `json`.
    pub(super) fn read(self, field: &Field) -> anyhow::Result<String> {
        let is_optional = field.ty.is_optional();
        let key = format!("'{}'", json::key(field));
        let maybe = |value: String| match is_optional {
            true => format!("json[{key}] == null ? null : {value}"),
            false => value,
        };
        Ok(match field.ty.inner() {
            Ty::Bool if is_optional => format!("json[{key}] as bool?"),
            Ty::Bool => format!("json[{key}] == true"),
            Ty::Int if is_optional => format!("json.maybeNumber({key})"),
            Ty::Int => format!("json.number({key})"),
            Ty::Float => maybe(format!("(json[{key}]! as num).toDouble()")),
            Ty::Text if is_optional => format!("json.maybeText({key})"),
            Ty::Text => format!("json.text({key})"),
            Ty::Duration => maybe(format!("Duration(milliseconds: json.number({key}))")),
            Ty::Timestamp => maybe(format!(
                "DateTime.fromMillisecondsSinceEpoch(json.number({key}), isUtc: true)"
            )),
            Ty::Json(Json::Any) => format!("json[{key}]"),
            Ty::Json(Json::Object | Json::Message) => maybe(format!("json.object({key})")),
            Ty::Json(Json::Array) => maybe(format!("json.objects({key})")),
            Ty::Named(name) if is_json(name) => maybe(format!("json.object({key})")),
            Ty::Named(name) if name == "EncryptedValueSubtype" => format!("json.text({key})"),
            Ty::Named(name) if self.is_flat(name)? => {
                maybe(format!("{name}.values.byName(json.text({key}))"))
            }
            Ty::Named(name) => maybe(format!("{name}.fromJson(json.object({key}))")),
            Ty::List(inner) => match &**inner {
                Ty::Text => format!("json.texts({key})"),
                Ty::Named(name) if is_json(name) => format!("json.objects({key})"),
                Ty::Named(name) => {
                    format!("[for (final each in json.objects({key})) {name}.fromJson(each)]")
                }
                other => bail!("Dart does not read a list of {other:?}"),
            },
            other => bail!("Dart does not read {other:?}"),
        })
    }
}

/// Returns whether the library returns the shape as plain JSON.
fn is_json(shape: &str) -> bool {
    ["ArgumentsChange", "ToolResult"].contains(&shape)
}

fn is_omitted(shape: &Shape, field: &Field) -> bool {
    OMITTED.contains(&(&shape.name, &field.name))
}

/// The parent of a variant's class: of an event, what it is for a turn.
fn parent_of(shape: &Shape, variant: &Variant) -> String {
    let class = class_name(&shape.name, &variant.name);
    let is_delta = ["TextUpdate", "ReasoningUpdate"].contains(&&class[..]);
    match &shape.name[..] {
        "Event" if NO_UPDATES.contains(&&variant.name[..]) => "RunEvent".to_owned(),
        "Event" if json::is_ag_ui(variant) && !is_delta => "AgUiUpdate".to_owned(),
        "Event" => "Update".to_owned(),
        name => class_name(name, ""),
    }
}

/// The class of a variant, or of the whole shape if the variant's name is empty.
pub(super) fn class_name(shape: &str, variant: &str) -> String {
    let is_named = |(of, name, _): &&(&str, &str, &str)| *of == shape && *name == variant;
    match NAMES.iter().find(is_named) {
        Some((.., name)) => (*name).to_owned(),
        None if variant.is_empty() => shape.to_owned(),
        None => variant.to_owned(),
    }
}
