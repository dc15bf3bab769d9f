//! How big the libraries are that an app carries for the sans-IO API alone: no threads, no TLS, no SQLite.

use super::Package;
use crate::{context::Context, log::Log, process, tools::rustup};
use anyhow::{Context as _, ensure};
use std::{
    env, fs,
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
    package: &'static str,
    features: &'static [&'static str],
    profile: &'static str,
    on: Platform,
    most: u64,
}

/// Where a library runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Platform {
    Linux,
    Android,
    Iphone,
}

/// What an app carries that size comes first for, with every provider's dialect in it.
///
/// A panic ends the process, where the other libraries make an error of it. The crates' lints forbid what panics on
/// outside input, and fuzzing looks for the rest; but the native libraries that are published unwind.
const SMALLEST: Weighed = Weighed {
    what: "the API by uniffi, where a panic ends the process, on x86-64 Linux",
    package: BY_UNIFFI,
    features: &["uniffi"],
    profile: "smallest",
    on: Platform::Linux,
    most: 2_400_000,
};

/// What an app for phones carries.
const ON_PHONES: Weighed = Weighed {
    what: "the API by uniffi, on ARM64 Android",
    package: BY_UNIFFI,
    features: &["uniffi"],
    profile: "small",
    on: Platform::Android,
    most: 2_750_000,
};

const WEIGHED: &[Weighed] = &[
    ON_PHONES,
    Weighed {
        what: "the API in JSON with JSON Schemas checked, which Flutter's plugin carries, on ARM64 Android",
        package: IN_JSON,
        features: &["json-schema"],
        profile: "small",
        on: Platform::Android,
        most: 4_800_000,
    },
    Weighed {
        what: "the API by uniffi, on x86-64 Linux",
        package: BY_UNIFFI,
        features: &["uniffi"],
        profile: "small",
        on: Platform::Linux,
        most: 3_200_000,
    },
    Weighed {
        what: "the API by uniffi, with JSON Schemas checked, on x86-64 Linux",
        package: BY_UNIFFI,
        features: &["uniffi", "json-schema"],
        profile: "small",
        on: Platform::Linux,
        most: 5_500_000,
    },
    SMALLEST,
];

const BY_UNIFFI: &str = "stepwell-ffi";
const IN_JSON: &str = "stepwell-c";

/// What is alike in all the code becomes functions, where that saves more than saying how those are unwound.
const OUTLINED: &str = "-Cllvm-args=-enable-machine-outliner=always -outliner-benefit-threshold=12";

/// Where no function says how it is unwound, what is alike becomes functions more than once.
const OUTLINED_TWICE: &str =
    "-Cllvm-args=-enable-machine-outliner=always -machine-outliner-reruns=2";

/// On x86-64, a function that keeps a frame pointer says in less how it is unwound, and reaches what is on its stack by
/// shorter instructions. On ARM64 it is bigger by it.
const FRAME_POINTERS: &str = "-Cforce-frame-pointers=yes";

/// What the bindings' generator reads: an app has no use for it, its bindings were generated from an ordinary build.
const OF_THE_GENERATOR: &str = "*(.rodata.UNIFFI_META_*)";

/// What a program has no use for that is never unwound.
const OF_UNWINDING: &str = "*(.eh_frame) *(.eh_frame_hdr) *(.gcc_except_table .gcc_except_table.*)";

/// Functions that are alike become one, and relocations a list of places. The names of what is left out are still on
/// rustc's list of what a library exports.
const LINKING: [&str; 4] = [
    "-O2",
    "-zpack-relative-relocs",
    "--icf=all",
    "--undefined-version",
];

/// The libraries that a link for Android names.
const OF_ANDROID: [&str; 6] = ["c", "dl", "gcc", "log", "m", "unwind"];

/// Builds them all, and says how big they are.
pub(crate) fn make(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    for weighed in WEIGHED {
        weigh(context, log, weighed)?;
    }
    let archive = build(context, log, &SMALLEST, Platform::Iphone)?;
    log.say("the smallest: built for iPhones")?;
    ensure!(archive.is_file(), "there is no {}", archive.display());
    folder(context)
}

/// Builds the library that phones carry and the smallest one, and sees that neither has grown.
pub(crate) fn weigh_two(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    weigh(context, log, &ON_PHONES)?;
    weigh(context, log, &SMALLEST)
}

