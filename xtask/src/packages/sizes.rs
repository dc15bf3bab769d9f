//! How big the libraries are that an app carries for the sans-IO API alone: no threads, no TLS, no SQLite.

use super::Package;
use crate::{context::Context, log::Log, process, tools::rustup};
use anyhow::{Context as _, ensure};
use std::{
    env,
    env::consts::{DLL_PREFIX, DLL_SUFFIX},
    fs,
    path::{Path, PathBuf},
};

pub(super) const PACKAGE: Package = Package {
    name: "sizes",
    about: "no package: the sizes of the libraries with the sans-IO API alone, and that they build for iOS",
    make,
};

/// A library, and the most that it may weigh stripped, in bytes.
struct Weighed {
    what: &'static str,
    features: &'static [&'static str],
    profile: &'static str,
    most: u64,
}

/// What an app carries that size comes first for, with every provider's dialect in it.
///
/// A panic ends the process, where the other libraries make an error of it. The crates' lints forbid what panics on
/// outside input, and fuzzing looks for the rest; but the native libraries that are published unwind.
const SMALLEST: Weighed = Weighed {
    what: "the API by uniffi, where a panic ends the process",
    features: &["uniffi"],
    profile: "smallest",
    most: 2_350_000,
};

const WEIGHED: &[Weighed] = &[
    Weighed {
        what: "the API by uniffi",
        features: &["uniffi"],
        profile: "small",
        most: 3_200_000,
    },
    Weighed {
        what: "the API by uniffi, with JSON Schemas checked",
        features: &["uniffi", "json-schema"],
        profile: "small",
        most: 5_500_000,
    },
];

const PACKAGE_NAME: &str = "stepwell-ffi";
const LIBRARY: &str = "stepwell_ffi";

/// iOS links statically. The stripped archive is no figure for an app: its linker takes what is called.
const IPHONE: &str = "aarch64-apple-ios";

/// A function that keeps a frame pointer says in less how it is unwound, and reaches what is on its stack by shorter
/// instructions. What is alike in all the code becomes functions, where that saves more than saying how those are unwound.
const FLAGS: &[&str] = &[
    FRAME_POINTERS,
    "-Cllvm-args=-enable-machine-outliner=always -outliner-benefit-threshold=12",
];

/// No function says how it is unwound, and what is alike becomes functions more than once.
const SMALLEST_FLAGS: &[&str] = &[
    FRAME_POINTERS,
    "-Cforce-unwind-tables=no",
    "-Cllvm-args=-enable-machine-outliner=always -machine-outliner-reruns=2",
];

const FRAME_POINTERS: &str = "-Cforce-frame-pointers=yes";

/// What the bindings' generator reads: an app has no use for it, its bindings were generated from an ordinary build.
const OF_THE_GENERATOR: &str = "*(.rodata.UNIFFI_META_*)";

/// What a program has no use for that is never unwound.
const OF_UNWINDING: &str = "*(.eh_frame) *(.eh_frame_hdr) *(.gcc_except_table .gcc_except_table.*)";

/// Builds them all, and says how big they are.
pub(crate) fn make(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    weigh_smallest(context, log)?;
    for weighed in WEIGHED {
        weigh(context, log, weighed)?;
    }
    rustup::target(log, IPHONE)?;
    let archive = build(context, log, &SMALLEST, Some(IPHONE))?;
    log.say(&format!("{}: built for {IPHONE}", SMALLEST.what))?;
    ensure!(archive.is_file(), "there is no {}", archive.display());
    folder(context)
}

/// Builds the smallest library, and sees that it has not grown.
pub(crate) fn weigh_smallest(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    weigh(context, log, &SMALLEST)
}

