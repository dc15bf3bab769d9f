//! The names of tools. What every provider accepts is 1 to 64 of `[a-zA-Z0-9_-]`, beginning with a letter or `_`
//! (`stepwell_core::dialect::legal`).

use std::collections::BTreeSet;

/// The most characters of a name.
const MOST: usize = 64;

/// Gives out the names of one server's tools. A tool's name depends on nothing but the server's name, its own and,
/// where two would be the same, those before it: a stored turn finds its tools again.
pub(super) struct Names {
    server: String,
    /// The names as the server has them.
    own: BTreeSet<String>,
    taken: BTreeSet<String>,
}

impl Names {
    pub(super) fn new(server: &str) -> Self {
        let mut server = words(server);
        if !server.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            server.insert(0, '_');
        }
        // At least half is the tool's.
        server.truncate(MOST / 2 - 2);
        Self {
            server,
            own: BTreeSet::new(),
            taken: BTreeSet::new(),
        }
    }

    /// `SERVER__TOOL`, shortened if it must be. `None` if the server has named two tools the same.
    pub(super) fn take(&mut self, tool: &str) -> Option<String> {
        if !self.own.insert(tool.to_owned()) {
            return None;
        }
        let plain = format!("{}__{}", self.server, words(tool));
        // Two different names may become the same: then the later has a mark made from what was lost.
        let is_free = plain.len() <= MOST && !self.taken.contains(&plain);
        let name = if is_free {
            plain
        } else {
            let mark = format!("_{:08x}", checksum(tool));
            let room = MOST - mark.len();
            format!("{}{mark}", &plain[..plain.len().min(room)])
        };
        self.taken.insert(name.clone()).then_some(name)
    }
}

/// Each character that may not be in a name is a `_`.
fn words(name: &str) -> String {
    let legal = |c: char| {
        let is_legal = c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if is_legal { c } else { '_' }
    };
    name.chars().map(legal).collect()
}

/// FNV-1a of 32 bits: the same everywhere and for ever.
fn checksum(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::Names;
    use stepwell_core::tool::{Tool, ToolRegistry};

    #[test]
    fn names_are_the_servers_and_the_tools_and_legal_everywhere() {
        let long = "x".repeat(200);
        for (server, tool, name) in [
            ("time", "get_time", "time__get_time"),
            ("my server", "résumé.read", "my_server__r_sum__read"),
            ("2nd", "a", "_2nd__a"),
            ("", "a", "___a"),
        ] {
            assert_eq!(Names::new(server).take(tool).as_deref(), Some(name));
        }
        for (server, tool) in [("time", long.as_str()), (&long, "a"), (&long, &long)] {
            let name = Names::new(server).take(tool).expect("a name");
            assert!(name.len() <= 64, "{name}");
            let registered = ToolRegistry::new().register(Tool::new(name, ""));
            assert!(registered.is_ok());
        }
    }

    #[test]
    fn tools_that_differ_have_names_that_differ() {
        let mut names = Names::new("s");
        let stem = "x".repeat(80);
        let all = [
            "a.b".to_owned(),
            "a b".to_owned(),
            "a_b".to_owned(),
            format!("{stem}1"),
            format!("{stem}2"),
        ];
        let mut made: Vec<_> = all.iter().map(|name| names.take(name)).collect();
        assert!(made.iter().all(Option::is_some));
        made.sort();
        made.dedup();
        assert_eq!(made.len(), all.len());
        assert_eq!(names.take("a.b"), None, "the same name again");
    }
}
