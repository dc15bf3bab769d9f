//! The public names of a source of any language but Rust. The sources are laid out by their formatters: a type begins at the
//! margin, and its members one step in.

use super::languages::Language;

/// All public names of a source.
pub(super) fn declared(language: Language, text: &str) -> Vec<String> {
    let step = match language {
        Language::Flutter | Language::Web => 2,
        _ => 4,
    };
    let mut names = Vec::new();
    let mut owner: Option<String> = None;
    // The initializer whose arguments follow, a line each.
    let mut initializer: Option<String> = None;
    for line in text.lines() {
        let words = line.trim_start();
        let depth = line.len() - words.len();
        if depth == 0 && !words.is_empty() {
            if let Some(name) = type_of(words) {
                names.push(name.clone());
                owner = Some(name);
            } else if let Some(name) = function_of(language, words) {
                names.push(name);
            }
            if words.starts_with('}') {
                owner = None;
            }
            initializer = None;
            continue;
        }
        let Some(of) = &owner else { continue };
        if depth == step {
            initializer = None;
            let begins = match language {
                Language::Python => words.starts_with("def _set_up("),
                Language::Flutter => words
                    .trim_start_matches("factory ")
                    .starts_with(&format!("{of}(")),
                _ => false,
            };
            if begins {
                initializer = Some(of.clone());
            } else if let Some(name) = member_of(language, words) {
                names.push(format!("{of}.{name}"));
            }
        } else if depth == 2 * step
            && let Some(of) = &initializer
            && let Some(name) = argument_of(language, words)
        {
            names.push(format!("{of}({name})"));
        }
    }
    names
}

/// The name of a type that begins with this line, or is gone on with.
fn type_of(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let kind = [
        "class",
        "struct",
        "enum",
        "interface",
        "protocol",
        "extension",
        "object",
        "mixin",
    ];
    while let Some(word) = words.next() {
        if kind.contains(&word) {
            // `enum class`, `interface class`.
            let name = words.find(|word| *word != "class");
            return name.map(name_of).filter(|name| !name.is_empty());
        }
        let before = [
            "public", "final", "sealed", "abstract", "open", "export", "declare", "default",
            "base", "data", "internal", "enum",
        ];
        if !before.contains(&word) {
            return None;
        }
    }
    None
}

/// The name of a function at the margin, with the type that it extends.
fn function_of(language: Language, line: &str) -> Option<String> {
    let rest = match language {
        Language::Kotlin => kotlin(line)?,
        Language::Swift => after(line, "public func ")?,
        Language::Python => after(line, "def ")?,
        Language::Web => {
            after(line, "export function ").or_else(|| after(line, "export async function "))?
        }
        Language::Flutter => {
            let (head, _) = line.split_once('(')?;
            let name = head.split_whitespace().last()?;
            return (!head.contains('=') && !name.starts_with('_')).then(|| name.to_owned());
        }
        Language::Rust => return None,
    };
    let end = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.'))?;
    Some(rest[..end].to_owned()).filter(|name| !name.starts_with('_'))
}

/// The name of a member that is declared by this line.
fn member_of(language: Language, line: &str) -> Option<String> {
    let name = match language {
        Language::Kotlin => name_of(kotlin(line)?),
        Language::Python => {
            let line = line.strip_prefix("async ").unwrap_or(line);
            name_of(after(line, "def ")?)
        }
        Language::Swift => {
            let line = after(line, "public ")?;
            let line = line.strip_prefix("static ").unwrap_or(line);
            name_of(
                ["func ", "var ", "let "]
                    .into_iter()
                    .find_map(|kind| after(line, kind))?,
            )
        }
        Language::Flutter => {
            let end = line.find(['(', '=', ';', '{']).unwrap_or(line.len());
            let head = line[..end].trim_end();
            let name = head.split([' ', '.']).next_back()?;
            // `Future<T> run<T>(…)`
            name.split('<').next()?.to_owned()
        }
        Language::Web => {
            let mut line = line;
            for word in ["static ", "readonly ", "async ", "get "] {
                line = line.strip_prefix(word).unwrap_or(line);
            }
            let name = name_of(line);
            let next = line[name.len()..].chars().next()?;
            if !matches!(next, '(' | '?' | ':' | ';' | ' ' | '<') {
                return None;
            }
            name
        }
        Language::Rust => return None,
    };
    let is_name = name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then_some(name)
}

