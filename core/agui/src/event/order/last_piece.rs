/// The kind of item that a delta belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceOf {
    Message,
    Reasoning,
    Call,
}

/// The item that all deltas since the last other event belong to. Usually there is one, and it is still open.
#[derive(Clone, Debug, Default)]
pub(super) struct LastPiece {
    kind: Option<PieceOf>,
    id: String,
    /// Whether the deltas belong to several items, in which case each is looked up.
    is_mixed: bool,
}

/// The field follows from the rest of the order, so it is not compared.
impl PartialEq for LastPiece {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LastPiece {}

impl LastPiece {
    #[inline]
    pub(super) fn is(&self, kind: PieceOf, id: &str) -> bool {
        self.kind == Some(kind) && self.id == id
    }

    #[inline]
    pub(super) fn note(&mut self, kind: PieceOf, id: &str) {
        if self.is_mixed {
            return;
        }
        self.is_mixed = self.kind.is_some();
        self.kind = (!self.is_mixed).then_some(kind);
        self.id.clear();
        self.id.push_str(id);
    }

    #[inline]
    pub(super) fn forget(&mut self) {
        self.kind = None;
        self.is_mixed = false;
    }
}
