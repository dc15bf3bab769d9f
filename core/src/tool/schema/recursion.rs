//! Schemas that lead back to themselves.

use super::words::{pointer, refs};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The places, as JSON Pointers, of the schemas that lead back to themselves, and of those between two such.
pub(super) fn recursive(schema: &mut Value) -> BTreeSet<String> {
    let targets = |schema: &mut Value| {
        let mut targets = BTreeSet::new();
        refs(schema, &mut |target| targets.extend(pointer(target)));
        targets
    };
    let mut leads: BTreeMap<String, BTreeSet<String>> = targets(schema)
        .into_iter()
        .map(|place| {
            let next = schema.pointer_mut(&place).map(targets).unwrap_or_default();
            (place, next)
        })
        .collect();
    drop_ends(&mut leads);
    let mut comes = BTreeMap::new();
    for place in leads.keys() {
        comes.insert(place.clone(), BTreeSet::new());
    }
    for (place, next) in &leads {
        for next in next {
            if let Some(from) = comes.get_mut(next) {
                from.insert(place.clone());
            }
        }
    }
    drop_ends(&mut comes);
    comes.into_keys().collect()
}

/// Takes out, again and again, what leads nowhere.
fn drop_ends(leads: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut comes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (place, next) in leads.iter() {
        for next in next {
            comes.entry(next.clone()).or_default().push(place.clone());
        }
    }
    let is_end = |(_, next): &(&String, &BTreeSet<String>)| next.is_empty();
    let ends = leads.iter().filter(is_end);
    let mut ends: Vec<_> = ends.map(|(place, _)| place.clone()).collect();
    while let Some(end) = ends.pop() {
        leads.remove(&end);
        for place in comes.remove(&end).unwrap_or_default() {
            if let Some(next) = leads.get_mut(&place) {
                next.remove(&end);
                if next.is_empty() {
                    ends.push(place);
                }
            }
        }
    }
}
