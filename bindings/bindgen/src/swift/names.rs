//! The names under which the package re-exports uniffi's types: those of `RunMachine` and its effects are a product of their
//! own, all others are in the package's main module.

use super::WIDTH;
use anyhow::ensure;

/// The types that only an app with its own loop around `RunMachine` names.
const OF_MACHINE: [&str; 11] = [
    "Credentials",
    "Effect",
    "HookAnswer",
    "HookSpec",
    "HookSubject",
    "Outputs",
    "RunConfig",
    "RunIds",
    "RunMachine",
    "StateKind",
    "TimerKey",
];

/// The sources of both modules.
pub(super) struct Names {
    /// For apps that use `Agent`.
    pub(super) package: String,
    /// For apps that use `RunMachine`.
    pub(super) machine: String,
}

/// Returns a name for each public type of the generated source.
///
/// # Errors
/// The source lacks a type of the machine.
pub(super) fn names(generated: &str) -> anyhow::Result<Names> {
    let head = "// Generated from bindings/src.\nimport StepwellBindings\n";
    let mut names = Names {
        package: head.to_owned(),
        machine: head.to_owned(),
    };
    let mut found = 0;
    for block in generated.split("\n/**\n").skip(1) {
        let (comment, code) = block.split_once("*/").unwrap_or((block, ""));
        let Some(name) = code.trim_start().lines().next().and_then(declared) else {
            continue;
        };
        let doc = textwrap::wrap(&first_sentence(comment), WIDTH - 4).join("\n/// ");
        let line = format!("\n/// {doc}\npublic typealias {name} = StepwellBindings.{name}\n");
        if OF_MACHINE.contains(&name) {
            found += 1;
            names.machine.push_str(&line);
        } else {
            names.package.push_str(&line);
        }
    }
    ensure!(
        found == OF_MACHINE.len(),
        "the generated source has {found} of the {} types of the machine, with documentation",
        OF_MACHINE.len()
    );
    Ok(names)
}

/// The first sentence of a comment.
fn first_sentence(comment: &str) -> String {
    let lines = comment
        .lines()
        .map_while(|line| line.trim().strip_prefix("* "));
    let paragraph = lines.collect::<Vec<_>>().join(" ");
    match paragraph.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None => paragraph,
    }
}

/// The name of the type that a line declares as public.
fn declared(line: &str) -> Option<&str> {
    let rest = ["public ", "open "]
        .iter()
        .find_map(|level| line.strip_prefix(level))?;
    let kinds = ["class ", "enum ", "protocol ", "struct "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = rest.find(|char: char| !char.is_alphanumeric() && char != '_');
    Some(&rest[..end.unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_types_have_names() {
        let mut generated = "
/**
 * The limits
 * of a turn. More of them.
 */
public struct Limits: Equatable {
    /**
     * A field.
     */
    public var most: UInt32
}
/**
 * An inside.
 */
package struct Inside {
}
"
        .to_owned();
        assert!(names(&generated).is_err());
        for name in OF_MACHINE {
            generated += &format!("\n/**\n * Of the machine.\n */\npublic enum {name} {{\n}}\n");
        }
        let made = names(&generated).unwrap();
        let limits =
            "\n/// The limits of a turn.\npublic typealias Limits = StepwellBindings.Limits\n";
        assert_eq!(made.package.split_once(limits).unwrap().1, "");
        assert_eq!(made.machine.matches("typealias").count(), OF_MACHINE.len());
    }
}
