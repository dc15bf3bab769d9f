//! The README's picture of the states is the table's.

use stepwell_core::run::statechart_mermaid;

#[test]
fn the_readme_shows_the_current_statechart() {
    let readme = include_str!("../../README.md");
    let chart = statechart_mermaid();
    assert!(
        readme.contains(&chart),
        "put this into README.md, as the picture of the states:\n{chart}"
    );
}
