use serde::{Deserialize, Serialize};

/// A turn's state with regard to answers without text, a call or media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EmptyAnswer {
    /// The next hop asks again.
    #[serde(skip)]
    is_asked_next: bool,
    /// The hop's request tells the model that its answer was empty.
    is_noted: bool,
}

impl EmptyAnswer {
    pub(crate) fn is_untouched(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn begin_hop(&mut self) {
        self.is_noted = std::mem::take(&mut self.is_asked_next);
    }

    /// Lets the next hop ask again.
    pub(crate) fn ask_again(&mut self) {
        self.is_asked_next = true;
    }

    /// Returns whether the hop's request tells the model that its answer was empty.
    pub(crate) fn is_noted(&self) -> bool {
        self.is_noted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_is_for_one_hop() {
        let mut empty = EmptyAnswer::default();
        assert!(empty.is_untouched());
        empty.ask_again();
        empty.begin_hop();
        assert!(empty.is_noted());
        empty.begin_hop();
        assert!(empty.is_untouched());
    }
}
