//! The public part of the Swift that uniffi writes: the generator's insides become internal, what only the package's own
//! sources use is the package's, and the package's own types take the names of those that they stand in for.

use anyhow::{Context as _, ensure};

/// The generated types whose names belong to types that are written by hand.
const RENAMED: [(&str, &str); 8] = [
    ("Agent", "FfiAgent"),
    ("AgentHook", "FfiAgentHook"),
    ("AgentTool", "FfiAgentTool"),
    ("Conversation", "FfiConversation"),
    ("ToolContext", "FfiToolContext"),
    ("Turn", "FfiTurn"),
    ("Recovered", "FfiRecovered"),
    ("StepwellError", "CallError"),
];

/// The types that the hand-written sources use and an app does not, besides those with another name.
const OF_PACKAGE: [&str; 16] = [
    "AgentSetup",
    "Answerer",
    "Approver",
    "CallError",
    "CredentialSource",
    "Finished",
    "Hook",
    "MediaKind",
    "InstructionsSource",
    "JournalSink",
    "ModelChooser",
    "OutputDecoder",
    "RunSource",
    "StoreSetup",
    "ToolHandler",
    "Trimmer",
];

/// The functions for the hand-written sources alone. An app has theirs, or none.
const FUNCTIONS_OF_PACKAGE: [&str; 6] = [
    "currentCaller",
    "eventToJson",
    "mediaPart",
    "newestMessages",
    "problemOf",
    "setLanguage",
];

/// Makes of uniffi's file what an app sees.
///
/// # Errors
/// The source is not as uniffi writes it.
pub(super) fn reduced(generated: &str) -> anyhow::Result<String> {
    // A declaration that a line begins is one line: an error's `public` is on a line of its own.
    let text = generated.replace("\npublic \nenum ", "\npublic enum ");
    let text: String = text
        .split_inclusive('\n')
        .map(|line| lowered(&renamed(line)))
        .collect();
    for name in OF_PACKAGE {
        let is_there = ["class", "enum", "protocol", "struct"]
            .iter()
            .any(|kind| text.contains(&format!("\npackage {kind} {name}")));
        ensure!(is_there, "there is no `{name}`");
    }
    for name in FUNCTIONS_OF_PACKAGE {
        ensure!(
            text.contains(&format!("\npackage func {name}(")),
            "there is no `{name}`"
        );
    }
    thrown(&text)
}

/// Renames the types in a line of code.
fn renamed(line: &str) -> String {
    let start = line.trim_start();
    if start.starts_with("//") || start.starts_with("/*") || start.starts_with("* ") {
        return line.to_owned();
    }
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut made = String::with_capacity(line.len());
    let mut rest = line;
    while !rest.is_empty() {
        let end = rest.find(|char| !is_word(char)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let new = RENAMED.iter().find(|(old, _)| *old == word);
        made.push_str(new.map_or(word, |(_, new)| new));
        let next = after.find(is_word).unwrap_or(after.len());
        let (between, after) = after.split_at(next);
        made.push_str(between);
        rest = after;
    }
    made
}

/// Makes a declaration the package's or internal, if the line begins one that is not for apps.
fn lowered(line: &str) -> String {
    let declaration = ["public ", "open "]
        .iter()
        .find_map(|level| line.strip_prefix(level));
    let kinds = ["class ", "enum ", "protocol ", "struct ", "func "];
    let rest = declaration.and_then(|it| kinds.iter().find_map(|kind| it.strip_prefix(kind)));
    let (Some(declaration), Some(rest)) = (declaration, rest) else {
        return line.to_owned();
    };
    let end = rest.find(|char: char| !char.is_alphanumeric() && char != '_');
    let name = &rest[..end.unwrap_or(rest.len())];
    let is_renamed = RENAMED.iter().any(|(_, new)| *new == name);
    if is_renamed || OF_PACKAGE.contains(&name) || FUNCTIONS_OF_PACKAGE.contains(&name) {
        return format!("package {declaration}");
    }
    let is_generators = ["Ffi", "Uniffi", "uniffi"]
        .iter()
        .any(|start| name.starts_with(start));
    let is_shape = ["Impl", "Protocol"].iter().any(|end| name.ends_with(end));
    if is_generators || is_shape {
        declaration.to_owned()
    } else {
        line.to_owned()
    }
}

/// Makes calls throw the package's own error.
fn thrown(text: &str) -> anyhow::Result<String> {
    let lift = "func FfiConverterTypeStepwellError_lift(_ buf: RustBuffer) throws -> CallError {
    return try FfiConverterTypeStepwellError.lift(buf)
}";
    let own = "func FfiConverterTypeStepwellError_lift(_ buf: RustBuffer) throws -> StepwellError {
    return try FfiConverterTypeStepwellError.lift(buf).forCaller()
}";
    let (before, after) = text
        .split_once(lift)
        .context("the error of a call is not read as expected")?;
    Ok(format!("{before}{own}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_renamed_in_code_alone() {
        assert_eq!(
            renamed("    func x() -> Turn { FfiConverterTypeTurn_lift(Turn()) }\n"),
            "    func x() -> FfiTurn { FfiConverterTypeTurn_lift(FfiTurn()) }\n"
        );
        assert_eq!(renamed("     * An Agent.\n"), "     * An Agent.\n");
    }

    #[test]
    fn insides_are_lowered() {
        for (line, made) in [
            (
                "public struct FfiConverterTypeApi: X {\n",
                "struct FfiConverterTypeApi: X {\n",
            ),
            ("open class StoreImpl: X {\n", "class StoreImpl: X {\n"),
            (
                "public func setLanguage(language: String) {\n",
                "package func setLanguage(language: String) {\n",
            ),
            (
                "public protocol Store: X {\n",
                "public protocol Store: X {\n",
            ),
            (
                "open func cancel() {try! rustCall() {\n",
                "open func cancel() {try! rustCall() {\n",
            ),
        ] {
            assert_eq!(lowered(line), made);
        }
    }

    #[test]
    fn an_error_of_another_form_is_refused() {
        assert!(thrown("func other() {}\n").is_err());
    }
}
