//! Stand-ins for texts: of the same shape, character by character as long in UTF-8.

use std::collections::{BTreeMap, BTreeSet};

/// What a text is; equal texts of one kind have equal aliases, and different ones different aliases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A piece of an id.
    Id,
    /// A key of an object.
    Key,
    /// A value whose equality may matter.
    Value,
    /// The name of a tool that there is not.
    Name,
}

/// Words that the machine itself puts into the ids that it makes.
const MADE: [&str; 5] = ["message", "reasoning", "call", "result", "instructions"];

/// Gives out aliases, and remembers them.
#[derive(Debug)]
pub(super) struct Aliases {
    seed: u64,
    given: BTreeMap<(Kind, String), String>,
    taken: BTreeSet<(Kind, String)>,
    /// Keys that stay: the tools' own.
    pub(super) keys: BTreeSet<String>,
    /// The tools there are.
    pub(super) tools: BTreeSet<String>,
}

impl Aliases {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            given: BTreeMap::new(),
            taken: BTreeSet::new(),
            keys: BTreeSet::new(),
            tools: BTreeSet::new(),
        }
    }

    pub(super) fn of(&mut self, kind: Kind, text: &str) -> String {
        if let Some(alias) = self.given.get(&(kind, text.to_owned())) {
            return alias.clone();
        }
        // Short texts have few aliases: another is tried until it is nobody else's.
        let alias = (0..64)
            .map(|attempt| self.draw(kind, text, attempt))
            .find(|alias| !self.taken.contains(&(kind, alias.clone())))
            .unwrap_or_else(|| hidden(text));
        self.taken.insert((kind, alias.clone()));
        self.given.insert((kind, text.to_owned()), alias.clone());
        alias
    }

    fn draw(&self, kind: Kind, text: &str, attempt: u64) -> String {
        let mut state = self.seed ^ (kind as u64).wrapping_mul(0xd134_2543_de82_ef95) ^ attempt;
        for byte in text.bytes() {
            state = mix(state ^ u64::from(byte));
        }
        let characters = text.chars().map(|character| {
            state = mix(state);
            let pick = |from: u8, many: u64| {
                char::from(from + u8::try_from((state >> 32) % many).unwrap_or(0))
            };
            match character {
                'a'..='z' => pick(b'a', 26),
                'A'..='Z' => pick(b'A', 26),
                '0'..='9' => pick(b'0', 10),
                other => stand_in(other),
            }
        });
        characters.collect()
    }

    /// An id piece by piece, so that an id that is made from another one is made from its alias.
    pub(super) fn id(&mut self, id: &str) -> String {
        let mut alias = String::with_capacity(id.len());
        let is_word = |character: char| character.is_alphanumeric() || !character.is_ascii();
        let mut rest = id;
        while !rest.is_empty() {
            let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(word);
            let is_number = word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
            if is_number || MADE.contains(&word) {
                alias.push_str(word);
            } else {
                alias.push_str(&self.of(Kind::Id, word));
            }
            let sign = after.find(is_word).unwrap_or(after.len());
            let (sign, later) = after.split_at(sign);
            alias.push_str(sign);
            rest = later;
        }
        alias
    }

    pub(super) fn key(&mut self, key: &str) -> String {
        if self.keys.contains(key) {
            key.to_owned()
        } else {
            self.of(Kind::Key, key)
        }
    }

    pub(super) fn tool(&mut self, name: &str) -> String {
        if self.tools.contains(name) {
            name.to_owned()
        } else {
            self.of(Kind::Name, name)
        }
    }

    /// A JSON pointer: its keys as keys are, its indices as they are.
    pub(super) fn pointer(&mut self, pointer: &str) -> String {
        let parts = pointer.split('/').map(|part| {
            if part == "-" || part.bytes().all(|byte| byte.is_ascii_digit()) {
                return part.to_owned();
            }
            let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
            let key = part.replace("~1", "/").replace("~0", "~");
            if escaped(&key) == part {
                escaped(&self.key(&key))
            } else {
                // Its escapes are none: no more is known than that it is a text of this length.
                self.key(part)
            }
        });
        parts.collect::<Vec<_>>().join("/")
    }

    /// The texts of a kind that have an alias, and the alias.
    pub(super) fn given(&self, kind: Kind) -> impl Iterator<Item = (&str, &str)> {
        let of_kind = self
            .given
            .iter()
            .filter(move |((given, _), _)| *given == kind);
        of_kind.map(|((_, text), alias)| (text.as_str(), alias.as_str()))
    }
}

fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The character that stands for another one, as long as it in UTF-8; signs and blanks stand for themselves.
fn stand_in(character: char) -> char {
    match (character, character.len_utf8()) {
        ('a'..='z', _) => 'x',
        ('A'..='Z', _) => 'X',
        ('0'..='9', _) => '0',
        (other, 1) => other,
        (_, 2) => '·',
        (_, 3) => '•',
        _ => '🔹',
    }
}

/// A text of which nothing is left but its shape.
pub(super) fn hidden(text: &str) -> String {
    text.chars().map(stand_in).collect()
}

/// The same for bytes that may not be UTF-8.
pub(super) fn hide_bytes(bytes: &mut [u8]) {
    let mut hidden_bytes = Vec::with_capacity(bytes.len());
    for piece in bytes.utf8_chunks() {
        hidden_bytes.extend_from_slice(hidden(piece.valid()).as_bytes());
        hidden_bytes.extend(piece.invalid().iter().map(|_| b'?'));
    }
    bytes.copy_from_slice(&hidden_bytes);
}
