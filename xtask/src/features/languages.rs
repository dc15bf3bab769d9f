//! The names that a language has, as its users write them.
//!
//! A member is `Type.name`, and `Type::name` in Rust; an argument of an initializer `Type(name)`.

use crate::{
    bindings::{self, Language},
    context::Context,
    log::Log,
    process,
};
use anyhow::Context as _;
use std::{collections::BTreeSet, fmt, fs, mem, path::Path};

/// The languages, as `features.toml` has them, in the order of the table's columns.
pub(super) const LANGUAGES: [&str; 6] = ["rust", "swift", "kotlin", "python", "flutter", "web"];

/// The sources; the bindings are what uniffi gives to Swift, Kotlin and Python.
const SOURCES: [(&str, &str); 12] = [
    ("io", ":(glob)io/src/**/*.rs"),
    ("serve", ":(glob)serve/src/**/*.rs"),
    ("core", ":(glob)core/src/**/*.rs"),
    ("core", ":(glob)core/llm/src/**/*.rs"),
    ("core", ":(glob)core/agui/src/**/*.rs"),
    ("bindings", ":(glob)bindings/src/**/*.rs"),
    ("swift", ":(glob)bindings/swift/Sources/Stepwell/*.swift"),
    (
        "swift",
        ":(glob)bindings/swift/Sources/StepwellBindings/*.swift",
    ),
    (
        "kotlin",
        ":(glob)bindings/kotlin/src/main/kotlin/dev/stepwell/*.kt",
    ),
    ("python", ":(glob)bindings/python/src/stepwell/*.py"),
    ("flutter", ":(glob)bindings/flutter/lib/src/*.dart"),
    ("web", ":(glob)bindings/web/js/*.ts"),
];

/// Fields of the bindings' configuration that are no options of an agent, as their generator has it.
const NO_OPTIONS: [&str; 4] = ["tools", "run_ids", "credentials", "hooks"];

/// Options that the `Model` of Kotlin and Swift has, instead of the agent.
const OF_THE_MODEL: [&str; 7] = [
    "provider",
    "model",
    "api",
    "base_url",
    "key",
    "headers",
    "providers",
];

/// What a conversation of Swift has, or the run itself, instead of the agent.
const OF_SWIFTS_CONVERSATION: [&str; 4] =
    ["history", "output_decoder", "shared_state", "thread_id"];

/// Classes of the bindings that Kotlin's and Swift's own classes stand for, or that are internal there.
const INTERNAL_IN_BOTH: [&str; 5] = ["Agent", "AgentSetup", "Finished", "StoreSetup", "Turn"];

/// Something that a source declares.
#[derive(Clone, Default)]
pub(super) struct Item {
    /// The type that it belongs to; empty if it belongs to none.
    pub(super) of: String,
    /// `(name)` if it is an argument of the type's initializer.
    pub(super) name: String,
    /// The first sentence of its documentation, in Rust.
    pub(super) about: String,
    pub(super) is_function: bool,
    /// Whether uniffi exports the item, if it is Rust's.
    pub(super) is_exported: bool,
}

/// Rust's types whose members are features.
const ROWS_OF: [&str; 5] = ["AgentBuilder", "Agent", "Conversation", "Turn", "Device"];

/// Everything that is known of the code.
#[derive(Default)]
pub(super) struct Known {
    /// The members of Rust's types that have rows; those of a turn's handle are the turn's.
    pub(super) members: Vec<Item>,
    /// The options of the bindings' configuration.
    pub(super) options: Vec<Item>,
    /// `language name`.
    pub(super) names: BTreeSet<String>,
}