fn folder(context: &Context) -> anyhow::Result<PathBuf> {
    let folder = context.target.join("package/sizes");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn weigh(context: &Context, log: &mut Log, weighed: &Weighed) -> anyhow::Result<()> {
    if weighed.on == Platform::Linux && !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return log.say(&format!("{}: not weighed on this machine", weighed.what));
    }
    let library = build(context, log, weighed, weighed.on)?;
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

/// Builds a library without its symbols.
fn build(
    context: &Context,
    log: &mut Log,
    weighed: &Weighed,
    platform: Platform,
) -> anyhow::Result<PathBuf> {
    let target = platform.target();
    rustup::target(log, target)?;
    let mut cargo = process::cargo();
    cargo
        .args(["rustc", "-p", weighed.package, "--lib"])
        .args(["--crate-type", platform.crate_type(), "--target", target])
        .args(["--profile", weighed.profile, "--no-default-features"])
        .arg("--features")
        .arg(weighed.features.join(","))
        .current_dir(&context.root);
    // By the target's name, flags are for every crate of the library, and build scripts and macros do without.
    let mut flags = weighed.flags(platform);
    flags.extend(without_places()?);
    if platform == Platform::Android {
        flags.extend(without_ndk(context)?);
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    if platform != Platform::Iphone {
        let script = self::folder(context)?.join(format!("{}.ld", weighed.profile));
        fs::write(&script, weighed.left_out())?;
        cargo.args(["--", "-C", "strip=symbols"]);
        let mut link_args: Vec<_> = LINKING.iter().map(ToString::to_string).collect();
        link_args.push(format!("--script={}", script.display()));
        if !weighed.unwinds() {
            link_args.push("--no-eh-frame-hdr".to_owned());
        }
        for link_arg in link_args {
            // The C compiler links for this machine, and takes what is its linker's so.
            let to_linker = if platform == Platform::Linux {
                "-Wl,"
            } else {
                ""
            };
            cargo.args(["-C", &format!("link-arg={to_linker}{link_arg}")]);
        }
    }
    log.build(&mut cargo)?;
    let name = weighed.package.replace('-', "_");
    let folder = context.target.join(target).join(weighed.profile);
    Ok(folder.join(format!("lib{name}{}", platform.suffix())))
}

impl Platform {
    const fn target(self) -> &'static str {
        match self {
            Self::Linux => "x86_64-unknown-linux-gnu",
            Self::Android => "aarch64-linux-android",
            Self::Iphone => "aarch64-apple-ios",
        }
    }

    /// iOS links statically. The stripped archive is no figure for an app: its linker takes what is called.
    const fn crate_type(self) -> &'static str {
        match self {
            Self::Iphone => "staticlib",
            _ => "cdylib",
        }
    }

    const fn suffix(self) -> &'static str {
        match self {
            Self::Iphone => ".a",
            _ => ".so",
        }
    }
}

impl Weighed {
    fn unwinds(&self) -> bool {
        self.profile != "smallest"
    }

    fn flags(&self, platform: Platform) -> Vec<String> {
        let mut flags = Vec::new();
        if platform == Platform::Linux {
            flags.push(FRAME_POINTERS);
        }
        flags.extend(if self.unwinds() {
            &[OUTLINED][..]
        } else {
            &["-Cforce-unwind-tables=no", OUTLINED_TWICE]
        });
        flags.into_iter().map(ToOwned::to_owned).collect()
    }

    /// A linker's script that leaves out what an app has no use for.
    fn left_out(&self) -> String {
        let unwinding = if self.unwinds() { "" } else { OF_UNWINDING };
        format!(
            "SECTIONS {{ /DISCARD/ : {{ {unwinding} {OF_THE_GENERATOR} }} }} INSERT AFTER .text;\n"
        )
    }
}

/// Links for Android by Rust's own linker and against nothing. The library is as big as if it could be loaded, but for the
/// unwinder, which the NDK adds.
fn without_ndk(context: &Context) -> anyhow::Result<Vec<String>> {
    let nothing = folder(context)?.join("nothing");
    fs::create_dir_all(&nothing)?;
    for name in OF_ANDROID {
        fs::write(nothing.join(format!("lib{name}.a")), "!<arch>\n")?;
    }
    let flags = [
        "-Clinker=rust-lld",
        "-Clinker-flavor=ld.lld",
        "-Clink-arg=--unresolved-symbols=ignore-all",
    ];
    let mut flags: Vec<_> = flags.map(ToOwned::to_owned).into();
    flags.push(format!("-L{}", nothing.display()));
    Ok(flags)
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
