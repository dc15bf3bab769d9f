//! The README's table and the tests of the failure table name the same things.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names of the tests in the folder, without what only helps them.
fn tests(folder: &Path) -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for file in fs::read_dir(folder).expect("the folder is there") {
        let text = fs::read_to_string(file.expect("an entry").path()).expect("source is text");
        let mut is_test = false;
        for line in text.lines() {
            // The tests of MCP servers have a harness of their own.
            is_test |=
                line.starts_with("#[tokio::test") || line.starts_with("pub(crate) async fn ");
            let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
            if let Some(name) = line.strip_prefix("async fn ")
                && std::mem::take(&mut is_test)
            {
                tests.extend(name.split('(').next().map(str::to_owned));
            }
        }
    }
    tests
}

/// Returns the names in backticks in the rows of the table.
fn named<'r>(readme: &'r str, header: &str) -> Vec<&'r str> {
    let (_, table) = readme.split_once(header).expect("the table is there");
    let rows = table
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    rows.flat_map(|row| row.split('`').skip(1).step_by(2))
        .collect()
}

fn folder(name: &str) -> BTreeSet<String> {
    tests(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests")
            .join(name),
    )
}

#[test]
fn every_test_of_mcp_servers_that_the_readme_names_exists() {
    let named = named(
        include_str!("../README.md"),
        "| case | held by (`tests/mcp`) |",
    );
    let tests = folder("mcp");
    assert!(named.len() > 15, "{}", named.len());
    for name in named {
        assert!(tests.contains(name), "no test is called {name}");
    }
}

#[test]
fn every_test_that_the_readme_names_exists() {
    let named = named(include_str!("../README.md"), "| case | held by |");
    let tests = folder("failure_table");
    assert!(
        named.len() > 60 && tests.len() > 80,
        "{}, {}",
        named.len(),
        tests.len()
    );
    for name in named {
        assert!(tests.contains(name), "no test is called {name}");
    }
}

#[test]
fn every_test_of_durable_turns_that_the_readme_names_exists() {
    let named = named(
        include_str!("../README.md"),
        "| case | held by (`tests/store`, `tests/durable`) |",
    );
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut source = String::new();
    let contract = "../src/store/contract";
    let parts = ["turns", "events"].map(|part| format!("{contract}/{part}"));
    let folders = ["store", contract, "durable"].map(str::to_owned);
    for folder in folders.into_iter().chain(parts) {
        for file in fs::read_dir(tests.join(folder)).expect("the folder is there") {
            let file = file.expect("an entry").path();
            if file.is_file() {
                source += &fs::read_to_string(file).expect("source is text");
            }
        }
    }
    assert!(named.len() > 12, "{}", named.len());
    for name in named {
        let is_there = match name.strip_prefix("tests/") {
            Some(path) => tests.join(path).exists(),
            // The checks against a model are generic.
            None => ["(", "<"]
                .map(|end| format!("fn {name}{end}"))
                .iter()
                .any(|name| source.contains(name)),
        };
        assert!(is_there, "no test is called {name}");
    }
}
