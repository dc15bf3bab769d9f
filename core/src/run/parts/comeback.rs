/// What a run that came back on another host must still take into account. It is never stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comeback {
    is_of_another_dialect: bool,
    follows_cut: bool,
}

impl Comeback {
    /// The run comes back with an endpoint of this dialect, and `spoke` that one before.
    pub(crate) fn begin(&mut self, spoke: &str, speaks: &str) {
        self.is_of_another_dialect = spoke != speaks;
    }

    /// Whether the run was stored while it spoke another dialect: a stream of that time cannot be resumed.
    pub(crate) fn is_of_another_dialect(self) -> bool {
        self.is_of_another_dialect
    }

    /// Forgets the other dialect, of which nothing is left in the turn.
    pub(crate) fn forget_dialect(&mut self) {
        self.is_of_another_dialect = false;
    }

    /// Whether the hop was begun because the run came back and the answer before the hop is cut: what the old host had
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
