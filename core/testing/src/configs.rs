//! Configurations of all kinds, as proptest draws them.

use crate::world::config;
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;
use stepwell_core::Usd;
use stepwell_core::dialect::{Dialect, Resumption};
use stepwell_core::provider::ModelPrice;
use stepwell_core::run::{
    BackgroundPolicy, CompactionWay, ContextGuard, ContextPolicy, Credentials, DevicePolicy,
    Durability, ErrorKind, Fallback, FallbackModel, HookMoment, HookSpec, KilledPolicy,
    LimitPolicy, ModelChoice, NetworkChangePolicy, OfflinePolicy, RunConfig, RunIds, SummaryPolicy,
    TextOptions,
};
use stepwell_core::tool::{OutputMode, OutputType, Tool};

/// A configuration, in the few numbers that it was drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    dialect: Dialect,
    has_store: bool,
    creates_runs: bool,
    gives_keys: bool,
    limits: u8,
    has_turn_timeout: bool,
    device: u8,
    has_partial_arguments: bool,
    context: u8,
    output: u8,
    has_hooks: bool,
    models: u8,
}

/// Configurations with three tools: `work`, `look`, which is idempotent, and `ask`, which the user must allow. They speak
/// AG-UI or OpenAI's chat, with and without a store, hooks, typed answers, other models, limits and all policies.
pub fn settings() -> impl Strategy<Value = Setting> {
    // Options that add steps, or end a run early, are rare, so that runs get far.
    let flags = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.2),
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.2),
    );
    let numbers = (0..3u8, any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>());
    (flags, numbers).prop_map(|(flags, (limits, device, context, output, models))| {
        let (
            is_agent,
            has_store,
            creates_runs,
            gives_keys,
            has_turn_timeout,
            has_partial_arguments,
            has_hooks,
        ) = flags;
        Setting {
            dialect: if is_agent {
                Dialect::AgUi
            } else {
                Dialect::OpenAiChat
            },
            has_store,
            creates_runs,
            gives_keys,
            limits,
            has_turn_timeout,
            device,
            has_partial_arguments,
            context,
            output,
            has_hooks,
            models,
        }
    })
}

impl Setting {
    /// The same with a store.
    #[must_use]
    pub const fn storing(mut self) -> Self {
        self.has_store = true;
        self
    }

    /// The same in another dialect.
    #[must_use]
    pub const fn speaking(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// The configuration.
    ///
    /// # Panics
    /// Never: its tools and types are sound.
    #[must_use]
    pub fn config(self) -> RunConfig {
        let mut config = config(self.dialect);
        for tool in [
            Tool::new("work", "Works."),
            Tool::new("look", "Looks.").idempotent(),
            Tool::new("ask", "Asks.").requires_approval(),
        ] {
            config.tools = config.tools.register(tool).expect("a sound tool");
        }
        config.limits.max_tool_rounds = 2;
        config.limits.max_parallel_tools = [8, 1, 2][usize::from(self.limits)];
        config.limits.at_limit = [LimitPolicy::Complete, LimitPolicy::Fail, LimitPolicy::SumUp]
            [usize::from(self.limits)];
        if self.has_hooks {
            config.hooks = ["first", "second"]
                .map(|name| HookSpec::new(name, HookMoment::ALL))
                .into();
        }
        if self.has_store {
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
            config.endpoint.quirks.resumption = match self.dialect.has_background() {
                true => Resumption::Background,
                false => Resumption::LastEventId,
            };
        }
        config.partial_arguments = self.has_partial_arguments;
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
        if self.dialect != Dialect::AgUi && self.models.is_multiple_of(4) {
            config.fallback = self.fallback();
        }
        config.compaction.ways = self.compaction();
        // With a price, the checks on the usage also apply to the cost.
        let price = ModelPrice::new(Usd::from_nanos(7), Usd::from_nanos(1_000_000));
        config.endpoint.quirks.price = Some(price);
        for other in &mut config.fallback.models {
            other.endpoint.quirks.price = Some(price);
        }
        // A summary may use up what the turn may cost, and the request that it is for is sent all the same.
        let is_poor = self.context / 4 % 4 == 3 && self.limits == 0 && config.compaction.is_off();
        config.limits.max_cost = is_poor.then_some(Usd::from_nanos(9));
        config.timeouts.turn = self.has_turn_timeout.then_some(Duration::from_secs(600));
        config
    }

    /// Ways to compact the conversation, of which a model's summary is one.
    fn compaction(self) -> Vec<CompactionWay> {
        let mut writer = FallbackModel::from(config(Dialect::Anthropic).endpoint);
        if self.gives_keys {
            writer.credentials = Credentials::Host;
        }
        let summary = CompactionWay::Summary(SummaryPolicy {
            model: self.models.is_multiple_of(2).then(|| Box::new(writer)),
            ..SummaryPolicy::default()
        });
        match self.models / 64 {
            0 => Vec::new(),
            1 => vec![summary],
            2 => vec![CompactionWay::DropResults { keep: 0 }, summary],
            _ => vec![CompactionWay::Host, summary],
        }
    }

    /// Two other models, of which one speaks another dialect.
    fn fallback(self) -> Fallback {
        let models = [Dialect::Anthropic, self.dialect].map(|dialect| {
            let mut other = FallbackModel::from(config(dialect).endpoint);
            "other".clone_into(&mut other.endpoint.model);
            if self.gives_keys {
                other.credentials = Credentials::Host;
            }
            other
        });
        let mut fallback = Fallback {
            models: models.into(),
            after_text: (self.models / 4).is_multiple_of(2),
            choice: if (self.models / 8).is_multiple_of(4) {
                ModelChoice::Host
            } else {
                ModelChoice::InOrder
            },
            ..Fallback::default()
        };
        if (self.models / 32).is_multiple_of(2) {
            fallback.after = ErrorKind::ALL.to_vec();
        }
        fallback
    }
}
