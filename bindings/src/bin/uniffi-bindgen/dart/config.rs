//! The configuration: each class is written as JSON.

use super::{File, is_words, value_name};
use crate::json;
use crate::model::{Default, Field, Json, Kind, Ty};
use anyhow::bail;

/// How Dart has a field.
struct Form {
    name: String,
    ty: String,
    /// What it is if it is left out, as Dart writes it; nothing if it must be given or may be `null`.
    default: Option<String>,
    is_required: bool,
    /// Whether `null` is a value of its own: no limit, no wait.
    may_be_none: bool,
    /// Its name and its value in JSON.
    key: String,
    json: String,
    doc: String,
}

impl Form {
    /// Its value in a copy.
    fn copied(&self) -> String {
        let name = &self.name;
        if self.may_be_none {
            format!("{name} == null ? this.{name} : {name}()")
        } else {
            format!("{name} ?? this.{name}")
        }
    }
}

/// A field that Dart has in another form: its name, type, default and value in JSON.
struct Special {
    shape: &'static str,
    field: &'static str,
    name: &'static str,
    ty: &'static str,
    default: &'static str,
    key: &'static str,
    json: &'static str,
    doc: &'static str,
}

const SPECIAL: [Special; 6] = [
    Special {
        shape: "RunConfig",
        field: "key",
        name: "key",
        ty: "String?",
        default: "",
        key: "key",
        json: "key",
        doc: "The API key. What is shipped with an app can be read by anyone: give it only where the user brings their own.",
    },
    Special {
        shape: "RunConfig",
        field: "tools",
        name: "tools",
        ty: "List<ToolDefinition>",
        default: "const []",
        key: "tools",
        json: "[for (final each in tools) each.toJson()]",
        doc: "The tools of a [RunMachine]; an `Agent` takes them with their code.",
    },
    Special {
        shape: "RunConfig",
        field: "providers",
        name: "providers",
        ty: "List<JsonObject>",
        default: "const []",
        key: "providers",
        json: "providers",
        doc: "Providers of the app's own, each as in the file that `stepwell --providers` takes.",
    },
    Special {
        shape: "GenerationSettings",
        field: "tool_choice",
        name: "toolChoice",
        ty: "String?",
        default: "",
        key: "toolChoice",
        json: "choiceAsJson(toolChoice)",
        doc: "`auto`, `never`, `required`, or the name of a tool.",
    },
    Special {
        shape: "GenerationSettings",
        field: "response_format",
        name: "responseFormat",
        ty: "ResponseFormat?",
        default: "",
        key: "responseFormat",
        json: "responseFormat?.toJson()",
        doc: "",
    },
    Special {
        shape: "GenerationSettings",
        field: "extra",
        name: "extra",
        ty: "JsonObject",
        default: "const {}",
        key: "extra",
        json: "extra",
        doc: "",
    },
];

/// Classes whose fields without a default come in order.
const IN_ORDER: [&str; 1] = ["ToolDefinition"];

/// Classes in whose JSON a `null` is left out: it is no value of these fields.
const GIVEN: [&str; 5] = [
    "RunConfig",
    "TurnOptions",
    "GenerationSettings",
    "AgUiOptions",
    "ToolDefinition",
];

