//! What the world holds besides the machine: the host's hands, the store, what is known of the run.

use super::*;

/// What the host is busy with under an effect's id.
#[derive(Clone, Debug)]
pub enum Hand {
    Create,
    /// The host gets credentials.
    Key,
    Request,
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
    /// The store has it; the run has not heard of it.
    Committed,
}

#[derive(Debug)]
pub struct Write {
    pub status: TurnStatus,
    /// The number, what it is, and a digest of it.
    pub blocks: Vec<(u64, Part, u64)>,
    pub snapshot: Arc<Snapshot>,
}

/// What a block says of a call.
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
    /// How many blocks it has.
    pub blocks: u64,
    pub is_closed: bool,
    /// What it knows of each call: 1 that it was asked for, 2 that the user decided, 4 its result,
    /// 8 that the user answered its question.
    pub calls: Vec<(CallKey, u8)>,
    pub snapshot: Option<Arc<Snapshot>>,
}

impl Store {
    pub fn knows(&self, call: CallKey) -> u8 {
        let known = self.calls.iter().find(|entry| entry.0 == call);
        known.map_or(0, |entry| entry.1)
    }
}

/// How far the question of a running tool has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// The user is to answer.
    Open,
    /// They have, and the tool has not heard of it.
    Answered,
    /// They had, before the tool was run again.
    Known,
    /// The tool has heard of it.
    Told,
}

/// What the user has seen of the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shown {
    #[default]
    Nothing,
    Running,
    Question,
    End,
}

/// What the world knows of the run beside what is stored; a crash takes it back to the snapshot's.
#[derive(Clone, Debug, Default)]
pub struct Ghost {
    pub shown: Shown,
    /// What the history must say of the calls that came to their end.
    pub results: Vec<(CallKey, &'static str)>,
    /// The calls that the user allowed.
    pub granted: Vec<CallKey>,
    /// The calls that the user stopped.
    pub stopped: Vec<CallKey>,
    /// The calls whose question the user has answered.
    pub answered: Vec<CallKey>,
    /// What the user typed during the turn, and has heard nothing of.
    pub typed: Vec<String>,
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
