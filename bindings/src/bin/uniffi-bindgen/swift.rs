//! Swift: the initializer of an agent with all options.

use crate::doc::Style;
use crate::hidden;
use crate::model::{Default, Field, Shapes};
use anyhow::{Context as _, bail};
use camino::Utf8Path;
use heck::ToLowerCamelCase as _;
use std::fs;
use uniffi_meta::Type;

const STYLE: Style = Style {
    mark: "`",
    name: |rust| rust.to_lower_camel_case(),
    value: |name| format!(".{}", name.to_lower_camel_case()),
    null: "nil",
};

/// The columns of a line.
const WIDTH: usize = 120;

const BEGINNING: &str = "\
// Generated from bindings/src.

extension Agent {
    /// An agent with its tools, and whatever else is given.
    ///
    ///     let agent = try Agent(provider: \"openai\", model: \"gpt-4o-mini\", key: key, tools: [secretNumber])
    ///     for try await event in agent.send(\"What is Alice's secret number?\") { … }
    ///
    /// - Parameters:
";

/// Writes the initializer beside uniffi's own file.
///
/// # Errors
/// A library that cannot be read, an option that has no form here, a folder that cannot be written; uniffi's file does
/// not hide what it is to.
pub(crate) fn write(library: &Utf8Path, folder: &Utf8Path) -> anyhow::Result<()> {
    hidden::check(library, "swift", &folder.join("Stepwell.swift"))?;
    let file = folder.join("AgentOptions.swift");
    let text = initializer(&Shapes::read(library)?)?;
    fs::write(&file, text).with_context(|| format!("cannot write {file}"))
}

fn initializer(shapes: &Shapes) -> anyhow::Result<String> {
    let mut docs = String::new();
    let mut parameters = Vec::new();
    let mut given = |record: &str, fields: Vec<&Field>| -> anyhow::Result<String> {
        let mut arguments = Vec::new();
        for field in fields {
            let label = field.name.to_lower_camel_case();
            let of = || format!("`{record}.{}` in Swift", field.name);
            let ty = ty(&field.raw_ty).with_context(of)?;
            let default = default(field).with_context(of)?;
            parameters.push(format!("        {label}: {ty}{default}"));
            arguments.push(format!("            {label}: {label}"));
            docs.push_str(&parameter(&label, &field.doc));
        }
        Ok(arguments.join(",\n"))
    };
    let config = given("RunConfig", shapes.options()?)?;
    let setup = given("AgentSetup", shapes.get("AgentSetup")?.fields().collect())?;
    Ok(format!(
        "{BEGINNING}{docs}    public convenience init(\n{}\n    ) throws {{\n\
         \x20       let config = RunConfig(\n{config}\n        )\n\
         \x20       let setup = AgentSetup(\n{setup}\n        )\n\
         \x20       setLanguage(language: \"Swift\")\n\
         \x20       try self.init(config: config, setup: setup)\n    }}\n}}\n",
        parameters.join(",\n")
    ))
}

fn parameter(name: &str, doc: &str) -> String {
    let doc = doc.replace("\n\n", " ");
    let lines = STYLE.lines(&format!("- {name}: {doc}"), None, WIDTH - 14);
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let indent = if number == 0 { "" } else { "  " };
        text.push_str(&format!("    ///   {indent}{line}\n"));
    }
    text
}

fn ty(of: &Type) -> anyhow::Result<String> {
    Ok(match of {
        Type::Boolean => "Bool".to_owned(),
        Type::UInt32 => "UInt32".to_owned(),
        Type::UInt64 => "UInt64".to_owned(),
        Type::Float64 => "Double".to_owned(),
        Type::String => "String".to_owned(),
        Type::Record { name, .. }
        | Type::Enum { name, .. }
        | Type::Custom { name, .. }
        | Type::Object { name, .. } => name.clone(),
        Type::Optional { inner_type } => format!("{}?", ty(inner_type)?),
        Type::Sequence { inner_type } => format!("[{}]", ty(inner_type)?),
        Type::Map {
            key_type,
            value_type,
        } => format!("[{}: {}]", ty(key_type)?, ty(value_type)?),
        other => bail!("there is no form for {other:?}"),
    })
}

fn default(of: &Field) -> anyhow::Result<String> {
    let value = match (&of.default, &of.raw_ty) {
        (None, _) => return Ok(String::new()),
        (Some(Default::Nothing), _) => "nil".to_owned(),
        (Some(Default::Bool(value)), _) => value.to_string(),
        (Some(Default::Int(number)), _) => number.to_string(),
        (Some(Default::Float(number)), _) => number.clone(),
        (Some(Default::Text(text)), _) => format!("{text:?}"),
        (Some(_), Type::Sequence { .. }) => "[]".to_owned(),
        (Some(_), Type::Map { .. }) => "[:]".to_owned(),
        (Some(Default::OfType), Type::Record { name, .. }) => format!("{name}()"),
        (default, _) => bail!("there is no form for the default {default:?}"),
    };
    Ok(format!(" = {value}"))
}
