//! What all cases of a generated error have in common, so that a new case needs no new line of Swift.

use anyhow::{Context as _, ensure};

/// The errors, with the values that each of their cases has.
const ERRORS: [(&str, [(&str, &str); 2]); 2] = [
    (
        "TurnError",
        [("problem", "Problem"), ("finished", "Finished")],
    ),
    (
        "StepwellError",
        [("reason", "String"), ("advice", "String")],
    ),
];

/// Returns a source with a property `parts` for each of these errors.
///
/// # Errors
/// An error is not as uniffi writes it, or a case has other values.
pub(super) fn parts(generated: &str) -> anyhow::Result<String> {
    let mut text = String::from("// Generated from bindings/src.\n");
    for (error, values) in ERRORS {
        let cases = cases(generated, error, &values).with_context(|| error.to_owned())?;
        let tuple = values.map(|(name, ty)| format!("{name}: {ty}")).join(", ");
        let names = values.map(|(name, _)| name).join(", ");
        let bound = values.map(|(name, _)| format!("let {name}")).join(", ");
        let patterns: Vec<_> = cases
            .iter()
            .map(|case| format!("            .{case}({bound})"))
            .collect();
        text.push_str(&format!(
            "\nextension {error} {{\n    /// The values of every case.\n    var parts: ({tuple}) {{\n        switch self {{\n\
             \x20       case\n{}:\n            ({names})\n        }}\n    }}\n}}\n",
            patterns.join(",\n")
        ));
    }
    Ok(text)
}

/// The names of an error's cases.
fn cases(generated: &str, error: &str, values: &[(&str, &str); 2]) -> anyhow::Result<Vec<String>> {
    let head = format!("enum {error}: Swift.Error");
    let start = generated.find(&head).context("there is no such error")?;
    let body = &generated[start..];
    let body = &body[..body.find("\n}").context("it has no end")?];
    let mut cases = Vec::new();
    for case in body.split("\n    case ").skip(1) {
        let (name, rest) = case.split_once('(').context("a case has no values")?;
        let rest = rest.split_once("\n    )").context("a case has no end")?.0;
        for (value, ty) in values {
            ensure!(
                rest.contains(&format!("{value}: {ty}")),
                "the case {name} has no {value}"
            );
        }
        cases.push(name.to_owned());
    }
    ensure!(!cases.is_empty(), "it has no case");
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::parts;

    const GENERATED: &str = "
public 
enum StepwellError: Swift.Error, Equatable {

    /**
     * Another run has it.
     */
    case Stale(
        /**
         * What went wrong.
         */reason: String, 
        /**
         * What to do.
         */advice: String
    )
}
public 
enum TurnError: Swift.Error, Equatable {

    case Cut(
        /**
         * What is wrong.
         */problem: Problem, 
        /**
         * The turn.
         */finished: Finished
    )
    case Stopped(
        /**
         * What is wrong.
         */problem: Problem, 
        /**
         * The turn.
         */finished: Finished
    )

public var description: String {
}
}
";

    #[test]
    fn every_case_has_its_parts() {
        let text = parts(GENERATED).unwrap();
        for expected in [
            "extension TurnError {\n    /// The values of every case.\n    var parts: (problem: Problem, finished: Finished) {\n",
            "        case\n            .Cut(let problem, let finished),\n            .Stopped(let problem, let finished):\n            (problem, finished)\n",
            "            .Stale(let reason, let advice):\n            (reason, advice)\n",
        ] {
            assert!(text.contains(expected), "{expected}\n---\n{text}");
        }
    }

    #[test]
    fn cases_with_other_values_are_refused() {
        assert!(parts(&GENERATED.replace("advice: String", "help: String")).is_err());
        assert!(parts(&GENERATED.replace("enum TurnError", "enum Other")).is_err());
    }
}
