//! The files cover the table of failures, several dialects, and are of one form.

use crate::{folder, scenarios};
use serde_json::Value;
use std::collections::BTreeSet;

/// The cases of the first table of the core's page.
fn rows() -> Vec<&'static str> {
    let page = include_str!("../../README.md");
    let table = page
        .split("## Answers and stored data from the host")
        .next()
        .expect("the table stands first");
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let cases = rows.filter_map(|row| row.split('|').nth(1).map(str::trim));
    cases.filter(|case| *case != "case").collect()
}

#[test]
fn there_are_at_least_sixty() {
    assert!(scenarios().len() >= 60, "{}", scenarios().len());
}

#[test]
fn every_row_of_the_table_of_failures_has_a_scenario() {
    let rows = rows();
    assert!(rows.len() > 30, "the page has its table: {rows:?}");
    let mut covered = BTreeSet::new();
    for scenario in scenarios() {
        if let Some(row) = scenario.content["row"].as_str() {
            assert!(
                rows.contains(&row),
                "{}: core/README.md has no row `{row}`",
                scenario.name
            );
            covered.insert(row.to_owned());
        }
    }
    let missing: Vec<_> = rows.iter().filter(|row| !covered.contains(**row)).collect();
    assert!(missing.is_empty(), "no scenario for {missing:#?}");
}

#[test]
fn every_file_is_of_the_schemas_form() {
    let schema = std::fs::read_to_string(folder().join("schema.json")).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let mut wrong = Vec::new();
    for scenario in scenarios() {
        let errors = validator.iter_errors(&scenario.content);
        wrong.extend(errors.map(|error| {
            let place = error.instance_path().to_string();
            format!("{}{place}: {error}", scenario.name)
        }));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A scenario says by hand how it ends and what the history is, so that a wrong core cannot just be recorded.
#[test]
fn every_file_says_by_hand_how_it_ends() {
    for scenario in scenarios() {
        let expect = &scenario.content["expect"];
        let ends = expect.get("outcome").is_some() || expect.get("state").is_some();
        assert!(
            ends && expect.get("history").is_some(),
            "{}: expect an outcome or a state, and the history",
            scenario.name
        );
    }
}

#[test]
fn eight_dialects_are_spoken_and_snapshots_taken_at_odd_bytes() {
    let mut providers = BTreeSet::new();
    let mut odd = 0;
    for scenario in scenarios() {
        let config = &scenario.content["config"];
        let provider = config["provider"].as_str().unwrap_or_default();
        let api = config["api"].as_str().unwrap_or_default();
        providers.insert(format!("{provider} {api}"));
        let steps = scenario.content["steps"].as_array().expect("steps");
        odd += usize::from(steps.iter().any(|step| step["restore_between"] == true));
    }
    assert!(providers.len() >= 8, "{providers:?}");
    assert!(odd >= 8, "{odd}");
}
