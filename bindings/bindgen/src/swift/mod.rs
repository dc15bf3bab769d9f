//! Swift: uniffi's sources with edits, and the initializer of an agent with all options.

mod docs;
mod names;
mod payloads;
mod surface;
mod tasks;

use crate::doc::Style;
use crate::hidden;
use crate::model::{Default, Field, Shapes};
use anyhow::{Context as _, bail};
use askama::Template;
use camino::{Utf8Path, Utf8PathBuf};
use heck::ToLowerCamelCase as _;
use std::fs;
use uniffi_bindgen::bindings::{SwiftBindingsOptions, generate_swift_bindings};
use uniffi_meta::Type;

const STYLE: Style = Style {
    mark: "`",
    name: |rust| rust.to_lower_camel_case(),
    value: |name| format!(".{}", name.to_lower_camel_case()),
    null: "nil",
};

/// The length of a line, in columns.
const WIDTH: usize = 120;

/// The options that the model has, that are before the others, or that are several of the initializer's.
const NOT_AMONG_OTHERS: [&str; 9] = [
    "provider",
    "model",
    "api",
    "base_url",
    "key",
    "headers",
    "providers",
    "instructions",
    "fallback",
];

/// Writes the generated sources of the package's targets below its `Sources`: uniffi's are a module of their own, of which
/// the package re-exports what apps use.
///
/// # Errors
/// The library cannot be read, or has an option that Swift has no form for; `exclude` in `uniffi.toml` does not fit;
/// uniffi's source is not as the edits expect it; a file cannot be written.
pub(crate) fn write(library: &Utf8Path, sources: &Utf8Path) -> anyhow::Result<()> {
    let options = || SwiftBindingsOptions {
        source: library.to_owned(),
        module_name: Some("StepwellFFI".to_owned()),
        modulemap_filename: Some("module.modulemap".to_owned()),
        config: Some(Utf8PathBuf::from(crate::CONFIG)),
        ..SwiftBindingsOptions::default()
    };
    generate_swift_bindings(SwiftBindingsOptions {
        generate_headers: true,
        generate_modulemap: true,
        out_dir: sources.join("StepwellFFI"),
        ..options()
    })?;
    let folder = &sources.join("StepwellBindings/Generated");
    generate_swift_bindings(SwiftBindingsOptions {
        generate_swift_sources: true,
        out_dir: folder.clone(),
        ..options()
    })?;
    let file = folder.join("StepwellBindings.swift");
    hidden::check(library, "swift", &file)?;
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    let text = tasks::with_carried_closures(&text)?;
    let text = payloads::with_payloads(&text)?;
    let text = surface::reduced(&docs::in_swift(&text))?;
    let names = names::names(&text)?;
    fs::write(&file, text).with_context(|| format!("cannot write {file}"))?;
    for (target, names) in [
        ("Stepwell", names.package),
        ("StepwellMachine", names.machine),
    ] {
        let folder = sources.join(target).join("Generated");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {folder}"))?;
        let file = folder.join("Names.swift");
        fs::write(&file, names).with_context(|| format!("cannot write {file}"))?;
    }
    let shapes = Shapes::read(library)?;
    let options = shapes.options()?.into_iter();
    let config = options
        .filter(|field| !NOT_AMONG_OTHERS.contains(&&field.name[..]))
        .collect();
    let folder = &sources.join("Stepwell/Generated");
    crate::write(folder, "AgentOptions.swift", &AgentOptions { config })
}

/// `AgentOptions.swift`.
#[derive(Template)]
#[template(path = "AgentOptions.swift", escape = "none")]
struct AgentOptions<'s> {
    /// The options that are fields of the configuration.
    config: Vec<&'s Field>,
}

/// Formats an option as a parameter.
fn parameter(field: &Field) -> anyhow::Result<String> {
    let form = || -> anyhow::Result<String> {
        let (ty, default) = (ty(&field.raw_ty)?, default(field)?);
        Ok(format!(
            "{}: {ty}{default}",
            field.name.to_lower_camel_case()
        ))
    };
    form().with_context(|| format!("the option `{}` in Swift", field.name))
}

/// Formats an option's entry in the list of parameters.
fn parameter_doc(field: &Field) -> String {
    let doc = field.doc.replace("\n\n", " ");
    let text = format!("- {}: {doc}", field.name.to_lower_camel_case());
    STYLE.lines(&text, None, WIDTH - 14).join("\n    ///     ")
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
