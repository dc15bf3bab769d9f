//! The Swift toolchains: the one at hand, or those of two later Debians, each unpacked in a folder of `target/xtask`.

use super::{Unavailable, apt::alone};
use crate::{context::Context, log::Log, process};
use anyhow::Context as _;
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A release of Debian with Swift 6 among its packages.
#[derive(Clone, Copy)]
pub(crate) struct Release {
    name: &'static str,
    /// The flags that its toolchain needs.
    flags: &'static [&'static str],
}

/// Debian 13, with Swift 6.0: the oldest compiler that the package supports.
pub(crate) const OLDEST: Release = Release {
    name: "trixie",
    // Its library for observation lacks a function that no program calls.
    flags: &["-Xlinker", "--allow-shlib-undefined"],
};
/// Debian's development release, with Swift 6.2 or later: its compiler knows isolated conformances, and checks more.
pub(crate) const NEWEST: Release = Release {
    name: "sid",
    // Its module for tests that use Foundation has no library.
    flags: &[
        "-Xlinker",
        "--allow-shlib-undefined",
        "-Xswiftc",
        "-Xfrontend",
        "-Xswiftc",
        "-disable-cross-import-overlays",
    ],
};

const PACKAGES: &[&str] = &["swiftlang", "g++", "libc6-dev", "dash", "git"];
/// Where Debian keeps Swift's programs.
const PROGRAMS: &str = "/usr/libexec/swift/bin";

/// Runs the programs of a toolchain.
pub(crate) enum Swift {
    /// They are on the path.
    AtHand,
    /// They lie in a Debian of their own, with the folders that they may see.
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
        let root = context.scratch().join(format!("swift-{}", release.name));
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
        let stamp = root.join("unpacked");
        if fs::read_to_string(&stamp).is_ok_and(|packages| packages == PACKAGES.join(" "))
            && swift.works()
        {
            return Ok(swift);
        }
        let lacking = |why: &str| Unavailable(format!("there is no swiftc here, and {why}"));
        for program in ["apt-get", "dpkg-deb", "unshare", "chroot"] {
            if !process::exists(program) {
                return Err(lacking(&format!("no {program} to set up Debian's with")).into());
            }
        }
        if log.read(process::command("id").arg("-u"))?.trim() != "0" {
            return Err(lacking("only root may set up Debian's").into());
        }
        log.say(&format!("unpacking the Swift of Debian {}", release.name))?;
        if let Err(error) = unpack(log, &root, release) {
            return Err(lacking(&format!("Debian's cannot be had ({error})")).into());
        }
        if !swift.works() {
            return Err(lacking("Debian's does not run here").into());
        }
        fs::write(stamp, PACKAGES.join(" "))?;
        Ok(swift)
    }

    /// Has its programs see a folder beside the repository's.
    pub(crate) fn see(&mut self, folder: &Path) {
        if let Self::Unpacked { seen, .. } = self {
            seen.push(folder.to_owned());
        }
    }

    /// One of its programs, to be run in `folder`.
    pub(crate) fn program(&self, name: &str, folder: &Path) -> Command {
        match self {
            Self::AtHand => {
                let mut command = process::command(name);
                command.current_dir(folder);
                command
            }
            Self::Unpacked { root, seen, .. } => {
                // The mounts are gone with the command.
                let mut script = String::from(
                    "set -e; mount --rbind /proc \"$1/proc\"; mount --rbind /dev \"$1/dev\"; ",
                );
                for folder in seen {
                    let folder = folder.display();
                    script.push_str(&format!(
                        "mkdir -p \"$1{folder}\"; mount --bind \"{folder}\" \"$1{folder}\"; "
                    ));
                }
                script.push_str(
                    "exec chroot \"$1\" /bin/sh -c 'cd \"$0\"; exec \"$@\"' \"$2\" \"$3\" \"${@:4}\"",
                );
                let mut command = process::command("unshare");
                command
                    .args(["--mount", "bash", "-c", &script, "bash"])
                    .arg(root)
                    .arg(folder)
                    // A program with a path stays where it is.
                    .arg(Path::new(PROGRAMS).join(name))
                    .env("PATH", format!("{PROGRAMS}:/usr/bin:/usr/sbin"))
                    .env("HOME", "/tmp")
                    .env_remove("TMPDIR");
                command
            }
        }
    }

    /// The flags that this toolchain needs.
    pub(crate) fn flags(&self) -> &'static [&'static str] {
        match self {
            Self::AtHand => &[],
            Self::Unpacked { release, .. } => release.flags,
        }
    }

    /// The name of the folder for what this toolchain builds.
    pub(crate) fn build_folder(&self) -> String {
        match self {
            Self::AtHand => "swift-build".to_owned(),
            Self::Unpacked { release, .. } => format!("swift-build-{}", release.name),
        }
    }

    /// The version of the compiler, as `(6, 2)`.
    pub(crate) fn version(&self) -> anyhow::Result<(u32, u32)> {
        let output = self
            .program("swiftc", Path::new("/"))
            .arg("--version")
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        parsed(&text).with_context(|| format!("`swiftc --version` gives no version: {text}"))
    }

    fn works(&self) -> bool {
        let mut command = self.program("swiftc", Path::new("/"));
        let output = command.arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    }
}

