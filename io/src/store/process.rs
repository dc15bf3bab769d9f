//! Tells whether the process that took a lease is dead, where both processes run on one Linux machine: the turns of a host
//! that was killed and starts again need not wait for its lease to expire.

use std::fs;
use std::path::Path;

/// Returns what names this process: the boot of the machine, the namespace of process ids, the process id and when the
/// process began. `None` where that cannot be known.
pub(super) fn this_process() -> Option<String> {
    let machine = machine()?;
    let id = std::process::id();
    let begun = begun_at(id)?;
    Some(format!("{machine}/{id}/{begun}"))
}

/// Returns whether the process of such a name is known to be dead.
pub(super) fn is_dead(process: &str) -> bool {
    let mut parts = process.rsplitn(3, '/');
    let (Some(begun), Some(id), Some(of)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let Ok(id) = id.parse() else { return false };
    // The id may be another process's by now, which began later.
    machine().is_some_and(|machine| machine == of) && begun_at(id).as_deref() != Some(begun)
}

/// Returns a name of this boot of this machine, if its processes can be seen: `/proc` may hide those of other users.
fn machine() -> Option<String> {
    if !Path::new("/proc/1/stat").exists() {
        return None;
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}/{}", boot.trim(), namespace.display()))
}

/// Returns when a process began, in ticks since the boot: the 22nd field of its `stat`
/// (<https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>). The second field, the program's name, may hold anything.
fn begun_at(id: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    // A process that is dead and not waited for yet is dead.
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let begun = fields.nth(18)?;
    (!matches!(state, "Z" | "X")).then(|| begun.to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn detects_a_killed_process() {
        let Some(this) = this_process() else {
            eprintln!("SKIPPED: the processes of this machine cannot be seen");
            return;
        };
        assert!(!is_dead(&this));
        let child = Command::new("cat").stdin(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        let begun = begun_at(child.id()).unwrap();
        let name = format!("{}/{}/{begun}", machine().unwrap(), child.id());
        assert!(!is_dead(&name));
        child.kill().unwrap();
        // Killed, and not waited for: it still has its id.
        while !is_dead(&name) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(is_dead(&name));
        // Another process may have got the id, or the machine be another one.
        assert!(is_dead(&format!(
            "{}/{}/1",
            machine().unwrap(),
            std::process::id()
        )));
        for unknown in ["", "a/b", "another-boot/pid:[1]/1/2", "x/y/z/w"] {
            assert!(!is_dead(unknown), "{unknown}");
        }
    }
}
