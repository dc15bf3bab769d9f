//! What the pages show is what the project has.

use stepwell_core::run::{EDGES, statechart, statechart_mermaid};

#[test]
fn the_guide_shows_what_the_providers_can_do() {
    let guide = include_str!("../../../docs/guides/providers.md");
    let table = stepwell_core::provider::matrix_markdown(stepwell_core::provider::all());
    assert!(
        guide.contains(&table),
        "put this into docs/guides/providers.md, as the table of the providers:\n{table}"
    );
}

/// The same chart as data: every edge, one beginning, one end.
#[test]
fn the_statechart_is_data_too() {
    let chart = serde_json::to_value(statechart()).expect("JSON");
    assert_eq!(chart["initial"], "idle");
    assert_eq!(chart["final"], serde_json::json!(["completed"]));
    assert_eq!(chart["states"].as_array().map(Vec::len), Some(10));
    assert_eq!(chart["edges"].as_array().map(Vec::len), Some(EDGES.len()));
    let first = serde_json::json!({"from": "idle", "on": "start", "to": "opening"});
    assert_eq!(chart["edges"][0], first);
}

#[test]
fn the_docs_show_the_current_statechart() {
    let page = include_str!("../../docs/statechart.md");
    let chart = statechart_mermaid();
    let data = serde_json::to_string_pretty(&statechart()).expect("JSON");
    assert!(
        page.contains(&chart) && page.contains(&data),
        "put these into core/docs/statechart.md:\n{chart}\n{data}"
    );
}

/// The tests that a page names, in backquotes and behind the bar of its tables.
fn named_tests(page: &str) -> Vec<&str> {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches([' ', '|']).rsplit('|').next());
    let words = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    words.filter(|word| word.contains('_')).collect()
}

#[test]
fn every_test_that_the_cores_page_names_is_there() {
    let mut sources = String::new();
    let mut folders = vec![
        std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src")),
        concat!(env!("CARGO_MANIFEST_DIR"), "/llm/src").into(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/agui/src").into(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests").into(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/../io/tests").into(),
    ];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push_str(&std::fs::read_to_string(&path).expect("text"));
            }
        }
    }
    let named = named_tests(include_str!("../../README.md"));
    assert!(named.len() > 80, "the page has its tables: {}", named.len());
    let missing: Vec<_> = named
        .into_iter()
        .filter(|name| !sources.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "not there: {missing:#?}");
}