impl File<'_> {
    /// Writes a record of the configuration, and behind it those that it names.
    pub(super) fn taken(&mut self, name: &str) -> anyhow::Result<()> {
        if !self.written.insert(name.to_owned()) {
            return Ok(());
        }
        let shape = self.shapes.get(name)?;
        let Kind::Record(fields) = &shape.kind else {
            return self.words(shape);
        };
        self.begin(name)?;
        let forms = fields
            .iter()
            .map(|field| self.form(name, field))
            .collect::<anyhow::Result<Vec<_>>>()?;
        self.push("\n");
        self.doc(&shape.doc, None, 0);
        let in_order = IN_ORDER.contains(&name);
        self.push(&format!("final class {name} {{\n  const {name}("));
        let (first, rest): (Vec<_>, Vec<_>) =
            forms.iter().partition(|form| in_order && form.is_required);
        for form in &first {
            self.push(&format!("this.{}, ", form.name));
        }
        self.push("{\n");
        for form in &rest {
            let required = if form.is_required { "required " } else { "" };
            let default = form.default.as_deref();
            let default = default.map_or(String::new(), |default| format!(" = {default}"));
            self.push(&format!("    {required}this.{}{default},\n", form.name));
        }
        self.push("  });\n");
        for (form, field) in forms.iter().zip(fields) {
            self.push("\n");
            self.field_doc(&form.doc, field.ty.shape())?;
            self.push(&format!("  final {} {};\n", form.ty, form.name));
        }
        self.copy(name, &first, &rest);
        if name == "RunConfig" {
            self.push("\n  @override\n  String toString() => 'RunConfig($provider $model)';\n");
        }
        let is_given = GIVEN.contains(&name);
        let (open, close) = if is_given {
            ("given({", "})")
        } else {
            ("{", "}")
        };
        self.push(&format!(
            "\n  /// As the library takes it.\n  JsonObject toJson() => {open}\n"
        ));
        for form in &forms {
            self.push(&format!("        '{}': {},\n", form.key, form.json));
        }
        self.push(&format!("      {close};\n}}\n"));
        let named: Vec<_> = fields
            .iter()
            .filter(|field| field.name == "tools" || special(name, field).is_none())
            .filter_map(|field| field.ty.shape())
            .collect();
        for name in named {
            self.taken(name)?;
        }
        Ok(())
    }

    /// The method that gives a copy with changes.
    fn copy(&mut self, name: &str, in_order: &[&Form], named: &[&Form]) {
        let all = || in_order.iter().chain(named);
        let doc = match all().find(|form| form.may_be_none) {
            None => String::new(),
            Some(form) => format!(
                " What may be none is given by a function: `{}: () => null`.",
                form.name
            ),
        };
        self.push("\n");
        let doc =
            format!("The same with what is given here; what is left out, or `null`, stays.{doc}");
        self.doc(&doc, None, 2);
        self.push(&format!("  {name} copyWith({{\n"));
        for form in all() {
            let ty = match form.may_be_none {
                true => format!("{} Function()", form.ty),
                false => form.ty.trim_end_matches('?').to_owned(),
            };
            self.push(&format!("    {ty}? {},\n", form.name));
        }
        self.push(&format!("  }}) =>\n      {name}(\n"));
        for form in in_order {
            self.push(&format!("        {},\n", form.copied()));
        }
        for form in named {
            self.push(&format!("        {}: {},\n", form.name, form.copied()));
        }
        self.push("      );\n");
    }

    fn is_list_of_words(&self, of: &Ty) -> anyhow::Result<bool> {
        match of {
            Ty::Named(shape) => is_words(self.shapes, shape),
            _ => Ok(false),
        }
    }

    fn form(&self, of: &str, field: &Field) -> anyhow::Result<Form> {
        if let Some(special) = special(of, field) {
            return Ok(Form {
                name: special.name.to_owned(),
                ty: special.ty.to_owned(),
                default: Some(special.default.to_owned()).filter(|default| !default.is_empty()),
                is_required: false,
                may_be_none: false,
                key: special.key.to_owned(),
                json: special.json.to_owned(),
                doc: Some(special.doc)
                    .filter(|doc| !doc.is_empty())
                    .unwrap_or(&field.doc)
                    .to_owned(),
            });
        }
        let name = json::name(&field.name);
        let absent = field.if_absent(of);
        let is_optional = field.ty.is_optional() && absent.is_none();
        let mark = if is_optional { "?" } else { "" };
        let inner = field.ty.inner();
        let ty = match inner {
            Ty::Bool => "bool".to_owned(),
            Ty::Int => "int".to_owned(),
            Ty::Float => "double".to_owned(),
            Ty::Text => "String".to_owned(),
            Ty::Duration => "Duration".to_owned(),
            Ty::Json(Json::Object) => "JsonObject".to_owned(),
            Ty::Map => "Map<String, String>".to_owned(),
            Ty::Named(name) => name.clone(),
            Ty::List(inner) => match &**inner {
                Ty::Named(name) => format!("List<{name}>"),
                Ty::Text => "List<String>".to_owned(),
                other => bail!("Dart's configuration has no list of {other:?}"),
            },
            other => bail!("Dart's configuration has no form for {other:?}"),
        };
        let default = match (absent, &field.default) {
            (Some(variant), _) => Some(format!("{ty}.{}", value_name(variant))),
            (None, None | Some(Default::Nothing)) => None,
            (None, Some(default)) => Some(literal(inner, &ty, default)),
        };
        let json = match inner {
            Ty::Duration => format!("{name}{mark}.inMilliseconds"),
            Ty::Named(shape) if is_words(self.shapes, shape)? => {
                let variants = self.shapes.get(shape)?.variants();
                if variants.iter().any(|variant| variant.name == "Continue") {
                    format!("{name} == {shape}.goOn ? 'continue' : {name}.name")
                } else {
                    format!("{name}{mark}.name")
                }
            }
            Ty::Named(_) => format!("{name}{mark}.toJson()"),
            Ty::List(inner) if **inner == Ty::Text => name.clone(),
            Ty::List(inner) if self.is_list_of_words(inner)? => {
                format!("[for (final each in {name}) each.name]")
            }
            Ty::List(_) => format!("[for (final each in {name}) each.toJson()]"),
            _ => name.clone(),
        };
        let is_number = matches!(inner, Ty::Int | Ty::Float | Ty::Duration);
        Ok(Form {
            key: json::key(field),
            name,
            ty: format!("{ty}{mark}"),
            default,
            is_required: field.default.is_none(),
            may_be_none: is_optional && is_number && !GIVEN.contains(&of),
            json,
            doc: field.doc.clone(),
        })
    }
}

fn special(of: &str, field: &Field) -> Option<&'static Special> {
    SPECIAL
        .iter()
        .find(|special| special.shape == of && special.field == field.name)
}

/// A default as Dart writes it, of a field of this type.
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
