/// What a piece is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceOf {
    Message,
    Reasoning,
    Call,
}

/// What the pieces since the last other event were of, if all were of one item, as they mostly are: it is open still.
#[derive(Clone, Debug, Default)]
pub(super) struct LastPiece {
    kind: Option<PieceOf>,
    id: String,
    /// They were of several: looking each up is cheaper then.
    is_mixed: bool,
}

/// It follows from the rest of the order, which alone is compared.
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
