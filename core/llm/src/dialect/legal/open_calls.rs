use std::collections::{BTreeMap, VecDeque};

/// The calls of a history that have no result yet, by their ids.
pub(super) struct OpenCalls<'a, I: ?Sized>(BTreeMap<&'a I, Asked>);

/// The calls of one id in the last answer that asked under it.
struct Asked {
    answer: usize,
    /// Their places in the answer.
    open: VecDeque<usize>,
}

impl<I: Ord + ?Sized> Default for OpenCalls<'_, I> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'a, I: Ord + ?Sized> OpenCalls<'a, I> {
    /// The answer asks for a call, the one at `index` of its own.
    pub(super) fn ask(&mut self, id: &'a I, answer: usize, index: usize) {
        let asked = self.0.entry(id).or_insert_with(|| Asked {
            answer,
            open: VecDeque::new(),
        });
        if asked.answer != answer {
            // A provider may use an id again in each answer: the last one that asked under it is meant.
            asked.answer = answer;
            asked.open.clear();
        }
        asked.open.push_back(index);
    }

    /// The answer and the place in it of the call that a result under this id is for.
    pub(super) fn answer(&mut self, id: &I) -> Option<(usize, usize)> {
        let asked = self.0.get_mut(id)?;
        Some((asked.answer, asked.open.pop_front()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::cmp::Ordering;

    #[test]
    fn a_result_is_for_the_first_open_call_of_the_last_answer() {
        let mut calls = OpenCalls::<str>::default();
        calls.ask("a", 0, 0);
        calls.ask("a", 1, 0);
        calls.ask("b", 1, 1);
        calls.ask("a", 1, 2);
        assert_eq!(calls.answer("a"), Some((1, 0)));
        assert_eq!(calls.answer("a"), Some((1, 2)));
        assert_eq!(calls.answer("a"), None);
        assert_eq!(calls.answer("b"), Some((1, 1)));
        assert_eq!(calls.answer("c"), None);
    }

    thread_local! {
        static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    /// An id that counts how often it is looked at.
    #[derive(PartialEq, Eq)]
    struct Counted(usize);

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARED.with(|compared| compared.set(compared.get() + 1));
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    fn compared(calls: usize) -> usize {
        let ids: Vec<_> = (0..calls).map(Counted).collect();
        COMPARED.with(|compared| compared.set(0));
        let mut open = OpenCalls::default();
        for (index, id) in ids.iter().enumerate() {
            open.ask(id, 0, index);
        }
        for (index, id) in ids.iter().enumerate().rev() {
            assert_eq!(open.answer(id), Some((0, index)));
        }
        COMPARED.with(Cell::get)
    }

    #[test]
    fn twice_as_many_calls_of_one_answer_take_about_twice_the_work() {
        let (some, twice) = (compared(2_000), compared(4_000));
        assert!(twice < some * 5 / 2, "{some}, then {twice} comparisons");
    }
}
