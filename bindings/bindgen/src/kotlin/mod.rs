//! Kotlin: uniffi's file with edits, the options of an agent, which its builder extends, the builders for Java, and the
//! common fields of all effects.

mod builders;
mod calls;
mod edits;
mod interfaces;
mod split;
mod surface;

use crate::doc::Style;
use crate::hidden;
use crate::model::{Default, Field, Shape, Shapes};
use anyhow::{Context as _, bail};
use askama::Template;
use camino::{Utf8Path, Utf8PathBuf};
use heck::{ToLowerCamelCase as _, ToShoutySnakeCase as _};
use std::fs;
use uniffi_bindgen::bindings::{GenerateOptions, TargetLanguage, generate};
use uniffi_meta::Type;

const STYLE: Style = Style {
    mark: "`",
    name: |rust| rust.to_lower_camel_case(),
    value: |name| name.to_shouty_snake_case(),
    null: "null",
};

/// The length of a line, in columns.
const WIDTH: usize = 120;

/// The options that belong to the class `Model`, and what a builder makes of models.
const OF_MODEL: [&str; 8] = [
    "fallback",
    "provider",
    "model",
    "api",
    "base_url",
    "key",
    "headers",
    "providers",
];

/// Writes the package's generated sources.
///
/// # Errors The library cannot be read, or has an option or a field that Kotlin has no form for; `exclude` in
/// `uniffi.toml` does not fit; uniffi's file is not as the edits expect it; a file cannot be written.
pub(crate) fn write(library: &Utf8Path, folder: &Utf8Path) -> anyhow::Result<()> {
    generate(GenerateOptions {
        languages: vec![TargetLanguage::Kotlin],
        source: library.to_owned(),
        out_dir: folder.to_owned(),
        config_override: Some(Utf8PathBuf::from(crate::CONFIG)),
        ..GenerateOptions::default()
    })?;
    let folder = &folder.join("dev/stepwell");
    let file = folder.join("stepwell_ffi.kt");
    hidden::check(library, "kotlin", &file)?;
    let generated = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    let mut errors = Shapes::errors(library)?;
    // The package has a tree of its own for it.
    errors.0.remove("TurnError");
    let edited = edits::edited(&generated, &errors)?;
    let split::Files { public, insides } = split::files(&edited)?;
    let (public, insides) = (calls::public(&public)?, calls::insides(&insides)?);
    fs::write(&file, public).with_context(|| format!("cannot write {file}"))?;
    let inner = folder.join("internal");
    fs::create_dir_all(&inner).with_context(|| format!("cannot create {inner}"))?;
    let file = inner.join("stepwell_ffi.kt");
    fs::write(&file, insides).with_context(|| format!("cannot write {file}"))?;
    let shapes = &Shapes::read(library)?;
    let options = shapes.options()?;
    crate::write(folder, "AgentOptions.kt", &AgentOptions { options })?;
    let shape = shapes.get("Effect")?;
    crate::write(folder, "Effects.kt", &Common { shape })?;
    crate::write(folder, "Builders.kt", &builders::Builders::new(shapes)?)
}

/// `AgentOptions.kt`.
#[derive(Template)]
#[template(path = "AgentOptions.kt", escape = "none")]
struct AgentOptions<'s> {
    options: Vec<&'s Field>,
}

/// `Effects.kt`: the fields that all variants of an enum begin with, as properties of the enum.
#[derive(Template)]
#[template(path = "Effects.kt", escape = "none")]
struct Common<'s> {
    shape: &'s Shape,
}

/// Formats a documentation as a comment, without an end of line.
fn doc(doc: &str) -> String {
    let line = format!("    /** {} */", STYLE.text(doc, None));
    if line.len() < WIDTH && !doc.contains('\n') {
        return line;
    }
    let lines = STYLE.lines(doc, None, WIDTH - 7).into_iter();
    let lines = lines.map(|line| format!("     * {line}").trim_end().to_owned() + "\n");
    format!("    /**\n{}     */", lines.collect::<String>())
}

fn is_of_model(field: &Field) -> bool {
    OF_MODEL.contains(&&field.name[..])
}

/// The record that a block sets, such as `limits { … }`.
fn block(field: &Field) -> Option<&str> {
    match &field.raw_ty {
        Type::Record { name, .. } => Some(name),
        _ => None,
    }
}

/// The type of a field.
fn field_ty(field: &Field) -> anyhow::Result<String> {
    ty(&field.raw_ty).with_context(|| format!("`{}` in Kotlin", field.name))
}

fn ty(of: &Type) -> anyhow::Result<String> {
    Ok(match of {
        Type::Boolean => "Boolean".to_owned(),
        Type::UInt16 | Type::UInt32 => "Int".to_owned(),
        Type::UInt64 => "Long".to_owned(),
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

/// The default of a field, as an expression.
fn default(of: &Field) -> anyhow::Result<String> {
    Ok(match (&of.default, &of.raw_ty) {
        (Some(Default::Nothing), _) => "null".to_owned(),
        (Some(Default::Bool(value)), _) => value.to_string(),
        (Some(Default::Int(number)), _) => number.to_string(),
        (Some(Default::Float(number)), _) => number.clone(),
        (Some(Default::Text(text)), _) => format!("{text:?}"),
        (Some(_), Type::Sequence { .. }) => "emptyList()".to_owned(),
        (Some(_), Type::Map { .. }) => "emptyMap()".to_owned(),
        (Some(Default::OfType), Type::Record { name, .. }) => format!("{name}()"),
        (default, _) => bail!(
            "`{}` in Kotlin: there is no form for the default {default:?}",
            of.name
        ),
    })
}
