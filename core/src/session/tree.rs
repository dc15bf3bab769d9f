use crate::RunId;
use crate::run::{SessionError, StoredTurn as Turn, in_sequence};
use std::collections::{BTreeMap, BTreeSet};

/// The turns of one thread as a tree. Editing a message and sending it again adds a sibling: another turn with the same
/// parent. The conversation of a turn is the path to it from the first turn. One path is shown.
///
/// ```
/// # use stepwell_core::Timestamp;
/// # use stepwell_core::event::Message;
/// # use stepwell_core::run::TurnStatus;
/// use stepwell_core::session::{Turn, TurnTree};
///
/// # fn turn(id: &str, parent: Option<&str>, at: u64) -> Turn {
/// #     Turn {
/// #         id: id.into(),
/// #         parent: parent.map(Into::into),
/// #         history: None,
/// #         message: Some(Message::user(format!("{id}-user"), "Hello")),
/// #         status: TurnStatus::Complete,
/// #         outcome: None,
/// #         created_at: Timestamp(at),
/// #         updated_at: Timestamp(at),
/// #         blocks: Vec::new(),
/// #     }
/// # }
/// // A turn, an answer to it, and the same message edited and sent again.
/// let turns = vec![turn("a", None, 1), turn("b", Some("a"), 2), turn("b2", Some("a"), 3)];
/// let mut tree = TurnTree::new(turns)?;
/// let ids = |path: Vec<&Turn>| path.iter().map(|turn| turn.id.to_string()).collect::<Vec<_>>();
/// assert_eq!(ids(tree.shown()), ["a", "b2"]);
/// // "2 of 2", for the arrows next to the message.
/// let siblings: Vec<_> = tree.siblings("b2")?.map(|turn| turn.id.as_str()).collect();
/// assert_eq!(siblings, ["b", "b2"]);
/// tree.show("b")?;
/// assert_eq!(ids(tree.shown()), ["a", "b"]);
/// # Ok::<(), stepwell_core::session::SessionError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnTree {
    turns: Vec<Turn>,
    places: BTreeMap<RunId, usize>,
    /// The turns that follow each turn, or none, by the time of their start.
    children: BTreeMap<Option<RunId>, Vec<usize>>,
    /// The last turn of the shown path, if the app chose it.
    leaf: Option<RunId>,
}

impl TurnTree {
    /// Builds the tree from turns in any order.
    ///
    /// # Errors
    /// The turns do not form a tree: two have one id, a parent is missing, or there is a cycle. Or the blocks of a turn
    /// have a gap.
    pub fn new(turns: Vec<Turn>) -> Result<Self, SessionError> {
        let mut places = BTreeMap::new();
        for (at, turn) in turns.iter().enumerate() {
            in_sequence(turn)?;
            if places.insert(turn.id.clone(), at).is_some() {
                let turn = turn.id.clone();
                return Err(SessionError::DuplicateTurn { turn });
            }
        }
        let mut children: BTreeMap<Option<RunId>, Vec<usize>> = BTreeMap::new();
        let times = turns.iter().enumerate();
        let by_time: BTreeSet<_> = times.map(|(at, turn)| (turn.created_at, at)).collect();
        for (_, at) in by_time {
            let turn = &turns[at];
            if let Some(parent) = &turn.parent
                && !places.contains_key(parent)
            {
                return Err(SessionError::MissingParent {
                    turn: turn.id.clone(),
                    parent: parent.clone(),
                });
            }
            children.entry(turn.parent.clone()).or_default().push(at);
        }
        let tree = Self {
            turns,
            places,
            children,
            leaf: None,
        };
        tree.without_circle()?;
        Ok(tree)
    }

