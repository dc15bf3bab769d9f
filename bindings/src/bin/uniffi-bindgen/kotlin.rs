//! Kotlin: uniffi's file as it is to be, the options of an agent, which its builder extends, and what all effects have.

mod builders;
mod edits;

use crate::doc::Style;
use crate::hidden;
use crate::model::{Default, Field, Shape, Shapes};
use anyhow::{Context as _, bail};
use camino::Utf8Path;
use heck::{ToLowerCamelCase as _, ToShoutySnakeCase as _};
use std::fs;
use uniffi_meta::Type;

const STYLE: Style = Style {
    mark: "`",
    name: |rust| rust.to_lower_camel_case(),
    value: |name| name.to_shouty_snake_case(),
    null: "null",
};

/// The columns of a line.
const WIDTH: usize = 120;

/// What the function `agent` takes itself.
const OF_THE_FUNCTION: [&str; 4] = ["provider", "model", "base_url", "key"];

/// Edits uniffi's own file, and writes both beside it.
///
/// # Errors
/// A library that cannot be read, an option that has no form here, a folder that cannot be written; uniffi's file does
/// not hide what it is to, or has another form than it had.
pub(crate) fn write(library: &Utf8Path, folder: &Utf8Path) -> anyhow::Result<()> {
    let file = folder.join("dev/stepwell/stepwell_ffi.kt");
    hidden::check(library, "kotlin", &file)?;
    let generated = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    let edited = edits::edited(&generated, &Shapes::errors(library)?)?;
    fs::write(&file, edited).with_context(|| format!("cannot write {file}"))?;
    let shapes = Shapes::read(library)?;
    for (name, text) in [
        ("AgentOptions.kt", options(&shapes)?),
        ("Effects.kt", common(shapes.get("Effect")?)?),
        ("Builders.kt", builders::builders(&shapes)?),
    ] {
        let file = folder.join("dev/stepwell").join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {file}"))?;
    }
    Ok(())
}

/// What all variants of an enum begin with, as properties of it.
fn common(shape: &Shape) -> anyhow::Result<String> {
    let mut text = String::from("// Generated from bindings/src.\n\npackage dev.stepwell\n");
    let of = &shape.name;
    for field in shape.common() {
        let name = field.name.to_lower_camel_case();
        let doc = STYLE.text(&field.doc, None);
        let ty = ty(&field.raw_ty)?;
        text.push_str(&format!(
            "\n/** {doc} */\npublic val {of}.{name}: {ty}\n    get() = when (this) {{\n"
        ));
        for variant in shape.variants() {
            text.push_str(&format!("        is {of}.{} -> {name}\n", variant.name));
        }
        text.push_str("    }\n");
    }
    Ok(text)
}

fn options(shapes: &Shapes) -> anyhow::Result<String> {
    let mut parameters = String::new();
    let mut variables = String::new();
    let mut arguments = String::new();
    for field in shapes.options()? {
        let name = field.name.to_lower_camel_case();
        let of = || format!("`RunConfig.{}` in Kotlin", field.name);
        let ty = ty(&field.raw_ty).with_context(of)?;
        if OF_THE_FUNCTION.contains(&&field.name[..]) {
            parameters.push_str(&format!("    private val {name}: {ty},\n"));
        } else {
            let default = default(field).with_context(of)?;
            variables.push_str(&doc(&field.doc));
            variables.push_str(&format!("    public var {name}: {ty} = {default}\n\n"));
        }
        arguments.push_str(&format!("            {name} = {name},\n"));
    }
    let imports = edits::IMPORTS;
    Ok(format!(
        "// Generated from bindings/src.\n\npackage dev.stepwell\n\n{imports}\n\
         /** How the model of an [Agent] is reached, and how its turns go. */\n\
         public abstract class AgentOptions internal constructor(\n{parameters}) {{\n{variables}\
         \x20   internal fun config(): RunConfig =\n        RunConfig(\n{arguments}        )\n}}\n"
    ))
}

fn doc(doc: &str) -> String {
    let line = format!("    /** {} */\n", STYLE.text(doc, None));
    if line.len() <= WIDTH && !doc.contains('\n') {
        return line;
    }
    let lines = STYLE.lines(doc, None, WIDTH - 7).into_iter();
    let lines = lines.map(|line| format!("     * {line}").trim_end().to_owned() + "\n");
    format!("    /**\n{}     */\n", lines.collect::<String>())
}

fn ty(of: &Type) -> anyhow::Result<String> {
    Ok(match of {
        Type::Boolean => "Boolean".to_owned(),
        Type::UInt32 => "UInt".to_owned(),
        Type::UInt64 => "ULong".to_owned(),
        Type::Float64 => "Double".to_owned(),
        Type::String => "String".to_owned(),
        Type::Record { name, .. } | Type::Enum { name, .. } | Type::Custom { name, .. } => {
            name.clone()
        }
        Type::Optional { inner_type } => format!("{}?", ty(inner_type)?),
        Type::Sequence { inner_type } => format!("List<{}>", ty(inner_type)?),
        Type::Map {
            key_type,
            value_type,
        } => format!("Map<{}, {}>", ty(key_type)?, ty(value_type)?),
        other => bail!("there is no form for {other:?}"),
    })
}

fn default(of: &Field) -> anyhow::Result<String> {
    Ok(match (&of.default, &of.raw_ty) {
        (Some(Default::Nothing), _) => "null".to_owned(),
        (Some(Default::Bool(value)), _) => value.to_string(),
        (Some(Default::Int(number)), _) => format!("{number}u"),
        (Some(Default::Float(number)), _) => number.clone(),
        (Some(Default::Text(text)), _) => format!("{text:?}"),
        (Some(_), Type::Sequence { .. }) => "emptyList()".to_owned(),
        (Some(_), Type::Map { .. }) => "emptyMap()".to_owned(),
        (Some(Default::OfType), Type::Record { name, .. }) => format!("{name}()"),
        (default, _) => bail!("there is no form for the default {default:?}"),
    })
}
