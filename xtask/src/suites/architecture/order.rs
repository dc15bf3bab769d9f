//! The order that the document says.

/// A table whose first column is headed `module of` and a folder: each module uses those in the rows above its own.
pub(super) struct Order {
    /// The folder, from the root of the repository.
    pub(super) folder: String,
    /// The module that the folder is.
    pub(super) module: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    /// What the text allows by "`a` looks down at `b`".
    pub(super) exceptions: Vec<(String, String)>,
}

impl Order {
    /// Every table of modules of the crate whose sources are in this folder.
    pub(super) fn all(document: &str, folder_of_crate: &str) -> Vec<Self> {
        let mut orders: Vec<Self> = Vec::new();
        let mut in_table = false;
        for line in document.lines() {
            let Some(cell) = line.strip_prefix('|').and_then(|row| row.split('|').next()) else {
                in_table = false;
                continue;
            };
            if let Some(folder) = cell.trim().strip_prefix("module of ") {
                let folder = folder.trim_matches('`');
                let below = folder.strip_prefix(folder_of_crate);
                in_table = below.is_some();
                orders.extend(below.map(|below| Self {
                    folder: folder.to_owned(),
                    module: names(below, '/'),
                    rows: Vec::new(),
                    exceptions: Vec::new(),
                }));
            } else if let (true, Some(order)) = (in_table, orders.last_mut()) {
                let row = names(cell, ',');
                // Not the line of dashes.
                if cell.contains('`') {
                    order.rows.push(row);
                }
            }
        }
        let text = document.split_whitespace().collect::<Vec<_>>().join(" ");
        for (before, after) in neighbours(&text, "` looks down at `") {
            let from = before.rsplit('`').next().unwrap_or_default();
            let to = after.split('`').next().unwrap_or_default();
            for order in &mut orders {
                if order.rank(from).is_some() && order.rank(to).is_some() {
                    order.exceptions.push((from.to_owned(), to.to_owned()));
                }
            }
        }
        orders
    }

    /// The row of a module, counted from above.
    pub(super) fn rank(&self, module: &str) -> Option<usize> {
        self.rows
            .iter()
            .position(|row| row.iter().any(|name| name == module))
    }
}

fn names(text: &str, between: char) -> Vec<String> {
    let names = text.split(between);
    let names = names.map(|name| name.trim_matches(|c: char| c.is_whitespace() || c == '`'));
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// What stands before and after each of these.
fn neighbours<'t>(text: &'t str, what: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    text.match_indices(what)
        .map(|(at, what)| (&text[..at], &text[at + what.len()..]))
}
