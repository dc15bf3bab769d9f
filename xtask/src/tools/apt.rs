//! Programs that Debian's packages bring.

use super::Unavailable;
use crate::{log::Log, process};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Keeps apt-get to one at a time, while it is held: Debian's own lock refuses a second one at once, and an update may be
/// set up to remove the packages that another is installing (`docker-clean` in Debian's images).
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    INSTALLING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether this program has root's rights.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Makes sure that all `programs` can be started, installing `packages` where that needs no permission.
pub(crate) fn ensure(log: &mut Log, programs: &[&str], packages: &[&str]) -> anyhow::Result<()> {
    let present = || programs.iter().all(|program| process::exists(program));
    ensure_that(log, present, &programs.join(", "), packages)
}

/// Makes sure that `present` holds, installing `packages` where that needs no permission.
pub(crate) fn ensure_that(
    log: &mut Log,
    present: impl Fn() -> bool,
    what: &str,
    packages: &[&str],
) -> anyhow::Result<()> {
    if present() {
        return Ok(());
    }
    let _installing = alone();
    let packages = packages.join(" ");
    if process::exists("apt-get") && is_root() && !present() {
        log.say(&format!("installing {packages}"))?;
        for arguments in [
            "update",
            &format!("install -y --no-install-recommends {packages}"),
        ] {
            let mut apt = process::command("apt-get");
            apt.env("DEBIAN_FRONTEND", "noninteractive");
            if log.run(apt.args(arguments.split(' '))).is_err() {
                break;
            }
        }
    }
    if present() {
        return Ok(());
    }
    Err(Unavailable(format!(
        "{what}: missing, and not installed; install {packages}"
    ))
    .into())
}
