//! What the README shows is what the project has.

use stepwell_core::run::{EDGES, statechart, statechart_mermaid};

#[test]
fn the_readme_shows_the_current_statechart() {
    let readme = include_str!("../../README.md");
    let chart = statechart_mermaid();
    assert!(
        readme.contains(&chart),
        "put this into README.md, as the picture of the states:\n{chart}"
    );
}

/// The same chart as data: every edge, one beginning, one end.
#[test]
fn the_statechart_is_data_too() {
    let chart = serde_json::to_value(statechart()).expect("JSON");
    assert_eq!(chart["initial"], "idle");
    assert_eq!(chart["final"], serde_json::json!(["completed"]));
    assert_eq!(chart["states"].as_array().map(Vec::len), Some(7));
    assert_eq!(chart["edges"].as_array().map(Vec::len), Some(EDGES.len()));
    let first = serde_json::json!({"from": "idle", "on": "start", "to": "opening"});
    assert_eq!(chart["edges"][0], first);
}

#[test]
fn the_docs_show_the_current_statechart() {
    let page = include_str!("../docs/statechart.md");
    let chart = statechart_mermaid();
    let data = serde_json::to_string_pretty(&statechart()).expect("JSON");
    assert!(
        page.contains(&chart) && page.contains(&data),
        "put these into core/docs/statechart.md:\n{chart}\n{data}"
    );
}

#[test]
fn the_readme_shows_the_examples_as_they_are() {
    let readme = include_str!("../../README.md");
    for (name, example) in [
        (
            "rust/src/main.rs",
            include_str!("../../examples/rust/src/main.rs"),
        ),
        (
            "python/hello.py",
            include_str!("../../examples/python/hello.py"),
        ),
        (
            "kotlin/Hello.kt",
            include_str!("../../examples/kotlin/Hello.kt"),
        ),
        (
            "swift/Hello.swift",
            include_str!("../../examples/swift/Hello.swift"),
        ),
    ] {
        assert!(
            readme.contains(example),
            "README.md does not hold examples/{name} as it is now"
        );
    }
}
