//! The calls of the machine and the registry: methods of mixins that `RunMachine` and `RunRegistry` have.

use super::{Dart, WIDTH, doc_lines};
use crate::json;
use crate::model::{Field, Json, Method, Shapes, Ty};
use anyhow::Context as _;
use askama::Template;

const MACHINE: &str = "\
/// What a run is told and asked, in the JSON API. Time is in milliseconds since the epoch.
base mixin _RunCalls {
  Outputs _tell(String input, int? nowMs, [JsonObject fields = const {}]);

  /// Gives what `read` makes of the field `answer`.
  T _ask<T>(String question, T Function(JsonObject json) read, [JsonObject fields = const {}]);";

const REGISTRY: &str = "\
/// The registry's calls, in the JSON API.
base mixin _RegistryCalls {
  /// Gives what `read` makes of the field `answer`.
  T _call<T>(String call, T Function(JsonObject json) read, [JsonObject fields = const {}]);";

/// The call that changes something although it takes nothing: a method, where the others are properties.
const TAKES: &str = "take_events";

/// `machine_calls.dart` or `registry_calls.dart`.
#[derive(Template)]
#[template(path = "calls.dart", escape = "none")]
pub(super) struct Calls<'s> {
    dart: Dart<'s>,
    library: &'static str,
    head: &'static str,
    methods: &'s [Method],
    /// The method of the mixin that calls the library.
    call: &'static str,
}

pub(super) fn machine<'s>(shapes: &'s Shapes, methods: &'s [Method]) -> Calls<'s> {
    Calls {
        dart: Dart(shapes),
        library: "machine",
        head: MACHINE,
        methods,
        call: "_ask",
    }
}

pub(super) fn registry<'s>(shapes: &'s Shapes, methods: &'s [Method]) -> Calls<'s> {
    Calls {
        library: "registry",
        head: REGISTRY,
        call: "_call",
        ..machine(shapes, methods)
    }
}

impl Calls<'_> {
    fn method(&self, method: &Method) -> anyhow::Result<String> {
        let text = if method.takes_time() {
            self.input(method)
        } else {
            self.question(method)
        };
        text.with_context(|| method.name.clone())
    }

    /// Formats a method that passes the machine an input.
    fn input(&self, method: &Method) -> anyhow::Result<String> {
        let name = json::name(&method.name);
        let head = format!("Outputs {name}({})", self.parameters(method)?);
        let arguments = [format!("'{name}'"), "nowMs".to_owned()];
        Ok(one_call(&head, "_tell", arguments, self.sent(method)?))
    }

    /// Formats a method, or a property, that asks the machine a question.
    fn question(&self, method: &Method) -> anyhow::Result<String> {
        let name = json::name(&method.name);
        let (ty, read, unit) = match &method.returns {
            None => ("void".to_owned(), "{}".to_owned(), ""),
            Some(answer) if answer.ty.is_time() => {
                let read = "=> json.maybeNumber('answer')".to_owned();
                ("int?".to_owned(), read, "Ms")
            }
            Some(answer) => {
                let answer = answer_in_json(method, answer);
                let read = format!("=> {}", self.dart.read(&answer)?);
                (self.dart.ty(&answer.ty)?, read, "")
            }
        };
        let is_property =
            method.arguments.is_empty() && method.name != TAKES && method.returns.is_some();
        let head = if is_property {
            format!("{ty} get {name}{unit}")
        } else {
            format!("{ty} {name}({})", self.parameters(method)?)
        };
        let arguments = [format!("'{name}'"), format!("(json) {read}")];
        Ok(one_call(&head, self.call, arguments, self.sent(method)?))
    }

    /// The declared parameters: those that may be left out are named, unless they come first.
    fn parameters(&self, method: &Method) -> anyhow::Result<String> {
        let (mut positional, mut named) = (Vec::new(), Vec::new());
        for (index, field) in method.arguments.iter().enumerate() {
            let parameter = format!(
                "{} {}",
                self.parameter_type(method, field)?,
                json::name(&field.name)
            );
            if field.may_be_absent() && index > 0 {
                named.push(parameter);
            } else {
                positional.push(parameter);
            }
        }
        if method.takes_time() {
            named.push("int? nowMs".to_owned());
        }
        if !named.is_empty() {
            positional.push(format!("{{{}}}", named.join(", ")));
        }
        Ok(positional.join(", "))
    }

    fn parameter_type(&self, method: &Method, field: &Field) -> anyhow::Result<String> {
        if method.is_content(&field.name) {
            return Ok("Object".to_owned());
        }
        if method.is_messages(&field.name) {
            return Ok("List<JsonObject>".to_owned());
        }
        let ty = match field.ty.inner() {
            Ty::Bytes => "String".to_owned(),
            Ty::Json(_) => "Object?".to_owned(),
            other => self.dart.ty(other)?,
        };
        let is_nullable = field.may_be_absent() && !ty.ends_with('?');
        Ok(ty + if is_nullable { "?" } else { "" })
    }

    /// The arguments as a JSON object, without those that are absent.
    fn sent(&self, method: &Method) -> anyhow::Result<Option<String>> {
        let fields = method.arguments.iter();
        let fields = fields.map(|field| self.sent_field(method, field));
        let fields = fields.collect::<anyhow::Result<Vec<_>>>()?;
        Ok((!fields.is_empty()).then(|| format!("{{{}}}", fields.join(", "))))
    }

    fn sent_field(&self, method: &Method, field: &Field) -> anyhow::Result<String> {
        let name = json::name(&field.name);
        let is_plain = method.is_content(&field.name) || method.is_messages(&field.name);
        let value = match field.ty.inner() {
            Ty::Bytes | Ty::Map | Ty::Json(_) => name.clone(),
            _ if is_plain => name.clone(),
            Ty::Duration => format!("{name}.inMilliseconds"),
            inner => self.dart.write(&Field {
                ty: inner.clone(),
                ..field.clone()
            })?,
        };
        let entry = format!("'{}': {value}", json::key(field));
        Ok(if field.may_be_absent() {
            format!("if ({name} != null) {entry}")
        } else {
            entry
        })
    }
}

/// The answer with the type that it has in the JSON API.
fn answer_in_json(method: &Method, answer: &Field) -> Field {
    let mut answer = answer.clone();
    if method.is_messages(&answer.name) {
        answer.ty = Ty::Json(Json::Array);
    } else if matches!(answer.ty.inner(), Ty::Json(_)) {
        answer.ty = Ty::Json(Json::Any);
    }
    answer
}

/// A method whose body is one call, in as many lines as it takes.
fn one_call(head: &str, name: &str, arguments: [String; 2], sent: Option<String>) -> String {
    let arguments: Vec<_> = arguments.into_iter().chain(sent).collect();
    let call = format!("{name}({});", arguments.join(", "));
    if head.len() + call.len() + 6 <= WIDTH {
        format!("  {head} => {call}")
    } else if call.len() + 6 <= WIDTH {
        format!("  {head} =>\n      {call}")
    } else {
        let arguments = arguments.join(",\n        ");
        format!("  {head} => {name}(\n        {arguments},\n      );")
    }
}
