//! What the README shows is what the project has.

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