/// The first two numbers of "Swift version 6.2.3 (swift-6.2.3-RELEASE)".
fn parsed(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_once("Swift version ")?.1.split(['.', ' ', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// A Debian of just these packages and what they need.
fn unpack(log: &mut Log, root: &Path, release: Release) -> anyhow::Result<()> {
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    let apt = root.join("apt");
    for folder in ["lists/partial", "cache/archives/partial", "state"] {
        fs::create_dir_all(apt.join(folder))?;
    }
    fs::write(apt.join("state/status"), "")?;
    fs::write(
        apt.join("sources.list"),
        format!(
            "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {} main\n",
            release.name
        ),
    )?;
    let option = |name: &str, value: &OsStr| format!("{name}={}", value.to_string_lossy());
    let run = |log: &mut Log, arguments: &[&str]| {
        let mut command = process::command("apt-get");
        for (name, path) in [
            ("Dir::Etc::sourcelist", "sources.list"),
            ("Dir::State", "state"),
            ("Dir::State::Lists", "lists"),
            ("Dir::State::status", "state/status"),
            ("Dir::Cache", "cache"),
        ] {
            command
                .arg("-o")
                .arg(option(name, apt.join(path).as_os_str()));
        }
        log.set_up(
            command
                .args([
                    "-o",
                    "Dir::Etc::sourceparts=-",
                    "-o",
                    "APT::Sandbox::User=root",
                ])
                .args(arguments),
        )
    };
    {
        let _alone = alone();
        run(log, &["update"])?;
    }
    let install = [
        "install",
        "-y",
        "--download-only",
        "--no-install-recommends",
    ];
    run(log, &[&install, PACKAGES].concat())?;
    for folder in ["proc", "dev", "tmp"] {
        fs::create_dir_all(root.join(folder))?;
    }
    for entry in fs::read_dir(apt.join("cache/archives"))? {
        let package = entry?.path();
        if package.extension() == Some(OsStr::new("deb")) {
            log.set_up(
                process::command("dpkg-deb")
                    .arg("--extract")
                    .arg(&package)
                    .arg(root),
            )?;
        }
    }
    // What Debian's package of essentials would link.
    for folder in ["bin", "lib", "lib64", "sbin"] {
        let link = root.join(folder);
        if !link.exists() {
            log.set_up(
                process::command("ln")
                    .arg("-s")
                    .arg(Path::new("usr").join(folder))
                    .arg(link),
            )?;
        }
    }
    fs::remove_dir_all(&apt).context("cannot remove the downloaded packages")
}

#[cfg(test)]
mod tests {
    use super::parsed;

    #[test]
    fn reads_the_version_of_a_compiler() {
        let debian = "Swift version 6.0.3 (swift-6.0.3-RELEASE)\nTarget: x86_64-pc-linux-gnu";
        assert_eq!(parsed(debian), Some((6, 0)));
        let apple = "swift-driver version: 1.127.14 Apple Swift version 6.2 (swiftlang-6.2.0.19.9)";
        assert_eq!(parsed(apple), Some((6, 2)));
        assert_eq!(parsed("command not found"), None);
    }
}
