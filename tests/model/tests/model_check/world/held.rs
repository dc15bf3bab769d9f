//! What the world holds besides the machine: the host's hands, the store, what is known of the run.

use super::*;

/// The host's work under an effect's id.
#[derive(Clone, Debug)]
pub enum Hand {
    Create,
    /// The host gets credentials.
    Key,
    /// The host chooses a model.
    Choice,
    Request,
    /// A request for the rest of the answer of this number at the provider: the events after this one, or the answer as a
    /// whole.
    Rest(u8, Option<u8>),
    Stream(Said),
    Approval,
    Tool,
    Decoding,
    /// A hook looks.
    Hook,
    /// A question of a running tool.
    Question,
    /// A tool whose result comes later, whatever becomes of the host.
    Deferred,
    Write(Arc<Write>),
    /// The store has the write; the run does not know it yet.
    Committed,
}

#[derive(Debug)]
pub struct Write {
    pub status: TurnStatus,
    /// The number, what it is, and a digest of it.
    pub blocks: Vec<(u64, Part, u64)>,
    pub snapshot: Arc<Snapshot>,
}

/// The subject of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Text,
    Asked(CallKey),
    Decided(CallKey),
    Answered(CallKey),
    Result(CallKey),
}

#[derive(Debug)]
pub struct Snapshot {
    pub text: String,
    /// The canonical form of the run in it.
    pub print: u64,
    pub hop: u32,
    pub is_over: bool,
    /// The tools whose results were to come later.
    pub deferred: Vec<EffectId>,
    pub ghost: Ghost,
}

#[derive(Clone, Debug, Default)]
pub struct Store {
    /// The number of its blocks.
    pub blocks: u64,
    pub is_closed: bool,
    /// The stored facts about each call: 1 that it was asked for, 2 that the user decided, 4 its result, 8 that the
    /// user answered its question.
    pub calls: Vec<(CallKey, u8)>,
    pub snapshot: Option<Arc<Snapshot>>,
}

impl Store {
    pub fn knows(&self, call: CallKey) -> u8 {
        let known = self.calls.iter().find(|entry| entry.0 == call);
        known.map_or(0, |entry| entry.1)
    }
}

/// The progress of a running tool's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// The user must answer.
    Open,
    /// The user has answered, and the tool has not received it.
    Answered,
    /// The user had answered before the tool was run again.
    Known,
    /// The tool has received the answer.
    Told,
}

/// The part of the turn that the user has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shown {
    #[default]
    Nothing,
    Running,
    Question,
    End,
}

/// The world's knowledge of the run beyond the store; a crash takes it back to the snapshot's.
#[derive(Clone, Debug, Default)]
pub struct Ghost {
    pub shown: Shown,
    /// The results that the history must have of the calls that have ended.
    pub results: Vec<(CallKey, &'static str)>,
    /// The calls that the user allowed.
    pub granted: Vec<CallKey>,
    /// The calls that the user stopped.
    pub stopped: Vec<CallKey>,
    /// The calls whose question the user has answered.
    pub answered: Vec<CallKey>,
    /// The messages that the user typed during the turn, and whose fate is not reported.
    pub typed: Vec<String>,
    /// The answers that are made in the background.
    pub heard: Heard,
}

/// Digest and meaning of a block.
pub fn part(block: &Block) -> (u64, Part, u64) {
    let part = match &block.content {
        BlockContent::ToolUse { call, .. } => Part::Asked(*call),
        BlockContent::Approval { call, .. } => Part::Decided(*call),
        BlockContent::Answer { call, .. } => Part::Answered(*call),
        BlockContent::ToolResult { call, .. } => Part::Result(*call),
        _ => Part::Text,
    };
    let mut out = DefaultHasher::new();
    serde_json::to_vec(&block.content)
        .expect("a block is plain data")
        .hash(&mut out);
    (block.sequence, part, out.finish())
}