impl Known {
    /// Reads the sources of the repository, and those that are generated.
    pub(super) fn read(context: &Context, log: &mut Log) -> anyhow::Result<Self> {
        let read = |path: &Path| {
            let text = fs::read_to_string(context.root.join(path));
            text.with_context(|| path.display().to_string())
        };
        let config: toml::Value = toml::from_str(&read("uniffi.toml".as_ref())?)?;
        let setup = read("bindings/web/js/setup.ts".as_ref())?;
        let omitted = setup.split_once("Omit<RunConfig, ").unwrap_or_default().1;
        let omitted = omitted.split('>').next().unwrap_or_default();
        for language in [Language::Flutter, Language::Web] {
            bindings::generate(context, log, language)?;
        }
        let mut known = Self::default();
        // What is no field of the configuration is among the parameters that the generator has.
        let options = read("bindings/bindgen/templates/AgentOptions.swift".as_ref())?;
        let parameters = options.split_once("public init(").unwrap_or_default().1;
        let lines = parameters.lines().take_while(|line| !line.contains(") {"));
        for (name, _) in lines.filter_map(|line| line.trim().split_once(": ")) {
            known.put("swift", format!("Agent({name})"));
        }
        for (language, files) in SOURCES {
            let mut git = process::command("git");
            // With those that are ignored: the generated ones are.
            git.args(["ls-files", "--cached", "--others"]);
            let paths = log.read(git.arg(files).current_dir(&context.root))?;
            let mut paths: Vec<_> = paths.lines().map(Path::new).collect();
            paths.sort();
            for path in paths {
                for mut item in declared(language, &read(path)?) {
                    // `Agent` is the `AgentWith` whose runs are given nothing.
                    if language == "swift"
                        && let Some(of) = item.of.strip_suffix("With")
                    {
                        item.of = of.to_owned();
                    }
                    // What a turn and its conversation have in common.
                    if language == "python" && item.of == "Replies" {
                        for of in ["Turn", "Conversation"] {
                            item.of = of.to_owned();
                            known.put("python", item.written("python"));
                        }
                    }
                    // An agent's options in the browser are those of the configuration, but for some.
                    let is_option = language == "web" && item.of == "RunConfig";
                    if is_option && !omitted.contains(&format!("\"{}\"", item.name)) {
                        known.put("web", format!("AgentOptions.{}", item.name));
                    }
                    match language {
                        "core" => known.put("rust", item.written("rust")),
                        "io" | "serve" => known.add_io(item),
                        "bindings" => known.add_bindings(item, &config),
                        _ => known.put(language, item.written(language)),
                    }
                }
            }
        }
        Ok(known)
    }

    fn add_io(&mut self, item: Item) {
        self.put("rust", item.written("rust"));
        let of = item.of.trim_end_matches("Handle").to_owned();
        let is_known = |known: &Item| known.of == of && known.name == item.name;
        let is_row = ROWS_OF.contains(&&of[..]);
        if is_row && !self.members.iter().any(is_known) {
            self.members.push(Item { of, ..item });
        }
    }

    /// Adds what the languages have of it, by uniffi and by the generators of options.
    fn add_bindings(&mut self, item: Item, config: &toml::Value) {
        for language in ["swift", "kotlin"] {
            // The generator holds against the library what is left out here.
            let hidden = config["defaults"]["bindings"][language]["exclude"].as_array();
            let is_hidden = |name: &str| hidden.is_some_and(|all| all.contains(&name.into()));
            let is_there = (item.is_exported || !item.is_function)
                && !INTERNAL_IN_BOTH.contains(&&item.of[..]);
            if is_there && !is_hidden(&item.of) && !is_hidden(&item.written("python")) {
                self.put(language, item.written(language));
            }
        }
        if item.is_function {
            return;
        }
        self.put("python", item.written("python"));
        let is_option = item.of == "RunConfig" && !NO_OPTIONS.contains(&&item.name[..]);
        if is_option || item.of == "AgentSetup" {
            let plain = item.name.trim_end_matches("_json");
            self.put("python", format!("Agent({plain})"));
            for name in [&item.name, plain].map(camel) {
                let is_of_agent = !OF_THE_MODEL.contains(&&item.name[..])
                    && !OF_SWIFTS_CONVERSATION.contains(&&item.name[..]);
                if is_of_agent {
                    self.put("swift", format!("Agent({name})"));
                }
                if is_option && !OF_THE_MODEL.contains(&&item.name[..]) {
                    self.put("kotlin", format!("AgentBuilder.{name}"));
                }
            }
        }
        if is_option {
            self.options.push(item);
        }
    }

    fn put(&mut self, language: &str, name: impl fmt::Display) {
        self.names.insert(format!("{language} {name}"));
    }

    /// Returns whether a language has an item of this name.
    pub(super) fn has(&self, language: &str, name: &str) -> bool {
        self.names.contains(&format!("{language} {name}"))
    }
}

