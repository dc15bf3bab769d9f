//! The Swift toolchains: the one at hand, or those of two later Debians, each in a folder of its own, which stays for
//! the next clone.

use super::{Unavailable, apt};
use crate::{context::Context, log::Log, process};
use anyhow::Context as _;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A release of Debian with Swift 6 among its packages.
#[derive(Clone, Copy)]
pub(crate) struct Release {
    name: &'static str,
    /// The flags that its toolchain needs.
    flags: &'static str,
}

/// Debian 13, with Swift 6.0: the oldest compiler that the package supports.
pub(crate) const OLDEST: Release = Release {
    name: "trixie",
    // Its library for observation lacks a function that no program calls.
    flags: "-Xlinker --allow-shlib-undefined",
};
/// Debian's development release, with Swift 6.2 or later: its compiler knows isolated conformances, and checks more.
pub(crate) const NEWEST: Release = Release {
    name: "sid",
    // Its module for tests that use Foundation has no library.
    flags: "-Xlinker --allow-shlib-undefined -Xswiftc -Xfrontend -Xswiftc -disable-cross-import-overlays",
};

/// The folder of Debian's Swift programs.
const PROGRAMS: &str = "/usr/libexec/swift/bin";

/// Runs the programs of a toolchain.
pub(crate) enum Swift {
    /// The programs are on the path.
    AtHand,
    /// The programs are in a Debian of their own, with the folders that they may see.
    Unpacked {
        release: Release,
        root: PathBuf,
        seen: Vec<PathBuf>,
    },
}

impl Swift {
    /// Returns the toolchain at hand, or that of a Debian release, which is unpacked where that is possible.
    pub(crate) fn ensure(
        context: &Context,
        log: &mut Log,
        release: Release,
    ) -> anyhow::Result<Self> {
        if process::exists("swiftc") {
            return Ok(Self::AtHand);
        }
        apt::ensure(log, &["mmdebstrap", "bwrap"], &["mmdebstrap", "bubblewrap"])?;
        let home = env::home_dir().context("there is no home folder")?;
        let root = home.join(".cache/stepwell/swift").join(release.name);
        let swift = Self::Unpacked {
            // The certificates are for the library's HTTP client.
            seen: vec![
                context.root.clone(),
                context.target.clone(),
                "/etc/ssl".into(),
            ],
            root: root.clone(),
            release,
        };
        let works = || process::succeeds(swift.program("swiftc", Path::new("/")).arg("--version"));
        if !works() {
            log.say(&format!("unpacking the Swift of Debian {}", release.name))?;
            let new = root.with_extension("new");
            for folder in [&new, &root] {
                if folder.exists() {
                    fs::remove_dir_all(folder)?;
                }
            }
            fs::create_dir_all(&new)?;
            let mut unpack = process::command("mmdebstrap");
            unpack
                .args([
                    "--variant=extract",
                    // A mirror may be some weeks behind.
                    "--aptopt=Acquire::Check-Valid-Until \"false\"",
                    "--include=base-files,swiftlang,g++,libc6-dev,dash,git",
                ])
                .arg(release.name)
                .arg(&new)
                .arg("http://deb.debian.org/debian");
            if log
                .run(&mut unpack)
                .and_then(|()| Ok(fs::rename(&new, &root)?))
                .is_err()
                || !works()
            {
                let reason = format!(
                    "there is no swiftc here, and none of Debian {}",
                    release.name
                );
                return Err(Unavailable(reason).into());
            }
        }
        Ok(swift)
    }

    /// Returns one of its programs, which runs in `folder`.
    pub(crate) fn program(&self, name: &str, folder: &Path) -> Command {
        let Self::Unpacked { root, seen, .. } = self else {
            let mut command = process::command(name);
            command.current_dir(folder);
            return command;
        };
        let mut command = process::command("bwrap");
        command.arg("--bind").arg(root).arg("/");
        for folder in ["/proc", "/dev"]
            .map(Path::new)
            .into_iter()
            .chain(seen.iter().map(PathBuf::as_path))
        {
            command.arg("--dev-bind").arg(folder).arg(folder);
        }
        command
            .arg("--chdir")
            .arg(folder)
            // A program with a path stays where it is.
            .arg(Path::new(PROGRAMS).join(name))
            .env("PATH", format!("{PROGRAMS}:/usr/bin:/usr/sbin"))
            .env("HOME", "/tmp")
            .env_remove("TMPDIR");
        command
    }

    /// The flags that this toolchain needs.
    pub(crate) fn flags(&self) -> impl Iterator<Item = &'static str> {
        let flags = match self {
            Self::AtHand => "",
            Self::Unpacked { release, .. } => release.flags,
        };
        flags.split_whitespace()
    }

    /// The name of the folder for what this toolchain builds.
    pub(crate) fn build_folder(&self) -> String {
        match self {
            Self::AtHand => "swift-build".to_owned(),
            Self::Unpacked { release, .. } => format!("swift-build-{}", release.name),
        }
    }
}
