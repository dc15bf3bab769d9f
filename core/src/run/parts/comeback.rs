/// The state that a run must take into account after it was revived on another host. It is never stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comeback {
    is_of_another_dialect: bool,
    follows_cut: bool,
}

impl Comeback {
    /// Notes that the run was revived with an endpoint of the dialect `speaks`, and spoke the dialect `spoke` before.
    pub(crate) fn begin(&mut self, spoke: &str, speaks: &str) {
        self.is_of_another_dialect = spoke != speaks;
    }

    /// Returns whether the run was stored while it spoke another dialect: a stream from then cannot be resumed.
    pub(crate) fn is_of_another_dialect(self) -> bool {
        self.is_of_another_dialect
    }

    /// Forgets the other dialect: nothing in the turn depends on it now.
    pub(crate) fn forget_dialect(&mut self) {
        self.is_of_another_dialect = false;
    }

    /// Returns whether the hop was begun because the run was revived after a cut answer: the text that the old host had
    /// shown belongs to that answer.
    pub(crate) fn follows_cut(self) -> bool {
        self.follows_cut
    }

    /// Notes that the hop follows a cut answer.
    pub(crate) fn mark_hop_after_cut(&mut self) {
        self.follows_cut = true;
    }

    pub(crate) fn begin_hop(&mut self) {
        self.follows_cut = false;
    }
}
