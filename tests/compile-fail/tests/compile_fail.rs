//! Invalid programs do not compile, and the compiler gives the reason: calls that a state of the run does not allow, and
//! functions that cannot be tools.
//!
//! A case is a program in `tests/states` or `tests/tools`. Its `.stderr` file has the compiler's errors, without what depends
//! on other files: the line numbers of the library and the width of the margin. The errors are those of one version of the
//! compiler, so the test runs only with that one. With `STEPWELL_UPDATE=1` it writes the files.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

const TEST: &str = "invalid_programs_are_refused_with_the_reason";

const FOLDERS: [&str; 2] = ["tests/states", "tests/tools"];

/// The libraries that this program is compiled with.
const LIBRARIES: &str = stepwell_compile_fail::library_arguments!();

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

const VERSION: &str = "rustc 1.95.";

#[test]
fn invalid_programs_are_refused_with_the_reason() -> io::Result<()> {
    let version = String::from_utf8(rustc().arg("--version").output()?.stdout);
    let version = version.unwrap_or_default();
    if !version.starts_with(VERSION) {
        eprintln!("SKIPPED {TEST}: the .stderr files are of {VERSION}, this is {version}");
        return Ok(());
    }
    let update = env::var_os("STEPWELL_UPDATE").is_some();
    let folder = tempfile::tempdir()?;
    let mut failures = Vec::new();
    for case in cases()? {
        let Some(errors) = errors_of(&case, folder.path())? else {
            failures.push(format!("{} compiles, and should not", case.display()));
            continue;
        };
        let file = Path::new(PACKAGE).join(case.with_extension("stderr"));
        if update {
            fs::write(&file, &errors)?;
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        if errors != expected {
            let case = case.display();
            failures.push(format!(
                "{case} should be refused with:\n{expected}\nit is with:\n{errors}"
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n---\n"));
    Ok(())
}

/// The programs, relative to the package's folder.
fn cases() -> io::Result<Vec<PathBuf>> {
    let mut cases = Vec::new();
    for name in FOLDERS {
        let before = cases.len();
        for entry in fs::read_dir(Path::new(PACKAGE).join(name))? {
            let file = Path::new(name).join(entry?.file_name());
            if file.extension() == Some("rs".as_ref()) {
                cases.push(file);
            }
        }
        assert!(cases.len() > before, "there is no case in {name}");
    }
    cases.sort();
    Ok(cases)
}

/// The compiler, in the folder in which cargo runs it: the paths in the libraries are relative to that.
fn rustc() -> Command {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.current_dir(Path::new(PACKAGE).join("../.."));
    rustc
}

/// Compiles a program; returns the compiler's errors, if there are any.
fn errors_of(case: &Path, folder: &Path) -> io::Result<Option<String>> {
    let mut rustc = rustc();
    rustc.args([
        "--edition",
        "2024",
        "--emit",
        "metadata",
        "--diagnostic-width",
        "140",
    ]);
    rustc.args(["-A", "warnings"]).args(LIBRARIES.lines());
    rustc.arg("--out-dir").arg(folder);
    let output = rustc
        .arg(Path::new("tests/compile-fail").join(case))
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    Ok((!output.status.success()).then(|| normalised(&errors)))
}

/// Leaves out the summary, the line numbers of other files than the case, and those in the margin.
fn normalised(errors: &str) -> String {
    let diagnostics = errors.split("\n\n").map(|diagnostic| {
        let lines = diagnostic.lines().map(normalised_line);
        lines.collect::<Vec<_>>().join("\n")
    });
    let summary = ["error: aborting", "Some errors", "For more information"];
    let kept = diagnostics.filter(|it| !summary.iter().any(|start| it.starts_with(start)));
    kept.collect::<Vec<_>>().join("\n\n") + "\n"
}

fn normalised_line(line: &str) -> String {
    let text = line.trim_start_matches(|it: char| it == ' ' || it.is_ascii_digit());
    if let Some((arrow @ ("-->" | ":::"), location)) = text.split_once(' ') {
        let location = match location.strip_prefix("tests/compile-fail/") {
            Some(case) => case,
            None => location.split(':').next().unwrap_or_default(),
        };
        return format!(" {arrow} {location}");
    }
    let margin = match text.chars().next() {
        _ if text.len() == line.len() => "",
        Some('|' | '=') => "  ",
        _ => "          ",
    };
    format!("{margin}{text}")
}