    /// Whatever is not reachable from the first turns is in a cycle, or follows one.
    fn without_circle(&self) -> Result<(), SessionError> {
        let mut reached = vec![false; self.turns.len()];
        let mut next: Vec<usize> = self.children_of(None).to_vec();
        while let Some(at) = next.pop() {
            reached[at] = true;
            next.extend(self.children_of(Some(&self.turns[at].id)));
        }
        match reached.iter().position(|is_reached| !is_reached) {
            Some(at) => Err(SessionError::Cycle {
                turn: self.turns[at].id.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Adds a turn that follows one of the tree, or none, and shows it.
    ///
    /// # Errors
    /// The turn's id is taken, its parent is missing, or its blocks have a gap. The tree is unchanged.
    pub fn add(&mut self, turn: Turn) -> Result<(), SessionError> {
        in_sequence(&turn)?;
        if self.places.contains_key(&turn.id) {
            return Err(SessionError::DuplicateTurn { turn: turn.id });
        }
        if let Some(parent) = turn.parent.as_ref().filter(|id| self.turn(id).is_none()) {
            return Err(SessionError::MissingParent {
                parent: parent.clone(),
                turn: turn.id,
            });
        }
        let at = self.turns.len();
        let siblings = self.children.entry(turn.parent.clone()).or_default();
        let place = siblings.partition_point(|at| self.turns[*at].created_at <= turn.created_at);
        siblings.insert(place, at);
        self.places.insert(turn.id.clone(), at);
        self.leaf = Some(turn.id.clone());
        self.turns.push(turn);
        Ok(())
    }

    /// The turns in the order in which they were added.
    #[must_use]
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// The turn with this id.
    #[must_use]
    pub fn turn(&self, id: &str) -> Option<&Turn> {
        self.places.get(id).map(|at| &self.turns[*at])
    }

    /// The turns that follow this one, the oldest first; without an id, the first turns of the thread.
    pub fn children(&self, id: Option<&RunId>) -> impl Iterator<Item = &Turn> {
        self.children_of(id).iter().map(|at| &self.turns[*at])
    }

    /// The turns with the same parent, this one included, the oldest first.
    ///
    /// # Errors
    /// There is no such turn.
    pub fn siblings(&self, id: &str) -> Result<impl Iterator<Item = &Turn>, SessionError> {
        Ok(self.children(self.known(id)?.parent.as_ref()))
    }

    /// The path to this turn, the oldest first: the conversation of the turn.
    ///
    /// # Errors
    /// There is no such turn.
    pub fn path_to(&self, id: &str) -> Result<Vec<&Turn>, SessionError> {
        let mut path = vec![self.known(id)?];
        // The loop ends, since there is no cycle.
        while let Some(parent) = path.last().and_then(|turn| turn.parent.as_ref())
            && let Some(turn) = self.turn(parent)
        {
            path.push(turn);
        }
        path.reverse();
        Ok(path)
    }

    /// The last turn of the shown path: the chosen one, or the newest leaf of all.
    #[must_use]
    pub fn leaf(&self) -> Option<&Turn> {
        match &self.leaf {
            Some(id) => self.turn(id),
            None => {
                let ends = self.turns.iter();
                let ends = ends.filter(|turn| self.children_of(Some(&turn.id)).is_empty());
                ends.max_by_key(|turn| turn.created_at)
            }
        }
    }

    /// The shown path, the oldest first; empty if there is no turn.
    #[must_use]
    pub fn shown(&self) -> Vec<&Turn> {
        let path = self.leaf().and_then(|leaf| self.path_to(&leaf.id).ok());
        path.unwrap_or_default()
    }

    /// Shows the path through this turn to the newest leaf after it.
    ///
    /// # Errors
    /// There is no such turn.
    pub fn show(&mut self, id: &str) -> Result<(), SessionError> {
        let mut end = self.known(id)?;
        while let Some(next) = self.children(Some(&end.id)).last() {
            end = next;
        }
        self.leaf = Some(end.id.clone());
        Ok(())
    }

    fn known(&self, id: &str) -> Result<&Turn, SessionError> {
        self.turn(id)
            .ok_or_else(|| SessionError::UnknownTurn { turn: id.into() })
    }

    fn children_of(&self, id: Option<&RunId>) -> &[usize] {
        let children = self.children.get(&id.cloned());
        children.map_or(&[], Vec::as_slice)
    }
}
