//! A command with all that it starts: one process group, so that nothing of it is left behind.

use std::{
    collections::BTreeSet,
    io,
    process::{Child, Command},
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// The groups that are running.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The group of a command. It leaves the list of the running ones when it is dropped.
pub(super) struct Group(u32);

impl Group {
    pub(super) fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        running.insert(child.id());
        let group = Self(child.id());
        Ok((child, group))
    }

    /// Ends what is left of it.
    pub(super) fn end(&self) {
        system::end(self.0);
    }

    /// What its processes have computed so far, if the system tells.
    pub(super) fn processor(&self) -> Option<Duration> {
        system::of_group(self.0)
    }

    /// If its first process has ended: what that computed, with those that it waited for.
    pub(super) fn ended(&self, child: &mut Child) -> io::Result<Option<Duration>> {
        system::ended(child)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.0);
    }
}

/// Ctrl-C reaches this program alone, since each command is a group of its own: it ends them all.
pub(crate) fn end_all_on_ctrl_c() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        for group in running.iter() {
            system::end(*group);
        }
        std::process::exit(130);
    })?;
    Ok(())
}

#[cfg(unix)]
mod system {
    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
    use std::{fs, io, process::Child, time::Duration};

    fn pid(number: u32) -> Option<Pid> {
        Pid::from_raw(i32::try_from(number).ok()?)
    }

    pub(super) fn end(group: u32) {
        if let Some(group) = pid(group) {
            // Mostly there is nobody left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    pub(super) fn ended(child: &mut Child) -> io::Result<Option<Duration>> {
        let Some(process) = pid(child.id()) else {
            return Ok(child.try_wait()?.map(|_| Duration::ZERO));
        };
        // It is left as it ended until its times are read.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let ended = waitid(WaitId::Pid(process), look)?.is_some();
        Ok(ended.then(|| {
            let stat = Stat::of(child.id());
            stat.map_or(Duration::ZERO, |stat| stat.processor)
        }))
    }

    pub(super) fn of_group(group: u32) -> Option<Duration> {
        let processes = fs::read_dir("/proc").ok()?;
        let mut sum = Duration::ZERO;
        for process in processes.flatten() {
            let name = process.file_name();
            let Some(number) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if let Some(stat) = Stat::of(number).filter(|stat| stat.group == group) {
                sum += stat.processor;
            }
        }
        Some(sum)
    }

    /// What Linux tells of a process: proc_pid_stat(5).
    #[derive(Debug, PartialEq)]
    struct Stat {
        group: u32,
        /// In user and kernel mode, with the children that it waited for.
        processor: Duration,
    }

    impl Stat {
        fn of(process: u32) -> Option<Self> {
            Self::read(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
        }

        fn read(stat: &str) -> Option<Self> {
            // The name before it may hold spaces and brackets.
            let (_, rest) = stat.rsplit_once(") ")?;
            let fields: Vec<_> = rest.split(' ').collect();
            let ticks = fields.get(11..15)?.iter();
            let ticks = ticks
                .map(|field| field.parse::<u64>())
                .sum::<Result<u64, _>>();
            let second = rustix::param::clock_ticks_per_second();
            Some(Self {
                group: fields.get(2)?.parse().ok()?,
                processor: Duration::from_secs_f64(ticks.ok()? as f64 / second as f64),
            })
        }
    }

    #[test]
    fn reads_what_linux_tells_of_a_process() {
        let line = "7 (a (b) c) S 1 42 42 0 -1 4194560 99 0 0 0 100 50 25 25 20 0 1 0 5 6 7";
        let second = rustix::param::clock_ticks_per_second();
        let expected = Stat {
            group: 42,
            processor: Duration::from_secs_f64(200.0 / second as f64),
        };
        assert_eq!(Stat::read(line), Some(expected));
        assert_eq!(Stat::read("7 (a) S 1"), None);
    }
}

#[cfg(not(unix))]
mod system {
    use std::{io, process::Child, time::Duration};

    pub(super) fn end(_: u32) {}

    pub(super) fn of_group(_: u32) -> Option<Duration> {
        None
    }

    pub(super) fn ended(child: &mut Child) -> io::Result<Option<Duration>> {
        Ok(child.try_wait()?.map(|_| Duration::ZERO))
    }
}
