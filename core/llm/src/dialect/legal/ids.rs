use super::rules::{CallIds, Charset, IdForm, ToolNames};
use crate::ToolCallId;
use crate::event::ToolCall;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The ids that the calls of one request have.
pub(super) struct Ids {
    rules: CallIds,
    taken: BTreeSet<String>,
    /// The next salt for each id that was taken: the ids that lower salts give are taken too.
    salts: BTreeMap<String, u64>,
    /// The number of calls so far.
    count: usize,
    /// The ids of the answer's calls.
    answer: BTreeSet<String>,
}

impl Ids {
    pub(super) fn new(rules: CallIds) -> Self {
        Self {
            rules,
            taken: BTreeSet::new(),
            salts: BTreeMap::new(),
            count: 0,
            answer: BTreeSet::new(),
        }
    }

    /// The next call belongs to another answer than the one before.
    pub(super) fn begin_answer(&mut self) {
        self.answer.clear();
    }

    /// The id for the next call: its own, if it is legal and free; else one made from it. It depends on nothing but
    /// this call and those before, so that what was sent once is sent the same again.
    pub(super) fn take(&mut self, call: &ToolCall) -> Option<ToolCallId> {
        match self.rules.form {
            IdForm::Opaque => self.take_opaque(&call.id),
            IdForm::Kimi { takes_short } => self.take_kimi(call, takes_short),
        }
    }

    /// An id that the model wrote may be free only in its own answer; one that is made here is free in all.
    fn take_kimi(&mut self, call: &ToolCall, takes_short: bool) -> Option<ToolCallId> {
        let mut index = self.count;
        self.count += 1;
        let name = &*call.function.name;
        let is_own = is_kimis(&call.id, name, takes_short) && self.is_legal(&call.id);
        if is_own && self.answer.insert(call.id.to_string()) {
            self.taken.insert(call.id.to_string());
            return None;
        }
        loop {
            let made = format!("functions.{name}:{index}");
            index += 1;
            if self.taken.insert(made.clone()) {
                self.answer.insert(made.clone());
                return Some(made.into());
            }
        }
    }

    fn take_opaque(&mut self, id: &ToolCallId) -> Option<ToolCallId> {
        if self.is_legal(id) && self.taken.insert(id.to_string()) {
            return None;
        }
        let mut salt = self.salts.get(id.as_str()).copied().unwrap_or(0);
        loop {
            let made = self.make(id, salt);
            salt += 1;
            if self.taken.insert(made.clone()) {
                self.salts.insert(id.to_string(), salt);
                return Some(made.into());
            }
        }
    }

    fn is_legal(&self, id: &str) -> bool {
        let CallIds {
            least,
            most,
            charset,
            form: _,
        } = self.rules;
        (least.max(1)..=most).contains(&id.chars().count()) && id.chars().all(|c| charset.has(c))
    }

    fn make(&self, id: &str, salt: u64) -> String {
        const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let prefix = match self.rules.charset {
            Charset::Alphanumeric => "",
            _ => "call_",
        };
        let length = self.rules.most.min(24).max(self.rules.least);
        let mut made = String::with_capacity(length);
        if prefix.len() + 9 <= length {
            made.push_str(prefix);
        }
        let mut hash = fnv(salt, id.as_bytes());
        while made.len() < length {
            if hash < 62 {
                hash = fnv(hash ^ made.len() as u64, id.as_bytes());
            }
            let digit = usize::try_from(hash % 62).unwrap_or(0);
            made.push(char::from(DIGITS[digit]));
            hash /= 62;
        }
        made
    }
}

/// Returns whether Kimi can have written the id for a call of this function.
fn is_kimis(id: &str, name: &str, takes_short: bool) -> bool {
    let named = match id.strip_prefix("functions.") {
        Some(rest) => rest,
        None if takes_short => id,
        None => return false,
    };
    let index = named
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix(':'));
    index.is_some_and(|index| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()))
}

