//! The ids of effects, and their text form.

use super::hook::HookPlace;
use crate::CallKey;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The id of an effect: its purpose, and never a counter, so that the same effect has the same id after a restore.
///
/// Its text form crosses the bindings: `open:0:1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum EffectId {
    /// Creates the run of a hop at the backend.
    CreateRun {
        /// The hop.
        hop: u32,
    },
    /// Opens the stream of a hop.
    Open {
        /// The hop.
        hop: u32,
        /// The try, from 0.
        attempt: u32,
    },
    /// Asks the user whether a tool may run.
    Approve(CallKey),
    /// Runs a tool.
    Tool(CallKey),
    /// Stores blocks.
    Persist {
        /// The sequence number of the first block.
        sequence: u64,
    },
    /// Makes the conversation fit the model's context, before a hop.
    Trim {
        /// The hop.
        hop: u32,
    },
    /// Chooses the model of a hop.
    ChooseModel {
        /// The hop.
        hop: u32,
    },
    /// Decodes the typed answer of a hop.
    Output {
        /// The hop.
        hop: u32,
    },
    /// Gets the credentials of the request that opens the stream of a hop.
    Authorize {
        /// The hop.
        hop: u32,
        /// The try, from 0.
        attempt: u32,
    },
    /// Brings a running tool the user's answer to its question.
    Ask {
        /// The call that asks.
        call: CallKey,
        /// The number of the question among those of the call, from 0.
        number: u32,
    },
    /// Asks a hook.
    Hook {
        /// The subject.
        place: HookPlace,
        /// The number of the hook in the configuration, from 0.
        hook: u32,
    },
}

/// The error of a text that is not the id of an effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the id of an effect: give back the id that came with the effect")]
pub struct ParseEffectIdError(String);

/// Builds the text form of the ids and its parser, both from one table: a name, and the numbers after it.
macro_rules! text_forms {
    ($( $name:literal $($number:ident)+ = [$($id:tt)*]; )*) => {
        impl fmt::Display for EffectId {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $( $($id)* => {
                        f.write_str($name)?;
                        $( write!(f, ":{}", $number)?; )+
                        Ok(())
                    } )*
                }
            }
        }

        fn parse(text: &str) -> Option<EffectId> {
            $(
                let numbers = text.strip_prefix($name).and_then(|rest| rest.strip_prefix(':'));
                if let Some(numbers) = numbers {
                    let mut numbers = numbers.split(':');
                    $( let $number = numbers.next()?.parse().ok()?; )+
                    return numbers.next().is_none().then_some($($id)*);
                }
            )*
            None
        }
    };
}

text_forms! {
    "create_run" hop = [EffectId::CreateRun { hop }];
    "open" hop attempt = [EffectId::Open { hop, attempt }];
    "approve" hop index = [EffectId::Approve(CallKey { hop, index })];
    "tool" hop index = [EffectId::Tool(CallKey { hop, index })];
    "persist" sequence = [EffectId::Persist { sequence }];
    "trim" hop = [EffectId::Trim { hop }];
    "choose_model" hop = [EffectId::ChooseModel { hop }];
    "output" hop = [EffectId::Output { hop }];
    "authorize" hop attempt = [EffectId::Authorize { hop, attempt }];
    "ask" hop index number = [EffectId::Ask { call: CallKey { hop, index }, number }];
    "hook:before_request" hop hook = [EffectId::Hook { place: HookPlace::Request { hop }, hook }];
    "hook:after_answer" hop hook = [EffectId::Hook { place: HookPlace::Answer { hop }, hook }];
    "hook:before_tool" hop index hook =
        [EffectId::Hook { place: HookPlace::Call(CallKey { hop, index }), hook }];
    "hook:after_tool" hop index hook =
        [EffectId::Hook { place: HookPlace::Result(CallKey { hop, index }), hook }];
}

impl FromStr for EffectId {
    type Err = ParseEffectIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| ParseEffectIdError(text.to_owned()))
    }
}
