//! What the hosts said in their logs, for a turn that does not end well.

use std::path::Path;

/// Prints the lines of the hosts' log that name the turn, and those of panics.
pub(crate) fn print_of(turn: &str, hosts_log: &Path) {
    let log = std::fs::read_to_string(hosts_log).unwrap();
    let names = [format!("turn={turn} "), format!("run.id=\"{turn}\"")];
    let is_of_turn = |line: &&str| names.iter().any(|name| line.contains(name));
    let lines = log
        .lines()
        .filter(|line| is_of_turn(line) || line.contains("panicked"));
    lines.for_each(|line| println!("{line}"));
}
