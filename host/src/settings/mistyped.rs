//! Names that are no settings, and what was probably meant.

use std::fmt;

/// A name that is no setting's.
pub(super) struct Mistyped<'a> {
    pub(super) name: &'a str,
    pub(super) meant: Option<&'a str>,
}

impl fmt::Display for Mistyped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no setting: ", self.name)?;
        match self.meant {
            Some(meant) => write!(f, "is `{meant}` meant?"),
            None => f.write_str("`stepwell config` lists them"),
        }
    }
}

/// The one of these names that is a letter or two away from `name`: left out, too many, another, or in another place.
/// One letter where the name is short.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = if name.chars().count() < 8 { 1 } else { 2 };
    let distances = known
        .into_iter()
        .map(|known| (strsim::osa_distance(name, known), known));
    let near = distances.filter(|(distance, _)| *distance <= most);
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}
