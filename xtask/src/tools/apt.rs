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

/// Makes sure that all `programs` can be started, installing `packages` where that needs no one's leave.
pub(crate) fn ensure(log: &mut Log, programs: &[&str], packages: &[&str]) -> anyhow::Result<()> {
    ensure_that(
        log,
        || programs.iter().all(|program| process::exists(program)),
        &programs.join(", "),
        packages,
    )
}

/// Makes sure that `present` holds, installing `packages` where that needs no one's leave.
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
    if present() {
        return Ok(());
    }
    let lacking = |why: &str| {
        Unavailable(format!(
            "{what}: missing, and {why}; install {}",
            packages.join(" ")
        ))
    };
    if !process::exists("apt-get") {
        return Err(lacking("there is no apt-get").into());
    }
    if log.read(process::command("id").arg("-u"))?.trim() != "0" {
        return Err(lacking("only root may install packages").into());
    }
    log.say(&format!("installing {}", packages.join(" ")))?;
    let apt = || {
        let mut command = process::command("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    let installed = log.set_up(apt().arg("update")).and_then(|()| {
        log.set_up(
            apt()
                .args(["install", "-y", "--no-install-recommends"])
                .args(packages),
        )
    });
    if let Err(error) = installed {
        return Err(lacking(&format!("apt-get could not install it ({error})")).into());
    }
    if present() {
        Ok(())
    } else {
        Err(lacking("installing it did not help").into())
    }
}
