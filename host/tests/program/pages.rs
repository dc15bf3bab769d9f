//! The statements of the pages about the server's tests.

use std::fs;
use std::path::Path;

/// The text of all sources in a folder, with the names of files and folders.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        text.push_str(&path.display().to_string());
        text.push('\n');
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).expect("text"));
        }
    }
}

#[test]
fn every_test_that_the_page_of_proofs_names_is_there() {
    let page = include_str!("../../../docs/proof.md");
    let (_, table) = page
        .split_once("| case | held by (`host/tests`")
        .expect("the table is there");
    let rows = table.lines().filter(|row| row.starts_with("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches([' ', '|']).rsplit('|').next());
    let named: Vec<_> = cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    assert!(named.len() > 12, "{}", named.len());
    let mut text = String::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for part in ["src/serve", "tests", "../serve/src", "../serve/tests"] {
        sources(&folder.join(part), &mut text);
    }
    for name in named {
        let is_file = name.contains('/') && text.contains(name);
        let is_module = text.contains(&format!("/{name}.rs\n"));
        let is_there = is_file || is_module || text.contains(&format!("fn {name}("));
        assert!(is_there, "no test is called {name}");
    }
}