fn folder(context: &Context) -> anyhow::Result<PathBuf> {
    let folder = context.target.join("package/sizes");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn weigh(context: &Context, log: &mut Log, weighed: &Weighed) -> anyhow::Result<()> {
    let folder = folder(context)?.join(weighed.profile);
    fs::create_dir_all(&folder)?;
    let library = folder.join(format!("{DLL_PREFIX}{LIBRARY}{DLL_SUFFIX}"));
    let built = build(context, log, weighed, None)?;
    fs::copy(&built, &library)?;
    log.run(process::command("strip").arg(&library))?;
    let bytes = fs::metadata(&library)?.len();
    let packed = gzip(log, &library)?;
    log.say(&format!(
        "{}: {bytes} bytes stripped, {packed} as gzip packs it",
        weighed.what
    ))?;
    ensure!(
        bytes <= weighed.most,
        "{} has grown beyond {} bytes",
        weighed.what,
        weighed.most
    );
    Ok(())
}

/// Builds the library: a dynamic one for this machine, a static one for another.
fn build(
    context: &Context,
    log: &mut Log,
    weighed: &Weighed,
    target: Option<&str>,
) -> anyhow::Result<PathBuf> {
    let kind = if target.is_some() {
        "staticlib"
    } else {
        "cdylib"
    };
    let mut cargo = process::cargo();
    cargo
        .args(["rustc", "-p", PACKAGE_NAME, "--lib", "--crate-type", kind])
        .args(["--profile", weighed.profile, "--no-default-features"])
        .arg("--features")
        .arg(weighed.features.join(","))
        .current_dir(&context.root);
    // Flags for every crate of the library go by the target's name, so that build scripts and macros do without.
    let target = match target {
        Some(target) => target.to_owned(),
        None => rustup::host(log)?,
    };
    cargo.args(["--target", &target]);
    let folder = context.target.join(target);
    let is_smallest = weighed.profile == SMALLEST.profile;
    let flags = if is_smallest { SMALLEST_FLAGS } else { FLAGS };
    let mut flags: Vec<_> = flags.iter().map(ToString::to_string).collect();
    flags.extend(without_places()?);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    if cfg!(target_os = "linux") && kind == "cdylib" {
        // Functions that are alike become one, and relocations a list of places.
        cargo.args(["--", "-C", "link-arg=-Wl,--icf=all"]);
        cargo.args(["-C", "link-arg=-Wl,-z,pack-relative-relocs"]);
        // The names of what is left out are still on rustc's list of what a library exports.
        cargo.args(["-C", "link-arg=-Wl,-O2,--undefined-version"]);
        let unwinding = if is_smallest {
            cargo.args(["-C", "link-arg=-Wl,--no-eh-frame-hdr"]);
            OF_UNWINDING
        } else {
            ""
        };
        let left_out = format!(
            "SECTIONS {{ /DISCARD/ : {{ {unwinding} {OF_THE_GENERATOR} }} }} INSERT AFTER .text;\n"
        );
        let script = self::folder(context)?.join(format!("{}.ld", weighed.profile));
        fs::write(&script, left_out)?;
        cargo.args(["-C", &format!("link-arg=-Wl,-T,{}", script.display())]);
    }
    log.build(&mut cargo)?;
    let name = if kind == "staticlib" {
        format!("lib{LIBRARY}.a")
    } else {
        format!("{DLL_PREFIX}{LIBRARY}{DLL_SUFFIX}")
    };
    Ok(folder.join(weighed.profile).join(name))
}

/// Where this machine keeps the sources of other crates is no part of a library, and is not weighed with it.
fn without_places() -> anyhow::Result<Vec<String>> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let registries = home
        .context("there is no home folder")?
        .join("registry/src");
    let Ok(folders) = fs::read_dir(registries) else {
        return Ok(Vec::new());
    };
    folders
        .map(|folder| Ok(format!("--remap-path-prefix={}=", folder?.path().display())))
        .collect()
}

/// How many bytes gzip makes of a file.
pub(super) fn gzip(log: &mut Log, file: &Path) -> anyhow::Result<usize> {
    let output = log.output(process::command("gzip").args(["-9", "--stdout"]).arg(file))?;
    ensure!(output.status.success(), "gzip failed on {}", file.display());
    Some(output.stdout.len())
        .filter(|bytes| *bytes > 0)
        .context("gzip gave nothing")
}
