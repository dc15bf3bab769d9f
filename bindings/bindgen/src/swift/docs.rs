//! Rewrites the documentation of the generated Swift source with Swift's names: uniffi copies Rust's.

use heck::ToLowerCamelCase as _;
use std::collections::HashSet;

/// Returns the source with Rust's names for functions and fields replaced in the code of its documentation, where the
/// source declares the Swift name.
pub(super) fn in_swift(generated: &str) -> String {
    let names = declared(generated);
    let mut text = String::with_capacity(generated.len());
    for line in generated.split_inclusive('\n') {
        let start = line.trim_start();
        if start.starts_with("* ") || start.starts_with("/// ") {
            text.push_str(&renamed(line, &names));
        } else {
            text.push_str(line);
        }
    }
    text
}

/// The names of functions, properties and parameters.
fn declared(source: &str) -> HashSet<&str> {
    let mut names = HashSet::new();
    for line in source.lines().map(str::trim_start) {
        if line.starts_with("* ") || line.starts_with("//") {
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find([':', '(']) {
            let before = rest[..at].trim_end_matches('`');
            let begin = before
                .rfind(|c: char| !c.is_ascii_alphanumeric())
                .map_or(0, |at| at + 1);
            names.insert(&before[begin..]);
            rest = &rest[at + 1..];
        }
    }
    names
}

/// One line of documentation.
fn renamed(line: &str, names: &HashSet<&str>) -> String {
    let mut text = String::with_capacity(line.len());
    for (number, part) in line.split('`').enumerate() {
        if number > 0 {
            text.push('`');
        }
        // Code is between two marks.
        if number % 2 == 0 {
            text.push_str(part);
            continue;
        }
        let words = part.split('.').map(|word| {
            let camel = word.to_lower_camel_case();
            let is_snake = word.contains('_') && word.contains(char::is_lowercase);
            let is_rust = is_snake && names.contains(&camel[..]);
            if is_rust { camel } else { word.to_owned() }
        });
        text.push_str(&words.collect::<Vec<_>>().join("."));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::in_swift;

    #[test]
    fn names_in_documentation_are_those_of_swift() {
        let generated = "
    /**
     * After `finish_call` or `Turn.fail_call`; the wire has `tool_use`, and finish_call in words.
     */
open func finishCall(toolCallId: String)throws  {
    let x = \"`finish_call`\"
}
func failCall()
/// See `RunConfig.base_url`.
    public var baseUrl: String?
";
        let expected = generated
            .replace(
                "* After `finish_call` or `Turn.fail_call`",
                "* After `finishCall` or `Turn.failCall`",
            )
            .replace("`RunConfig.base_url`", "`RunConfig.baseUrl`");
        assert_eq!(in_swift(generated), expected);
    }
}
