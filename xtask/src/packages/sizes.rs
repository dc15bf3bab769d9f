//! How big the libraries are that an app carries for the sans-IO API alone: no threads, no TLS, no SQLite. No package has them.

use crate::{context::Context, log::Log, process, tools::rustup};
use anyhow::{Context as _, bail, ensure};
use std::{
    env, fs,
    path::{Path, PathBuf},
};

const LINUX: &str = "x86_64-unknown-linux-gnu";
const ANDROID: &str = "aarch64-linux-android";
const IOS: &str = "aarch64-apple-ios";

/// The libraries: package, features, profile, target, and the maximum size of each when stripped, in bytes. The second
/// is the one in Flutter's plugin.
///
/// In `smallest` a panic ends the process; the other libraries turn it into an error. The crates' lints forbid code
/// that panics on outside input, and fuzzing looks for the rest; but the native libraries that are published unwind.
/// iOS links statically: the archive's size is not that of an app, whose linker keeps only the code that is called.
const LIBRARIES: &str = "\
stepwell-ffi  uniffi              small     aarch64-linux-android     2750000
stepwell-c    json-schema         small     aarch64-linux-android     4800000
stepwell-ffi  uniffi              small     x86_64-unknown-linux-gnu  3200000
stepwell-ffi  uniffi,json-schema  small     x86_64-unknown-linux-gnu  5500000
stepwell-ffi  uniffi              smallest  x86_64-unknown-linux-gnu  2400000
stepwell-ffi  uniffi              smallest  aarch64-apple-ios         99000000";

/// The sections that a program without unwinding does not need.
const UNWINDING: &str = "*(.eh_frame) *(.eh_frame_hdr) *(.gcc_except_table .gcc_except_table.*)";

/// Functions that are alike become one, and relocations a list of places. The names of what is left out are still on
/// rustc's list of what a library exports.
const LINKING: &str = "-O2 -zpack-relative-relocs --icf=all --undefined-version";

/// Builds each library, reports its size, and checks its limit.
pub(crate) fn weigh(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let here = rustup::host(log)?;
    for line in LIBRARIES.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let &[package, features, profile, target, max] = &words[..] else {
            bail!("`{line}` is no library and its size");
        };
        if target == LINUX && here != LINUX {
            log.say(&format!("not weighed on this machine: {line}"))?;
            continue;
        }
        let file = build(context, log, package, features, profile, target)?;
        let bytes = fs::metadata(&file)?.len();
        let packed = gzip(log, &file)?;
        log.say(&format!(
            "{package} with {features}, {profile}, for {target}: {bytes} bytes stripped, {packed} as gzip packs it"
        ))?;
        ensure!(bytes <= max.parse()?, "it has grown beyond {max} bytes");
    }
    Ok(())
}

/// Builds a library without its symbols.
fn build(
    context: &Context,
    log: &mut Log,
    package: &str,
    features: &str,
    profile: &str,
    target: &str,
) -> anyhow::Result<PathBuf> {
    rustup::target(log, target)?;
    let folder = context.emptied("sizes")?;
    let unwinds = profile != "smallest";
    let (kind, suffix) = if target == IOS {
        ("staticlib", "a")
    } else {
        ("cdylib", "so")
    };
    let mut cargo = process::cargo();
    cargo
        .args(["rustc", "-p", package, "--lib", "--crate-type", kind])
        .args(["--target", target, "--profile", profile])
        .args(["--no-default-features", "--features", features])
        .current_dir(&context.root);
    // By the target's name, flags are for every crate of the library, and build scripts and macros do without.
    let flags = compiler_flags(target, unwinds, &folder)?;
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    if target != IOS {
        cargo.args(["--", "-C", "strip=symbols"]);
        for flag in linker_flags(target, unwinds, &folder)? {
            cargo.args(["-C", &flag]);
        }
    }
    log.build(&mut cargo)?;
    let name = format!("lib{}.{suffix}", package.replace('-', "_"));
    Ok(context.target.join(target).join(profile).join(name))
}

fn compiler_flags(target: &str, unwinds: bool, folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut flags = without_places()?;
    // Code that occurs more than once becomes functions, where that saves more than their unwind tables cost; without
    // unwind tables, the outliner runs repeatedly.
    if unwinds {
        let outlined = "-enable-machine-outliner=always -outliner-benefit-threshold=12";
        flags.push(format!("-Cllvm-args={outlined}"));
    } else {
        let outlined = "-enable-machine-outliner=always -machine-outliner-reruns=2";
        flags.push("-Cforce-unwind-tables=no".to_owned());
        flags.push(format!("-Cllvm-args={outlined}"));
    }
    match target {
        // On x86-64, a frame pointer makes a function's unwind table smaller, and its accesses to the stack shorter. On
        // ARM64 it makes the function bigger.
        LINUX => flags.push("-Cforce-frame-pointers=yes".to_owned()),
        ANDROID => flags.extend(without_ndk(folder)?),
        _ => {}
    }
    Ok(flags)
}

/// The options of the linker, each as a code generation option of rustc.
fn linker_flags(target: &str, unwinds: bool, folder: &Path) -> anyhow::Result<Vec<String>> {
    // An app has no use for what the bindings' generator reads: its bindings were generated from an ordinary build.
    let left_out = if unwinds { "" } else { UNWINDING };
    let script = folder.join("left-out.ld");
    fs::write(
        &script,
        format!(
            "SECTIONS {{ /DISCARD/ : {{ {left_out} *(.rodata.UNIFFI_META_*) }} }} INSERT AFTER .text;\n"
        ),
    )?;
    let mut linking = format!("{LINKING} --script={}", script.display());
    if !unwinds {
        linking += " --no-eh-frame-hdr";
    }
    // The C compiler links for this machine, and takes what is its linker's so.
    let to_linker = if target == LINUX { "-Wl," } else { "" };
    let words = linking.split(' ');
    Ok(words
        .map(|word| format!("link-arg={to_linker}{word}"))
        .collect())
}

/// Links for Android by Rust's own linker and against nothing. The library is as big as if it could be loaded, but for the
/// unwinder, which the NDK adds.
fn without_ndk(folder: &Path) -> anyhow::Result<Vec<String>> {
    for name in ["c", "dl", "gcc", "log", "m", "unwind"] {
        fs::write(folder.join(format!("lib{name}.a")), "!<arch>\n")?;
    }
    Ok(vec![
        "-Clinker=rust-lld".to_owned(),
        "-Clinker-flavor=ld.lld".to_owned(),
        "-Clink-arg=--unresolved-symbols=ignore-all".to_owned(),
        format!("-L{}", folder.display()),
    ])
}

/// Removes the paths of other crates' sources on this machine, which are no part of a library, and do not count in its
/// size.
fn without_places() -> anyhow::Result<Vec<String>> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let home = home.context("there is no home folder")?;
    let Ok(folders) = fs::read_dir(home.join("registry/src")) else {
        return Ok(Vec::new());
    };
    folders
        .map(|folder| Ok(format!("--remap-path-prefix={}=", folder?.path().display())))
        .collect()
}

/// Returns the size of a file after gzip.
pub(super) fn gzip(log: &mut Log, file: &Path) -> anyhow::Result<usize> {
    let output = log.output(process::command("gzip").args(["-9", "--stdout"]).arg(file))?;
    ensure!(output.status.success(), "gzip failed on {}", file.display());
    Ok(output.stdout.len())
}
