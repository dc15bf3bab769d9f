//! What a mad run is configured to.

use crate::world::{config, offer};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::Usd;
use stepwell_core::dialect::{Dialect, Resumption};
use stepwell_core::provider::ModelPrice;
use stepwell_core::run::{
    BackgroundPolicy, ContextGuard, ContextPolicy, Credentials, DevicePolicy, Durability,
    HookMoment, HookSpec, KilledPolicy, LimitPolicy, NetworkChangePolicy, OfflinePolicy, RunConfig,
    RunIds, TextOptions,
};
use stepwell_core::tool::{OutputMode, OutputType, Tool};

/// What the run is configured to.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    dialect: Dialect,
    stores: bool,
    creates_runs: bool,
    gives_keys: bool,
    policy: u8,
    turn: bool,
    /// What the device's policies are, and whether the backend can resume.
    device: u8,
    partial: bool,
    /// How large the model's context window is, what happens at its end, and how text is shown.
    context: u8,
    /// Whether the answer is typed, and how.
    output: u8,
    /// Whether hooks look at each moment.
    hooks: bool,
}

pub fn settings() -> impl Strategy<Value = Setting> {
    (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        // What takes steps of its own, or ends a run early, is rare: others are to come far.
        prop::bool::weighted(0.2),
        0..3u8,
        any::<bool>(),
        any::<u8>(),
        any::<bool>(),
        any::<u8>(),
        (any::<u8>(), prop::bool::weighted(0.2)),
    )
        .prop_map(
            |(
                ag_ui,
                stores,
                creates_runs,
                gives_keys,
                policy,
                turn,
                device,
                partial,
                context,
                (output, hooks),
            )| {
                Setting {
                    dialect: if ag_ui {
                        Dialect::AgUi
                    } else {
                        Dialect::OpenAiChat
                    },
                    stores,
                    creates_runs,
                    gives_keys,
                    policy,
                    turn,
                    device,
                    partial,
                    context,
                    output,
                    hooks,
                }
            },
        )
}

pub const ROUNDS: u32 = 2;

impl Setting {
    /// The same with a store.
    pub fn storing(mut self) -> Self {
        self.stores = true;
        self
    }

    /// The same in another wire format.
    pub fn speaking(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    pub(super) fn config(self) -> Arc<RunConfig> {
        let mut config = config(self.dialect);
        offer(&mut config, Tool::new("work", "Works."));
        offer(&mut config, Tool::new("look", "Looks.").idempotent());
        offer(&mut config, Tool::new("ask", "Asks.").requires_approval());
        config.limits.max_tool_rounds = ROUNDS;
        config.limits.max_parallel_tools = [8, 1, 2][usize::from(self.policy)];
        config.limits.at_limit = [LimitPolicy::Complete, LimitPolicy::Fail, LimitPolicy::SumUp]
            [usize::from(self.policy)];
        if self.hooks {
            config.hooks = ["first", "second"]
                .map(|name| HookSpec::new(name, HookMoment::ALL))
                .into();
        }
        if self.stores {
            config.durability = Durability::Blocks { attempts: 2 };
        }
        if self.creates_runs {
            config.run_ids = RunIds::Host;
        }
        if self.gives_keys {
            config.credentials = Credentials::Host;
        }
        config.device = DevicePolicy {
            background: match self.device % 8 {
                0 => BackgroundPolicy::Cancel,
                1 | 2 => BackgroundPolicy::Continue,
                _ => BackgroundPolicy::PauseClocks,
            },
            offline: if (self.device / 8).is_multiple_of(8) {
                OfflinePolicy::Fail
            } else {
                OfflinePolicy::default()
            },
            network_change: if self.device.is_multiple_of(2) {
                NetworkChangePolicy::Keep
            } else {
                NetworkChangePolicy::Reopen
            },
            killed: if (self.device / 16).is_multiple_of(8) {
                KilledPolicy::Cancel
            } else {
                KilledPolicy::Continue
            },
        };
        if self.device / 128 == 1 {
            config.endpoint.quirks.resumption = Resumption::LastEventId;
        }
        config.partial_arguments = self.partial;
        config.context_guard = ContextGuard {
            window: match self.context % 4 {
                0 | 1 => None,
                2 => Some(70),
                _ => Some(120),
            },
            at_limit: match self.context / 4 % 4 {
                0 => ContextPolicy::Fail,
                1 => ContextPolicy::Send,
                _ => ContextPolicy::Trim,
            },
            ..ContextGuard::default()
        };
        config.text = TextOptions {
            break_after_tools: self.context / 16 % 4 == 3,
            drop_blank: self.context / 64 == 3,
        };
        if self.output.is_multiple_of(3) {
            let modes = [
                OutputMode::Auto,
                OutputMode::Tool,
                OutputMode::Prompt,
                OutputMode::Native,
            ];
            let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}},
                "required": ["n"]});
            let output = OutputType::new("Number", schema).expect("a type");
            let output = output
                .mode(modes[usize::from(self.output) / 4 % 4])
                .retries(u32::from(self.output) / 16 % 3)
                .decoded_by_host(self.output.is_multiple_of(2));
            config.output = Some(output);
        }
        // So that what holds of the usage holds of the cost.
        config.endpoint.quirks.price = Some(ModelPrice::new(
            Usd::from_nanos(7),
            Usd::from_nanos(1_000_000),
        ));
        let is_poor = self.context / 4 % 4 == 3 && self.policy == 0;
        config.limits.max_cost = is_poor.then_some(Usd::from_nanos(9));
        config.timeouts.turn = self.turn.then_some(Duration::from_secs(600));
        Arc::new(config)
    }
}
