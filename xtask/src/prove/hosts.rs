use super::Step;
use crate::tools::postgres::{Postgres, VARIABLE};
use anyhow::{Context as _, ensure};

/// Turns that begin on one host and are followed on the other.
const CATCH_UPS: u32 = 200;

/// How often each way to lose a host is tried.
const TAKE_OVERS: usize = 10;

/// The ways to lose one: killed, frozen, cut off, cut off without being told, and killed before two start at once.
const WAYS: usize = 5;

/// In so many of them the host comes back: each write of both is noted.
const AUDITED: usize = 3;

pub(super) const STEP: Step = Step {
    name: "hosts",
    about: "two hosts on one PostgreSQL: 200 turns that begin on one and are followed on the other from anywhere on; hosts that are killed, frozen or cut off, whose turns, and what they ask, go on at another",
    run: |context, log, _| {
        let server = Postgres::start(log)?;
        for program in context.integration_tests(log, "serve")? {
            let mut tests = program.command();
            tests
                .args(["two_hosts", "take_over", "--nocapture"])
                // One after the other: how long a take-over takes is measured.
                .args(["--test-threads", "1"])
                .env("STEPWELL_CATCH_UPS", CATCH_UPS.to_string())
                .env("STEPWELL_TAKE_OVERS", TAKE_OVERS.to_string())
                .env(VARIABLE, server.url());
            log.run_unbounded(&mut tests)?;
        }
        let text = std::fs::read_to_string(log.path())?;
        let said = text.lines().find_map(catch_ups);
        let mut said = vec![said.context("no catch-ups in the log")?.to_owned()];
        let times: Vec<_> = text.lines().filter_map(take_over).collect();
        ensure!(
            times.len() == TAKE_OVERS * WAYS,
            "{} take-overs in the log, and not {}",
            times.len(),
            TAKE_OVERS * WAYS
        );
        let mut ways: Vec<_> = times.iter().map(|(way, ..)| *way).collect();
        ways.sort_unstable();
        ways.dedup();
        for way in ways {
            let of_way = times.iter().filter(|(name, ..)| *name == way);
            let (mut first, mut last) = (f64::INFINITY, 0.0_f64);
            for (_, from, to) in of_way {
                (first, last) = (first.min(*from), last.max(*to));
            }
            said.push(format!(
                "{way}: {TAKE_OVERS} times, all turns go on after {first:.1} to {last:.1} s"
            ));
        }
        let audits: Vec<_> = text.lines().filter_map(audited).collect();
        ensure!(
            audits.len() == TAKE_OVERS * AUDITED,
            "{} audits in the log, and not {}",
            audits.len(),
            TAKE_OVERS * AUDITED
        );
        said.push(format!(
            "of {} writes of hosts that were lost and came back none came after the next one's first",
            audits.iter().sum::<u64>()
        ));
        Ok(said.join("; "))
    },
};

/// What came of them; the name of a test may stand in front of it.
fn catch_ups(line: &str) -> Option<&str> {
    let end = line.find(" catch-ups: ")?;
    let start = line[..end].rfind(' ').map_or(0, |space| space + 1);
    Some(&line[start..])
}

/// How a host was lost, and after how many seconds its first and its last turn went on.
fn take_over(line: &str) -> Option<(&str, f64, f64)> {
    let (_, said) = line.split_once("take-over, ")?;
    let (way, times) = said.split_once(": ")?;
    let (_, times) = times.split_once(" go on after ")?;
    let (first, last) = times.strip_suffix(" s")?.split_once(" to ")?;
    Some((way, first.parse().ok()?, last.parse().ok()?))
}

/// How many writes were noted in one of them.
fn audited(line: &str) -> Option<u64> {
    let (_, said) = line.split_once("audit, ")?;
    let (_, count) = said.split_once(": ")?;
    count.split_once(" writes of ")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{audited, catch_ups, take_over};

    #[test]
    fn reads_how_many_writes_were_noted() {
        let line = "audit, frozen (SIGSTOP): 76 writes of 4 turns in order: 4 times from one host to another";
        assert_eq!(audited(line), Some(76));
        assert_eq!(audited("test audit::x ... ok"), None);
    }

    #[test]
    fn reads_what_came_of_the_catch_ups() {
        let line = "test two_hosts::x ... 200 catch-ups: 4000 events, each once";
        assert_eq!(
            catch_ups(line),
            Some("200 catch-ups: 4000 events, each once")
        );
        assert_eq!(catch_ups("test two_hosts::x ... ok"), None);
    }

    #[test]
    fn reads_how_long_a_take_over_took() {
        let line = "test x ... take-over, killed (SIGKILL): 4 turns go on after 1.70 to 1.81 s";
        assert_eq!(take_over(line), Some(("killed (SIGKILL)", 1.7, 1.81)));
        assert_eq!(take_over("test take_over::x ... ok"), None);
    }
}
