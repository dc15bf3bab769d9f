//! Kotlin: the generated sources beside the hand-written ones.

use super::{
    library::{Library, empty},
    sources::Sources,
};
use crate::{context::Context, log::Log};
use std::{fs, path::PathBuf};

/// For whoever builds or tests in the package's own folder.
pub(crate) static SOURCES: Sources = Sources::new();

/// Writes `bindings/kotlin/src/generated/kotlin`.
pub(crate) fn generate(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let made = context.made.kotlin.get(|| {
        let library = Library::build(context, log)?;
        write(context, log, &library)
    })?;
    Ok(made.clone())
}

fn write(context: &Context, log: &mut Log, library: &Library) -> anyhow::Result<PathBuf> {
    let folder = context.root.join("bindings/kotlin/src/generated/kotlin");
    empty(&folder)?;
    library.generate(log, "kotlin", &folder)?;
    let file = folder.join("dev/stepwell/stepwell_ffi.kt");
    let generated = fs::read_to_string(&file)?;
    fs::write(&file, with_times(&with_its_warnings_off(&generated)))?;
    Ok(folder)
}

/// The hand-written sources beside it are compiled with every warning an error.
fn with_its_warnings_off(generated: &str) -> String {
    generated.replacen(
        r#"@file:Suppress("NAME_SHADOWING")"#,
        r#"@file:Suppress("warnings")"#,
        1,
    )
}

/// uniffi writes a time's default as the number that it crosses as.
fn with_times(generated: &str) -> String {
    let lines = generated.split_inclusive('\n').map(|line| {
        let is_time = line.contains(": Duration = ") || line.contains(": Duration? = ");
        match line.rsplit_once("uL") {
            Some((before, after)) if is_time => format!("{before}.milliseconds{after}"),
            _ => line.to_owned(),
        }
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::{with_its_warnings_off, with_times};

    #[test]
    fn a_times_default_is_a_time() {
        let of = |ty: &str| format!("    val `delay`: {ty} = 500uL \n");
        let time = "    val `delay`: Duration = 500.milliseconds \n";
        assert_eq!(with_times(&of("Duration")), time);
        assert_eq!(with_times(&of("kotlin.ULong")), of("kotlin.ULong"));
    }

    #[test]
    fn only_the_first_line_of_its_kind_changes() {
        let line = "@file:Suppress(\"NAME_SHADOWING\")\n";
        let changed = with_its_warnings_off(&format!("// by uniffi\n{line}{line}"));
        assert_eq!(
            changed,
            format!("// by uniffi\n@file:Suppress(\"warnings\")\n{line}")
        );
    }
}
