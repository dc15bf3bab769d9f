use super::super::arguments::from_json;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

/// Up to this number of keys, keys are compared one by one.
const FEW: usize = 8;

/// The keys of an open object: the position of each in the text, by its hash.
///
/// Keeping offsets and not the keys themselves makes a hundred thousand of them small enough to stay fast.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    few: Vec<(u64, usize)>,
    /// All keys, once there are many.
    many: HashMap<u64, usize, RandomState>,
    /// The hash seed, which is random, so that a peer cannot choose keys that collide.
    hasher: RandomState,
}

impl Keys {
    pub(super) fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_empty()
    }

    /// Records a key whose quote is at `from`, and returns whether it is new.
    pub(super) fn insert(&mut self, key: &str, from: usize, text: &str) -> bool {
        self.insert_hashed(self.hasher.hash_one(key), key, from, text)
    }

    fn insert_hashed(&mut self, mut hash: u64, key: &str, from: usize, text: &str) -> bool {
        if self.many.is_empty() {
            while let Some((_, place)) = self.few.iter().find(|(known, _)| *known == hash) {
                if key_at(text, *place).as_deref() == Some(key) {
                    return false;
                }
                hash = hash.wrapping_add(1);
            }
            if self.few.len() < FEW {
                self.few.push((hash, from));
                return true;
            }
            self.many.extend(self.few.drain(..));
        }
        loop {
            match self.many.entry(hash) {
                Entry::Vacant(place) => {
                    place.insert(from);
                    return true;
                }
                Entry::Occupied(place) if key_at(text, *place.get()).as_deref() == Some(key) => {
                    return false;
                }
                // Two keys of one hash: the second has the next number that is free.
                Entry::Occupied(_) => hash = hash.wrapping_add(1),
            }
        }
    }
}

/// Room for keys that is used again. It says nothing of what was read.
#[derive(Clone, Debug, Default)]
pub(super) struct SpareKeys(Vec<Keys>);

impl SpareKeys {
    pub(super) fn take(&mut self) -> Keys {
        self.0.pop().unwrap_or_default()
    }

    pub(super) fn give_back(&mut self, mut keys: Keys) {
        // Room for many is not kept.
        if keys.many.is_empty() {
            keys.few.clear();
            self.0.push(keys);
        }
    }
}

impl PartialEq for SpareKeys {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The key whose quote is at `from`.
fn key_at(text: &str, from: usize) -> Option<String> {
    let rest = text.get(from..)?;
    let mut is_escaped = true;
    let end = rest.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        // The first quote does not end the key.
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })?;
    from_json(rest.get(..=end)?).ok()
}

/// The hashes differ from one to the other, the places do not.
impl PartialEq for Keys {
    fn eq(&self, other: &Self) -> bool {
        let places = |keys: &Self| {
            let few = keys.few.iter().map(|(_, place)| place);
            let mut places: Vec<usize> = keys.many.values().chain(few).copied().collect();
            places.sort_unstable();
            places
        };
        places(self) == places(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_hash_are_told_apart() {
        let text = r#""a""b""\u0061""#;
        let mut keys = Keys::default();
        for (key, from, new) in [
            ("a", 0, true),
            ("b", 3, true),
            ("a", 6, false),
            ("b", 3, false),
        ] {
            assert_eq!(keys.insert_hashed(u64::MAX, key, from, text), new);
        }
    }
}
