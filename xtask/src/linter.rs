//! The compiler of the one build: Clippy's, whose command for each library and program is kept, so that rustdoc can
//! later be given the same. For `cargo doc` all that they depend on would be compiled a second time.
//!
//! Cargo starts a program in the compiler's place, so that program is this one: a copy, since cargo may build it anew.

use crate::{context::Context, process};
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Set where this program is started in the compiler's place.
const VARIABLE: &str = "STEPWELL_LINTER";

/// The variables by which cargo tells a crate's source about itself.
const TOLD: &[&str] = &[
    "CARGO_BIN_",
    "CARGO_CRATE_",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "OUT_DIR",
];

/// How a library or a program was compiled.
#[derive(Serialize, Deserialize)]
pub(crate) struct Compiled {
    pub(crate) arguments: Vec<String>,
    /// What its source may ask for when it is compiled.
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) folder: PathBuf,
}

/// Sets cargo up so that it compiles the workspace's own packages with Clippy, by way of this program.
pub(crate) fn set_up(context: &Context, cargo: &mut std::process::Command) -> anyhow::Result<()> {
    let folder = context.scratch().join("tools");
    let linter = folder.join(format!("linter{}", env::consts::EXE_SUFFIX));
    let this = env::current_exe().context("where this program lies is not known")?;
    let copied = context.made.linter.get(|| {
        let bytes = fs::read(&this).with_context(|| format!("cannot read {}", this.display()))?;
        if fs::read(&linter).is_ok_and(|known| known == bytes) {
            return Ok(linter);
        }
        fs::create_dir_all(&folder)?;
        // Another run may be using the one that is there.
        let new = folder.join(format!("linter-{}", std::process::id()));
        fs::copy(&this, &new)?;
        fs::rename(&new, &linter)?;
        Ok(linter)
    })?;
    cargo
        .env("RUSTC_WORKSPACE_WRAPPER", copied)
        .env(VARIABLE, "1");
    Ok(())
}

/// Compiles, if that is what this program was started for.
pub(crate) fn run() -> Option<anyhow::Result<ExitCode>> {
    env::var_os(VARIABLE)?;
    let arguments: Vec<String> = env::args_os()
        .skip(1)
        .map(|argument| argument.into_string().ok())
        .collect::<Option<_>>()?;
    let compiler = Path::new(arguments.first()?).file_stem()?;
    (compiler == "rustc").then(|| compile(arguments))
}

fn compile(arguments: Vec<String>) -> anyhow::Result<ExitCode> {
    let status = std::process::Command::new("clippy-driver")
        .args(&arguments)
        .status()
        .context("cannot start Clippy's compiler")?;
    if status.success()
        && let Some(file) = file(&arguments)
    {
        let told = env::vars().filter(|(name, _)| TOLD.iter().any(|told| name.starts_with(told)));
        let compiled = Compiled {
            arguments: arguments.into_iter().skip(1).collect(),
            variables: told.collect(),
            folder: env::current_dir()?,
        };
        fs::write(file, serde_json::to_string(&compiled)?)?;
    }
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Where the command is kept, beside what comes of it; that of a test is not.
fn file(arguments: &[String]) -> Option<PathBuf> {
    let after = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1)
    };
    if arguments.iter().any(|argument| argument == "--test") {
        return None;
    }
    let kind = after("--crate-type")?;
    let name = after("--crate-name")?;
    let folder = Path::new(after("--out-dir")?);
    (name != "build_script_build").then(|| folder.join(name_of(name, kind == "bin")))
}

fn name_of(crate_name: &str, is_program: bool) -> String {
    let kind = if is_program { "program" } else { "library" };
    format!("{crate_name}.{kind}.json")
}

impl Compiled {
    /// How the one build compiled this library or program.
    pub(crate) fn load(context: &Context, name: &str, is_program: bool) -> anyhow::Result<Self> {
        let crate_name = name.replace('-', "_");
        let file = context.debug().join("deps");
        let file = file.join(name_of(&crate_name, is_program));
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// rustdoc for the same source, with the same libraries.
    pub(crate) fn rustdoc(&self, context: &Context) -> anyhow::Result<std::process::Command> {
        let mut rustdoc = process::command("rustdoc");
        rustdoc
            .args(for_rustdoc(&self.arguments)?)
            .arg("--out-dir")
            .arg(context.target.join("doc"))
            .envs(&self.variables)
            .current_dir(&self.folder);
        Ok(rustdoc)
    }
}

/// Of what a compiler is told, that which rustdoc is told too.
fn for_rustdoc(arguments: &[String]) -> anyhow::Result<Vec<String>> {
    let mut kept = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--crate-name" | "--crate-type" | "--cfg" | "--check-cfg" | "-L" | "--extern" => {
                let Some(value) = arguments.next() else {
                    bail!("the compiler's {argument} has no value");
                };
                // As cargo has it: what is private in a program is all that there is.
                if argument == "--crate-type" && value == "bin" {
                    kept.push("--document-private-items".to_owned());
                }
                kept.extend([argument.clone(), value.clone()]);
            }
            "-C" | "--out-dir" | "--cap-lints" => {
                arguments.next();
            }
            other if other.ends_with(".rs") => kept.push(argument.clone()),
            other
                if ["--edition", "--warn=", "--allow=", "--deny=", "--forbid="]
                    .iter()
                    .any(|own| other.starts_with(own)) =>
            {
                kept.push(argument.clone());
            }
            _ => {}
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::{file, for_rustdoc};

    const LIBRARY: &str = "rustc --crate-name stepwell_core --edition=2024 core/src/lib.rs --error-format=json \
        --json=artifacts --crate-type lib --emit=dep-info,metadata,link -C embed-bitcode=no --warn=missing_docs \
        --cfg feature=\"json\" -C metadata=1 --out-dir /t/deps -L dependency=/t/deps --extern serde=/t/deps/libserde.rlib";

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_command_of_a_library_or_a_program_is_kept_and_a_tests_is_not() {
        let place = |line: &str| file(&words(line)).map(|path| path.to_str().unwrap().to_owned());
        let library = Some("/t/deps/stepwell_core.library.json".to_owned());
        assert_eq!(place(LIBRARY), library);
        let program = LIBRARY.replace("--crate-type lib", "--crate-type bin");
        let expected = Some("/t/deps/stepwell_core.program.json".to_owned());
        assert_eq!(place(&program), expected);
        assert_eq!(place(&format!("{LIBRARY} --test")), None);
        assert_eq!(place("rustc -vV"), None);
    }

    #[test]
    fn rustdoc_is_told_of_the_source_and_its_libraries() {
        let told = for_rustdoc(&words(LIBRARY)).unwrap().join(" ");
        assert_eq!(
            told,
            "--crate-name stepwell_core --edition=2024 core/src/lib.rs --crate-type lib --warn=missing_docs \
             --cfg feature=\"json\" -L dependency=/t/deps --extern serde=/t/deps/libserde.rlib"
        );
        assert!(for_rustdoc(&words("src/lib.rs --extern")).is_err());
    }
}
