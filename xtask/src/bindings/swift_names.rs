//! The public names of a generated Swift source: what a user calls, without the generator's own parts.

/// All public names, sorted: `Type`, `Type.case`, `Type.field`, `Type.method(label:)`, `function(label:)`.
pub(crate) fn public_names(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0_usize;
    // The types around a line, each with the depth at which it begins.
    let mut types: Vec<(String, usize)> = Vec::new();
    for line in code_lines(source) {
        match declaration(&line) {
            Some(Declaration::Type(name)) => {
                types.push((name.clone(), depth));
                names.push(name);
            }
            Some(Declaration::Member(name)) if depth == types.len() => {
                names.push(qualified(&types, &name));
            }
            Some(Declaration::Case(name)) if !types.is_empty() && depth == types.len() => {
                names.push(qualified(&types, &name));
            }
            _ => {}
        }
        depth = (depth + line.matches('{').count()).saturating_sub(line.matches('}').count());
        while types.last().is_some_and(|(_, opened)| depth <= *opened) {
            types.pop();
        }
    }
    names.retain(|name| !is_plumbing(name));
    names.sort();
    names.dedup();
    names
}

/// The lines without comments, each with a modifier that is on a line of its own: uniffi writes `public` so before an error.
fn code_lines(source: &str) -> impl Iterator<Item = String> {
    let mut is_comment = false;
    let mut modifier = "";
    source.lines().map(str::trim).filter_map(move |line| {
        is_comment |= line.starts_with("/*");
        let is_skipped = is_comment || line.starts_with("//");
        is_comment &= !line.contains("*/");
        if is_skipped {
            return None;
        }
        if matches!(line, "public" | "open") {
            modifier = line;
            return None;
        }
        let line = format!("{modifier} {line}").trim_start().to_owned();
        modifier = "";
        Some(line)
    })
}

fn qualified(types: &[(String, usize)], name: &str) -> String {
    let types = types.iter().map(|(name, _)| format!("{name}."));
    types.collect::<String>() + name
}

enum Declaration {
    Type(String),
    Member(String),
    Case(String),
}

fn declaration(line: &str) -> Option<Declaration> {
    if let Some(case) = line.strip_prefix("case ") {
        return Some(Declaration::Case(word(case)));
    }
    let mut rest = line
        .strip_prefix("public ")
        .or_else(|| line.strip_prefix("open "))?;
    let mut convenience = false;
    loop {
        let (first, after) = rest.split_once(' ').unwrap_or((rest, ""));
        match first {
            "static" | "class" if starts_function(after) => rest = after,
            "final" | "indirect" => rest = after,
            "convenience" => (rest, convenience) = (after, true),
            "class" | "struct" | "enum" | "protocol" => {
                return Some(Declaration::Type(word(after)));
            }
            "let" | "var" => return Some(Declaration::Member(word(after))),
            "func" => return Some(Declaration::Member(signature(after))),
            // The other initialisers are those of fakes, and of records, whose fields are listed.
            _ if convenience && first.starts_with("init(") => {
                return Some(Declaration::Member(signature(rest)));
            }
            _ => return None,
        }
    }
}

fn starts_function(text: &str) -> bool {
    ["func ", "let ", "var "]
        .iter()
        .any(|keyword| text.starts_with(keyword))
}

fn word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '`'))
        .collect()
}

/// `feed(bytes: Data, last: Bool = false) -> …` becomes `feed(bytes:last:)`.
fn signature(text: &str) -> String {
    let name = word(text);
    let (mut nested, mut labels, mut start) = (0_usize, String::new(), name.len() + 1);
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < name.len()) {
        match c {
            '(' | '[' | '<' => nested += 1,
            ')' | ']' | '>' if nested > 1 => nested -= 1,
            ':' if nested == 1 && start <= at => {
                labels.push_str(&word(text[start..at].trim()));
                labels.push(':');
                start = text.len();
            }
            ',' if nested == 1 => start = at + 1,
            ')' => break,
            _ => {}
        }
    }
    format!("{name}({labels})")
}

fn is_plumbing(name: &str) -> bool {
    name.split('.').any(|part| {
        part.starts_with("FfiConverter") || part.starts_with("uniffi") || part == "NoHandle"
    })
}

#[cfg(test)]
mod tests {
    use super::public_names;

    #[test]
    fn finds_what_a_user_calls() {
        let source = r#"
public protocol MachineProtocol: AnyObject, Sendable {
    func feed(bytes: Data) -> [Event]
}
/**
 * Unbalanced { in a comment.
 */
open class Machine: MachineProtocol, @unchecked Sendable {
    public struct NoHandle {
        public init() {}
    }
    required public init(unsafeFromHandle handle: UInt64) {
        self.handle = handle
    }
public convenience init(id: String, limits: [String: UInt32]? = nil) {
    self.init(unsafeFromHandle: 0)
}
open func feed(bytes: Data, last: Bool = false) -> [Event]  {
    switch x { case .text: return [] }
}
open func later()async  -> String  {
}
public static func load(path: String) throws -> Machine {
}
}
public struct FfiConverterTypeMachine: FfiConverter {
    public static func lift(_ value: UInt64) throws -> Machine {
    }
}
public struct Usage: Equatable {
    public let input: UInt64
    public init(input: UInt64) {
    }
}
public enum Event: Equatable, Hashable {
    case text(
        /**
         * The text.
         */delta: String
    )
    case end
}
public 
enum Refused: Swift.Error {

    case tooLate(reason: String)
}
public func hello(name: String) -> String  {
}
public func uniffiEnsureStepwellFfiInitialized() {
}
"#;
        assert_eq!(
            public_names(source),
            [
                "Event",
                "Event.end",
                "Event.text",
                "Machine",
                "Machine.feed(bytes:last:)",
                "Machine.init(id:limits:)",
                "Machine.later()",
                "Machine.load(path:)",
                "MachineProtocol",
                "Refused",
                "Refused.tooLate",
                "Usage",
                "Usage.input",
                "hello(name:)",
            ]
        );
    }
}
