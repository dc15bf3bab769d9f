/// Returns the known name that is one or two typing mistakes away from `name`; one if the name is short.
///
/// A mistake is a character that is missing, added, replaced or swapped with its neighbour.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let max_distance = if name.chars().count() < 8 { 1 } else { 2 };
    let distances = known
        .into_iter()
        .map(|known| (strsim::osa_distance(name, known), known));
    let near = distances.filter(|(distance, _)| *distance <= max_distance);
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}
