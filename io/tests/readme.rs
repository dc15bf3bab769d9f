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
            is_test |= line.starts_with("#[tokio::test");
            if let Some(name) = line.strip_prefix("async fn ")
                && std::mem::take(&mut is_test)
            {
                tests.extend(name.split('(').next().map(str::to_owned));
            }
        }
    }
    tests
}

#[test]
fn every_test_that_the_readme_names_exists() {
    let readme = include_str!("../README.md");
    let (_, table) = readme
        .split_once("| case | held by |")
        .expect("the table is there");
    let named: Vec<_> = table.split('`').skip(1).step_by(2).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/failure_table");
    let tests = tests(&folder);
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
