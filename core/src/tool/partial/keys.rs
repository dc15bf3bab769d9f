use super::super::arguments::from_json;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

/// The keys of an object that is open: where each began in the text, by its hash.
///
/// Keeping offsets and not the keys themselves makes a hundred thousand of them small enough to stay fast.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    places: HashMap<u64, usize, RandomState>,
    /// Random, so that no one can choose keys that collide.
    hasher: RandomState,
}

impl Keys {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Takes note of a key whose quote is at `from`; gives whether it is new.
    pub(super) fn insert(&mut self, key: &str, from: usize, text: &str) -> bool {
        self.insert_hashed(self.hasher.hash_one(key), key, from, text)
    }

    fn insert_hashed(&mut self, mut hash: u64, key: &str, from: usize, text: &str) -> bool {
        loop {
            match self.places.entry(hash) {
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

/// The key whose quote is at `from`.
fn key_at(text: &str, from: usize) -> Option<String> {
    let rest = text.get(from..)?;
    let mut is_escaped = true;
    let end = rest.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        // The first quote is none that ends it.
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })?;
    from_json(rest.get(..=end)?).ok()
}

/// The hashes differ from one to the other, the places do not.
impl PartialEq for Keys {
    fn eq(&self, other: &Self) -> bool {
        let places = |keys: &Self| {
            let mut places: Vec<usize> = keys.places.values().copied().collect();
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
