//! What the library gives: each class is read from JSON.

use super::{File, WRITTEN, is_words};
use crate::json;
use crate::model::{Field, Json, Kind, Shape, Ty, Variant};
use anyhow::bail;

/// Shapes and variants whose own name says too little, or is another's.
const NAMES: [(&str, &str, &str); 9] = [
    ("Event", "", "RunEvent"),
    ("Event", "Custom", "CustomEvent"),
    ("Event", "Started", "TurnStarted"),
    ("Event", "Completed", "TurnCompleted"),
    ("Event", "Raw", "RawEvent"),
    ("Event", "Warning", "WarningEvent"),
    ("RegistryEvent", "Unread", "ThreadUnread"),
    ("RegistryEvent", "Read", "ThreadRead"),
    ("RegistryEvent", "Missed", "EventsMissed"),
];

/// What classes have by hand.
const METHODS: [(&str, &str); 1] = [("ToolCallUpdate", "ToolCallResults")];

/// Fields that the JSON API does not have, or not apart.
const LEFT_OUT: [(&str, &str); 3] = [
    ("Event", "common"),
    ("Event", "parts"),
    ("Effect", "stored_outcome"),
];

/// Text in uniffi's form, and in JSON whatever it is.
const AS_IT_IS: (&str, &str) = ("ToolCallResult", "content");

/// The events that the library gives as they are.
const OTHER_EVENTS: &str = "
/// Any other event of the protocol, as it is.
final class AgUiEvent extends RunEvent {
  const AgUiEvent(this.type, this.json);

  final String type;
  final JsonObject json;
}
";