impl Item {
    fn written(&self, language: &str) -> String {
        let name = match self.name.starts_with(char::is_lowercase) {
            true => cased(language, &self.name),
            false => self.name.clone(),
        };
        let between = match language {
            _ if self.of.is_empty() || name.starts_with('(') => "",
            "rust" => "::",
            _ => ".",
        };
        // The name as uniffi has it in Kotlin; Python's generated classes have their methods of `Methods`.
        let of = match language {
            "kotlin" => self.of.replace("Error", "Exception"),
            "python" => self.of.replace("Methods", ""),
            _ => self.of.clone(),
        };
        of + between + &name
    }
}

/// A name of Rust's in a language's casing.
pub(super) fn cased(language: &str, name: &str) -> String {
    match language {
        "rust" | "python" => name.to_owned(),
        _ => camel(name),
    }
}

/// `next_batch` as `nextBatch`.
fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let mut cased = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        cased.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        cased.push_str(letters.as_str());
    }
    cased
}

/// Returns the items that a source declares for its users, in any language. Formatters lay them all out alike: a type
/// begins at the margin, its members are one step in, and the arguments of an initializer two.
fn declared(language: &str, text: &str) -> Vec<Item> {
    let step = if matches!(language, "flutter" | "web") {
        2
    } else {
        4
    };
    let is_rust = matches!(language, "io" | "serve" | "core" | "bindings");
    let mut items = Vec::new();
    let mut owner = String::new();
    let mut doc = Vec::new();
    let (mut is_initializer, mut is_enum, mut is_exported) = (false, false, false);
    for line in text.lines() {
        let words = line.trim_start();
        let depth = line.len() - words.len();
        if !words.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') {
            doc.extend(words.strip_prefix("///").map(str::trim));
            is_exported &= depth > 0 || !words.starts_with('}');
            is_exported |= depth == 0 && words.starts_with("#[") && words.contains("export");
            continue;
        }
        let name = declaration(words);
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_public = is_public(language, words) || is_enum && depth > 0;
        let mut add = |of: &str, name: &str| {
            items.push(Item {
                of: of.to_owned(),
                name: name.to_owned(),
                about: first_sentence(&mem::take(&mut doc)),
                is_function: words.contains("fn "),
                is_exported,
            });
        };
        if depth == 0 {
            owner = type_of(words).unwrap_or_default();
            is_enum = is_rust && words.contains("enum ");
            match &owner[..] {
                "" if is_public && !name.starts_with('_') => add("", &name),
                "" => {}
                owner => add("", owner),
            }
            is_exported &= words.starts_with("impl");
        } else if depth == step && !owner.is_empty() {
            is_initializer = name == "_set_up" || name == owner;
            if is_public && !name.starts_with('_') {
                add(&owner, last);
            }
        } else if depth == 2 * step && is_initializer {
            add(&owner, &format!("({last})"));
        }
        doc.clear();
    }
    items
}

/// Returns whether the declaration that begins with these words is for users; an enum's variants in Rust always are.
fn is_public(language: &str, words: &str) -> bool {
    match language {
        "swift" | "kotlin" => words.starts_with("public "),
        "python" => words.starts_with("def ") || words.starts_with("async def "),
        "io" | "serve" | "core" | "bindings" => words.starts_with("pub "),
        _ => true,
    }
}

/// The type that begins with this line, or continues.
fn type_of(line: &str) -> Option<String> {
    let kinds = [
        "class",
        "enum",
        "extension",
        "impl",
        "interface",
        "mixin",
        "object",
        "protocol",
        "struct",
        "trait",
    ];
    let line = without_parameters(line);
    let mut words = line.split_whitespace();
    let kind = words.find(|word| kinds.contains(word) || !word.chars().all(char::is_lowercase))?;
    // `enum class`, `interface class`.
    let name = words
        .find(|word| *word != "class")
        .filter(|_| kinds.contains(&kind))?;
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    Some(name[..end.unwrap_or(name.len())].to_owned())
}

/// The name that a line declares: the last word before its arguments, its type or its value.
fn declaration(line: &str) -> String {
    let head = without_parameters(line);
    let end = head.find(['(', ':', '=', '{', ';', ',']);
    let mut words = head[..end.unwrap_or(head.len())].split_whitespace();
    // What follows the name of a getter in Dart.
    let name = words.rfind(|word| !["async", "async*", "sync*"].contains(word));
    name.unwrap_or_default().trim_end_matches('?').to_owned()
}

/// Returns the line without the text between `<` and `>`.
fn without_parameters(line: &str) -> String {
    let mut depth = 0_i32;
    let mut left = String::new();
    for letter in line.replace("->", "").replace("=>", "=").chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ if depth == 0 => left.push(letter),
            _ => {}
        }
    }
    left
}

