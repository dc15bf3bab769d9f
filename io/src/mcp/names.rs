//! The names of tools. Every provider accepts 1 to 64 of `[a-zA-Z0-9_-]`, beginning with a letter or `_`
//! (`stepwell_core::dialect::legal`).

use std::collections::BTreeSet;

/// The most characters of a name.
const MAX_NAME_CHARACTERS: usize = 64;

/// The names of one server's tools. A tool's name depends only on the server's name, the tool's, and, where two names
/// would be the same, the tools before it: a stored turn finds its tools again.
pub(super) struct Names {
    server: String,
    /// The server's names of the tools.
    own: BTreeSet<String>,
    taken: BTreeSet<String>,
}

impl Names {
    pub(super) fn new(server: &str) -> Self {
        let mut server = words(server);
        if !server.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            server.insert(0, '_');
        }
        // At least half of the name is the tool's.
        server.truncate(MAX_NAME_CHARACTERS / 2 - 2);
        Self {
            server,
            own: BTreeSet::new(),
            taken: BTreeSet::new(),
        }
    }

    /// Returns `SERVER__TOOL`, shortened if necessary. `None` if the server has named two tools the same.
    pub(super) fn take(&mut self, tool: &str) -> Option<String> {
        if !self.own.insert(tool.to_owned()) {
            return None;
        }
        let plain = format!("{}__{}", self.server, words(tool));
        // Two different names may become the same: the later name gets a hash of the original.
        let is_free = plain.len() <= MAX_NAME_CHARACTERS && !self.taken.contains(&plain);
        let name = if is_free {
            plain
        } else {
            let mark = format!("_{:08x}", checksum(tool));
            let room = MAX_NAME_CHARACTERS - mark.len();
            format!("{}{mark}", &plain[..plain.len().min(room)])
        };
        self.taken.insert(name.clone()).then_some(name)
    }
}

/// Replaces each character that may not be in a name by `_`.
fn words(name: &str) -> String {
    let legal = |c: char| {
        let is_legal = c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if is_legal { c } else { '_' }
    };
    name.chars().map(legal).collect()
}

/// Returns the FNV-1a hash of 32 bits, which never changes.
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
    fn joins_server_and_tool_to_a_valid_name() {
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
    fn gives_different_tools_different_names() {
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