impl File<'_> {
    /// Writes a shape that is given, and behind it those that it names.
    pub(super) fn given(&mut self, name: &str) -> anyhow::Result<()> {
        if !self.written.insert(name.to_owned()) {
            return Ok(());
        }
        let shape = self.shapes.get(name)?;
        match &shape.kind {
            Kind::Enum(_) if shape.is_flat() => self.words(shape)?,
            Kind::Enum(variants) => self.sealed(shape, variants)?,
            Kind::Record(fields) => self.class(shape, name, &shape.doc, None, fields)?,
        }
        let named: Vec<_> = shape
            .fields()
            .filter(|field| !is_left_out(name, field))
            .filter_map(|field| field.ty.shape())
            .collect();
        for name in named {
            self.given(name)?;
        }
        Ok(())
    }

    fn sealed(&mut self, shape: &Shape, variants: &[Variant]) -> anyhow::Result<()> {
        let name = &shape.name;
        let parent = class_name(name, "");
        let common = shape.common();
        self.begin(&parent)?;
        self.push("\n");
        self.doc(&shape.doc, None, 0);
        self.push(&format!("sealed class {parent} {{\n  const {parent}("));
        let own: Vec<_> = common
            .iter()
            .map(|field| format!("this.{}", json::name(&field.name)))
            .collect();
        self.push(&own.join(", "));
        self.push(&format!(
            ");\n\n  factory {parent}.fromJson(JsonObject json) => switch (json.text('type')) {{\n"
        ));
        let known = || variants.iter().filter(|variant| json::has(name, variant));
        for variant in known() {
            let word = json::word(name, variant);
            let class = class_name(name, &variant.name);
            self.push(&format!("        '{word}' => {class}.fromJson(json),\n"));
        }
        let is_event = name == "Event";
        let other = if is_event {
            "final type => AgUiEvent(type, json),".to_owned()
        } else {
            format!("final type => throw FormatException('no {name} is called `$type`'),")
        };
        self.push(&format!("        {other}\n      }};\n"));
        for field in common {
            self.push("\n");
            self.field_doc(&field.doc, None)?;
            let ty = self.ty(&field.ty)?;
            let line = format!("  final {ty} {};\n", json::name(&field.name));
            self.push(&line);
        }
        self.push("}\n");
        for variant in known() {
            let class = class_name(name, &variant.name);
            self.class(shape, &class, &variant.doc, Some(&parent), &variant.fields)?;
        }
        if is_event {
            self.push(OTHER_EVENTS);
        }
        Ok(())
    }

    fn class(
        &mut self,
        shape: &Shape,
        name: &str,
        doc: &str,
        parent: Option<&str>,
        fields: &[Field],
    ) -> anyhow::Result<()> {
        self.begin(name)?;
        let common = parent.map_or(0, |_| shape.common().len());
        let mut kept: Vec<_> = fields
            .iter()
            .filter(|field| !is_left_out(&shape.name, field))
            .cloned()
            .collect();
        for field in &mut kept {
            if AS_IT_IS == (name, &field.name) {
                field.ty = Ty::Json(Json::Any);
            }
        }
        self.push("\n");
        self.doc(doc, None, 0);
        let extends = parent.map_or(String::new(), |parent| format!(" extends {parent}"));
        let methods = METHODS.iter().find(|(of, _)| *of == name);
        let with = methods.map_or(String::new(), |(_, methods)| format!(" with {methods}"));
        self.push(&format!(
            "final class {name}{extends}{with} {{\n  const {name}("
        ));
        // What is always there comes in order, the rest by name.
        let mut places = Vec::new();
        let mut named = Vec::new();
        let mut read = String::new();
        for (position, field) in kept.iter().enumerate() {
            let key = json::name(&field.name);
            let owner = if position < common { "super" } else { "this" };
            let value = self.read(field)?;
            if field.ty.is_optional() {
                named.push(format!("{owner}.{key}"));
                read.push_str(&format!("        {key}: {value},\n"));
            } else {
                places.push(format!("{owner}.{key}"));
                read.push_str(&format!("        {value},\n"));
            }
        }
        if !named.is_empty() {
            places.push(format!("{{{}}}", named.join(", ")));
        }
        self.push(&format!("{});\n\n", places.join(", ")));
        self.push(&format!("  factory {name}.fromJson(JsonObject json) => "));
        if read.is_empty() {
            self.push(&format!("const {name}();\n"));
        } else {
            self.push(&format!("{name}(\n{read}      );\n"));
        }
        for field in &kept[common..] {
            self.push("\n");
            self.field_doc(&field.doc, field.ty.shape())?;
            let ty = self.ty(&field.ty)?;
            let line = format!("  final {ty} {};\n", json::name(&field.name));
            if methods.is_some() && field.name == "result" {
                self.push("  @override\n");
            }
            self.push(&line);
        }
        if WRITTEN.contains(&name) {
            self.push("\n  /// As JSON, for `fromJson`.\n  JsonObject toJson() => given({\n");
            for field in &kept {
                let key = json::key(field);
                let value = self.write(field)?;
                self.push(&format!("        '{key}': {value},\n"));
            }
            self.push("      });\n");
        }
        self.push("}\n");
        Ok(())
    }

    /// The field's value, as JSON.
    pub(super) fn write(&self, field: &Field) -> anyhow::Result<String> {
        let name = json::name(&field.name);
        let mark = if field.ty.is_optional() { "?" } else { "" };
        Ok(match field.ty.inner() {
            Ty::Named(shape) if is_words(self.shapes, shape)? => format!("{name}{mark}.name"),
            Ty::Named(_) => format!("{name}{mark}.toJson()"),
            Ty::List(inner) if **inner == Ty::Text => name,
            Ty::List(_) => format!("[for (final each in {name}) each.toJson()]"),
            Ty::Timestamp => format!("{name}{mark}.millisecondsSinceEpoch"),
            Ty::Duration | Ty::Bytes | Ty::Map => bail!("Dart does not write {:?}", field.ty),
            _ => name,
        })
    }

    pub(super) fn ty(&self, of: &Ty) -> anyhow::Result<String> {
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
            Ty::Bytes | Ty::Map => bail!("Dart has no form for {of:?}"),
        })
    }

    /// The field's value, out of `json`.
    pub(super) fn read(&self, field: &Field) -> anyhow::Result<String> {
        let is_optional = field.ty.is_optional();
        let key = format!("'{}'", json::key(field));
        let maybe = |value: String| {
            if is_optional {
                format!("json[{key}] == null ? null : {value}")
            } else {
                value
            }
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
            Ty::Named(name) if is_words(self.shapes, name)? => {
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

/// Whether it is given as it is.
fn is_json(name: &str) -> bool {
    ["ArgumentsChange", "ToolResult"].contains(&name)
}

fn is_left_out(shape: &str, field: &Field) -> bool {
    LEFT_OUT
        .iter()
        .any(|(of, name)| *of == shape && *name == field.name)
}

fn class_name(shape: &str, variant: &str) -> String {
    let is_named = |(of, name, _): &&(&str, &str, &str)| *of == shape && *name == variant;
    match NAMES.iter().find(is_named) {
        Some((.., name)) => (*name).to_owned(),
        None if variant.is_empty() => shape.to_owned(),
        None => variant.to_owned(),
    }
}
