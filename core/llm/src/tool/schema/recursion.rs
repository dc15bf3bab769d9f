//! Recursive schemas.

use super::words::{pointer, refs};
use serde_json::Value;
use std::collections::BTreeSet;
use std::mem;

/// The places, as JSON Pointers, of the schemas that lead back to themselves, and of those between two such.
pub(super) fn recursive(schema: &mut Value) -> BTreeSet<String> {
    let places = Vec::from_iter(targets(schema));
    // By their numbers: the places that each leads to, and those that lead to it.
    let mut leads = vec![Vec::new(); places.len()];
    let mut comes = leads.clone();
    for (from, place) in places.iter().enumerate() {
        let next = schema.pointer_mut(place).map(targets).unwrap_or_default();
        for to in next.iter().filter_map(|to| places.binary_search(to).ok()) {
            leads[from].push(to);
            comes[to].push(from);
        }
    }
    let mut is_kept = vec![true; places.len()];
    drop_ends(&leads, &comes, &mut is_kept);
    drop_ends(&comes, &leads, &mut is_kept);
    let kept = places.into_iter().zip(is_kept);
    kept.filter_map(|(place, is_kept)| is_kept.then_some(place))
        .collect()
}

fn targets(schema: &mut Value) -> BTreeSet<String> {
    let mut targets = BTreeSet::new();
    refs(schema, &mut |target| targets.extend(pointer(target)));
    targets
}

/// Takes out, again and again, what leads nowhere.
fn drop_ends(leads: &[Vec<usize>], comes: &[Vec<usize>], is_kept: &mut [bool]) {
    let count = |next: &Vec<usize>| next.iter().filter(|to| is_kept[**to]).count();
    let mut counts: Vec<_> = leads.iter().map(count).collect();
    let mut ends: Vec<_> = (0..counts.len()).filter(|at| counts[*at] == 0).collect();
    while let Some(end) = ends.pop() {
        if mem::replace(&mut is_kept[end], false) {
            for &from in &comes[end] {
                counts[from] -= 1;
                if counts[from] == 0 {
                    ends.push(from);
                }
            }
        }
    }
}
