//! The right to answer an effect. A typed run hands a ticket out with the effect that it is for, and takes nothing but that
//! ticket with the answer: an answer to something that was never asked does not compile.

use super::effect_id::EffectId;
use super::hook::HookPlace;
use crate::CallKey;

/// Makes the tickets, each with the form of the id of its effect.
macro_rules! tickets {
    ($( $(#[$doc:meta])* $kind:ident { $($field:ident: $type:ty),* } = [$($form:tt)*]; )*) => {
        $(
            $(#[$doc])*
            ///
            /// Only [`Run::poll_output`](crate::run::Run::poll_output) and [`Run::pending_effects`](crate::run::Run::pending_effects) make one.
            /// A run that has taken its effect back meanwhile drops the answer, and says
            /// [`AnswerDropped`](crate::run::RunEvent::AnswerDropped).
            #[derive(Debug, PartialEq, Eq)]
            pub struct $kind {
                $( pub(in crate::run) $field: $type, )*
            }

            impl $kind {
                /// The effect's id, for logs and for a host's own tables.
                #[must_use]
                pub fn id(&self) -> EffectId {
                    let Self { $($field),* } = *self;
                    $($form)*
                }
            }

            impl From<$kind> for EffectId {
                fn from(ticket: $kind) -> Self {
                    ticket.id()
                }
            }
        )*

        /// The ticket that answers an effect of a typed run.
        #[derive(Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Ticket {
            $(
                $(#[$doc])*
                $kind($kind),
            )*
            /// Takes no answer: the effect stops another of this id, or brings a tool what it asked for.
            NoAnswer(EffectId),
        }

        impl Ticket {
            /// The effect's id.
            #[must_use]
            pub fn id(&self) -> EffectId {
                match self {
                    $( Self::$kind(ticket) => ticket.id(), )*
                    Self::NoAnswer(id) => *id,
                }
            }

            /// Creates the ticket for an effect that expects an answer.
            pub(in crate::run) fn of(id: EffectId) -> Self {
                match id {
                    $( $($form)* => Self::$kind($kind { $($field),* }), )*
                }
            }
        }
    };
}

tickets! {
    /// Answers [`CreateRun`](crate::run::Effect::CreateRun).
    CreateRun { hop: u32 } = [EffectId::CreateRun { hop }];
    /// Answers [`OpenStream`](crate::run::Effect::OpenStream).
    Open { hop: u32, attempt: u32 } = [EffectId::Open { hop, attempt }];
    /// Answers [`AskApproval`](crate::run::Effect::AskApproval).
    Approve { call: CallKey } = [EffectId::Approve(call)];
    /// Answers [`RunTool`](crate::run::Effect::RunTool).
    Tool { call: CallKey } = [EffectId::Tool(call)];
    /// Answers [`Persist`](crate::run::Effect::Persist).
    Persist { sequence: u64 } = [EffectId::Persist { sequence }];
    /// Answers [`TrimContext`](crate::run::Effect::TrimContext).
    Trim { hop: u32 } = [EffectId::Trim { hop }];
    /// Answers [`ChooseModel`](crate::run::Effect::ChooseModel).
    ChooseModel { hop: u32 } = [EffectId::ChooseModel { hop }];
    /// Answers [`DecodeOutput`](crate::run::Effect::DecodeOutput).
    Decode { hop: u32 } = [EffectId::Output { hop }];
    /// Answers [`Authorize`](crate::run::Effect::Authorize).
    Authorize { hop: u32, attempt: u32 } = [EffectId::Authorize { hop, attempt }];
    /// Answers [`AskUser`](crate::run::Effect::AskUser).
    Ask { call: CallKey, number: u32 } = [EffectId::Ask { call, number }];
    /// Answers [`RunHook`](crate::run::Effect::RunHook) with a request to look at.
    RequestHook { hop: u32, hook: u32 } = [EffectId::Hook { place: HookPlace::Request { hop }, hook }];
    /// Answers [`RunHook`](crate::run::Effect::RunHook) with an answer to look at.
    AnswerHook { hop: u32, hook: u32 } = [EffectId::Hook { place: HookPlace::Answer { hop }, hook }];
    /// Answers [`RunHook`](crate::run::Effect::RunHook) with a call to look at.
    CallHook { call: CallKey, hook: u32 } = [EffectId::Hook { place: HookPlace::Call(call), hook }];
    /// Answers [`RunHook`](crate::run::Effect::RunHook) with a call's result to look at.
    ResultHook { call: CallKey, hook: u32 } = [EffectId::Hook { place: HookPlace::Result(call), hook }];
}