/// FNV-1a of 64 bits: the same everywhere and for ever.
pub(in super::super) fn fnv(salt: u64, bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in salt.to_le_bytes().iter().chain(bytes) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // The last byte must reach the high bits too.
    hash ^= hash >> 29;
    hash = hash.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash ^ (hash >> 32)
}

/// A tool's name in the provider's charset: each other character is a `_`.
pub(super) fn tool_name(name: &str, rules: ToolNames) -> Cow<'_, str> {
    let ToolNames { most, charset } = rules;
    let is_legal = name.chars().count() <= most
        && name.chars().all(|c| charset.has(c))
        && name
            .chars()
            .next()
            .is_some_and(|c| charset.may_begin_with(c));
    if is_legal {
        return name.into();
    }
    let mut made: String = name
        .chars()
        .map(|c| if charset.has(c) { c } else { '_' })
        .collect();
    if !made
        .chars()
        .next()
        .is_some_and(|c| charset.may_begin_with(c))
    {
        made.insert_str(0, if made.is_empty() { "unnamed" } else { "_" });
    }
    if let Some((end, _)) = made.char_indices().nth(most) {
        made.truncate(end);
    }
    made.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_kept_while_it_is_legal_and_new() {
        let mut ids = Ids::new(CallIds {
            least: 9,
            most: 9,
            charset: Charset::Alphanumeric,
            form: IdForm::Opaque,
        });
        assert_eq!(ids.take_opaque(&"abcDEF123".into()), None);
        let again = ids.take_opaque(&"abcDEF123".into()).expect("a new one");
        let long = ids.take_opaque(&"call_abcdefgh".into()).expect("a new one");
        let empty = ids.take_opaque(&"".into()).expect("a new one");
        for made in [&again, &long, &empty] {
            assert_eq!(made.len(), 9, "{made}");
            assert!(made.chars().all(|c| c.is_ascii_alphanumeric()), "{made}");
        }
        assert!(again != long && long != empty);
        // Pinned: a request that was sent once must be the same in every later version.
        assert_eq!(
            long,
            Ids::new(ids.rules)
                .take_opaque(&"call_abcdefgh".into())
                .expect("a new one")
        );
    }

    #[test]
    fn many_repeats_of_one_id_all_differ() {
        let mut ids = Ids::new(CallIds {
            least: 1,
            most: 40,
            charset: Charset::Any,
            form: IdForm::Opaque,
        });
        let id = ToolCallId::from("call_0");
        let all: BTreeSet<_> = (0..1000)
            .map(|_| ids.take_opaque(&id).unwrap_or_else(|| id.clone()))
            .collect();
        assert_eq!(all.len(), 1000);
    }

    #[test]
    fn kimis_ids_name_the_function_and_count() {
        for (id, takes_short, is_own) in [
            ("functions.look:0", false, true),
            ("functions.look:12", true, true),
            ("look:0", true, true),
            ("look:0", false, false),
            ("functions.look:", true, false),
            ("functions.look:x", true, false),
            ("functions.see:0", true, false),
            ("functionslook0", true, false),
            ("call_1", true, false),
            ("", true, false),
        ] {
            assert_eq!(is_kimis(id, "look", takes_short), is_own, "{id}");
        }
    }

    #[test]
    fn names_come_into_the_charset_and_stay_there() {
        let words = ToolNames {
            most: 64,
            charset: Charset::Word,
        };
        let dotted = ToolNames {
            charset: Charset::Dotted,
            ..words
        };
        for (name, rules, made) in [
            ("get_weather", words, "get_weather"),
            ("functions.get weather", words, "functions_get_weather"),
            ("functions.get", dotted, "functions.get"),
            ("2nd", words, "2nd"),
            ("2nd", dotted, "_2nd"),
            ("", words, "unnamed"),
            ("", dotted, "unnamed"),
            ("wetter_für", words, "wetter_f_r"),
        ] {
            assert_eq!(tool_name(name, rules), made);
            assert!(matches!(tool_name(made, rules), Cow::Borrowed(_)));
        }
        assert_eq!(tool_name(&"1".repeat(99), dotted).len(), 64);
    }
}