/// The name of an argument that stands on this line.
fn argument_of(language: Language, line: &str) -> Option<String> {
    match language {
        Language::Python => line.split_once(':').map(|(name, _)| name.to_owned()),
        _ => {
            let head = line.split([',', '=']).next()?.trim_end();
            let name = head.split([' ', '.']).next_back()?;
            name.starts_with(char::is_lowercase)
                .then(|| name.to_owned())
        }
    }
}

/// What follows `fun`, `val` or `var` in a public declaration.
fn kotlin(line: &str) -> Option<&str> {
    let mut rest = line.strip_prefix("public ")?;
    for word in ["override ", "suspend ", "inline ", "operator ", "const "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let rest = ["fun ", "val ", "var "]
        .into_iter()
        .find_map(|kind| after(rest, kind))?;
    match rest.strip_prefix('<') {
        Some(generic) => generic.split_once("> ").map(|(_, rest)| rest),
        None => Some(rest),
    }
}

fn after<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    line.strip_prefix(before)
}

fn name_of(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Language, declared};

    fn found(language: Language, text: &str) -> String {
        declared(language, text).join(" ")
    }

    #[test]
    fn each_languages_names_are_found() {
        assert_eq!(
            found(
                Language::Kotlin,
                "public fun Agent.send(text: String): Flow<Event> = flow {\n}\npublic class AgentBuilder internal constructor(\n) {\n    \
                 public var threadId: String? = null\n    private val tools = 1\n    public fun <T> tool(name: String) {\n    }\n}\n"
            ),
            "Agent.send AgentBuilder AgentBuilder.threadId AgentBuilder.tool"
        );
        assert_eq!(
            found(
                Language::Flutter,
                "abstract interface class Store {\n  Future<int> begin();\n}\n\nenum Kind { a }\n"
            ),
            "Store Store.begin Kind"
        );
        assert_eq!(
            found(
                Language::Swift,
                "extension Agent {\n    public func send(_ text: String) -> TurnEvents {\n        let inner = 1\n    }\n    func own() {}\n}\n"
            ),
            "Agent Agent.send"
        );
        assert_eq!(
            found(
                Language::Python,
                "class Agent(AgentOptions):\n    def _set_up(\n        self,\n        wait_for_store: bool,\n    ) -> None:\n        x: int = 1\n    \
                 async def recover(self) -> None:\n        pass\n\ndef replay_journal(journal: str) -> None:\n    pass\n"
            ),
            "Agent Agent(wait_for_store) Agent.recover replay_journal"
        );
        assert_eq!(
            found(
                Language::Flutter,
                "final class Agent {\n  Agent(\n    RunConfig config, {\n    Approver? approver,\n    this.threadId,\n  });\n  \
                 final String _hidden;\n  Future<Finished> sendAndWait(String text) async => 1;\n  Future<T> run<T>(String text) async => 1;\n  List<int> get messages => _m;\n}\n"
            ),
            "Agent Agent(config) Agent(approver) Agent(threadId) Agent.sendAndWait Agent.run Agent.messages"
        );
        assert_eq!(
            found(
                Language::Web,
                "export class Agent {\n  #shared: Shared;\n  async sendAndWait(said: string) {\n    if (problem) throw 1;\n  }\n  \
                 get messages(): Message[] {\n  }\n}\nexport interface AgentOptions extends X {\n  threadId?: string;\n}\n"
            ),
            "Agent Agent.sendAndWait Agent.messages AgentOptions AgentOptions.threadId"
        );
    }
}