/// The first sentence of a documentation, without the addresses of its links.
fn first_sentence(lines: &[&str]) -> String {
    let paragraph: Vec<_> = lines
        .iter()
        .copied()
        .take_while(|line| !line.is_empty())
        .collect();
    let mut text = String::new();
    for part in paragraph.join(" ").split('[') {
        let (words, after) = part.split_once(']').unwrap_or((part, ""));
        let address = after
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'));
        text.push_str(words);
        text.push_str(address.map_or(after, |(_, after)| after));
    }
    let is_end = |(at, mark): &(usize, &str)| text[at + mark.len()..].starts_with(' ') && *at > 12;
    let end = text.match_indices([':', '.', ';']).find(is_end);
    let sentence = end.map_or(&text[..], |(at, _)| &text[..at]);
    sentence.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::declared;

    #[test]
    fn finds_what_each_language_declares() {
        let found = |language: &str, text: &str| {
            let items = declared(language, text);
            let names = items.iter().map(|item| item.written(language));
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            found(
                "kotlin",
                "public fun <T> Agent.send(text: String): Flow<Event> = flow {\n}\npublic class AgentBuilder internal constructor(\n) {\n    \
                 public var threadId: String? = null\n    private val tools = 1\n    public fun <T> tool(name: String) {\n    }\n}\n"
            ),
            "Agent.send AgentBuilder AgentBuilder.threadId AgentBuilder.tool"
        );
        assert_eq!(
            found(
                "swift",
                "extension Agent {\n    public func send<T: A>(_ text: String) -> B {\n        let inner = 1\n    }\n    func own() {}\n}\n"
            ),
            "Agent Agent.send"
        );
        assert_eq!(
            found(
                "python",
                "class Agent(AgentOptions):\n    def _set_up(\n        self,\n        wait_for_store: bool,\n    ) -> None:\n        x: int = 1\n    \
                 async def recover(self) -> None:\n        pass\n\ndef replay_journal(journal: str) -> None:\n    pass\n"
            ),
            "Agent Agent(self) Agent(wait_for_store) Agent(x) Agent.recover replay_journal"
        );
        assert_eq!(
            found(
                "flutter",
                "final class Agent {\n  Agent(\n    RunConfig config, {\n    Approver? approver,\n    this.threadId,\n  });\n  \
                 final String _hidden;\n  Future<T> run<T>(String text) async => 1;\n  List<int> get messages => _m;\n}\n"
            ),
            "Agent Agent.Agent Agent(config) Agent(approver) Agent(threadId) Agent.run Agent.messages"
        );
        assert_eq!(
            found(
                "web",
                "export class Agent {\n  #shared: Shared;\n  async sendAndWait(said: string) {\n    if (problem) throw 1;\n  }\n}\n\
                 export interface AgentOptions extends X {\n  threadId?: string;\n}\n"
            ),
            "Agent Agent.sendAndWait AgentOptions AgentOptions.threadId"
        );
    }

    #[test]
    fn finds_what_rust_declares_with_its_documentation() {
        let text = "/// An agent.\npub struct Agent {\n    inner: u8,\n    /// How [far](crate::far) it goes. Never further.\n    \
                    pub limits: Map<String, u8>,\n}\n\n#[uniffi::export]\nimpl<T: Fn()> Agent<T> {\n    /// Says something: to the model.\n    \
                    pub async fn send<U: Into<String>>(&self) -> Turn {\n        let inner = 1;\n    }\n    \
                    pub(crate) fn hidden(&self) {}\n}\n\nimpl Agent {\n    pub fn own() {}\n}\n\npub enum Kind {\n    Big(u8),\n}\n\npub fn free() {}\n";
        let items = declared("bindings", text);
        let names: Vec<_> = items.iter().map(|item| item.written("rust")).collect();
        let expected = [
            "Agent",
            "Agent::limits",
            "Agent",
            "Agent::send",
            "Agent",
            "Agent::own",
            "Kind",
            "Kind::Big",
            "free",
        ];
        assert_eq!(names, expected);
        assert_eq!(items[1].about, "How far it goes");
        assert_eq!(items[3].about, "Says something");
        let exported: Vec<_> = items.iter().map(|item| item.is_exported).collect();
        let expected = [false, false, true, true, false, false, false, false, false];
        assert_eq!(exported, expected);
    }
}
