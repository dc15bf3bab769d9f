//! How long conversations are kept from filling the model's context.

use super::endpoint::named;
use crate::settings::{CompactionName, CompactionSettings, ModelSettings};
use stepwell_core::dialect::{Dialect, Endpoint};
use stepwell_core::provider::context_window;
use stepwell_core::run::{CompactionPolicy, CompactionWay, RunConfig, SummaryPolicy};
use stepwell_demo::Failure;

/// The compaction that the settings name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compaction {
    policy: CompactionPolicy,
    /// The size of the context of all models, in tokens, if the settings name it.
    window: Option<u64>,
}

impl Compaction {
    /// Reads the settings. `model` is that of the turns; the scripted model has none, and writes its own summaries.
    ///
    /// # Errors
    /// The settings do not fit together, or the model for summaries cannot be used.
    pub(crate) fn new(
        settings: &CompactionSettings,
        model: Option<&ModelSettings>,
    ) -> Result<Self, Failure> {
        let names = &settings.compaction;
        let is_off = names.contains(&CompactionName::Off);
        if is_off && names.iter().any(|name| *name != CompactionName::Off) {
            return Err(Failure::usage(
                "compaction is `off`, and has another way as well: leave one of them out",
            ));
        }
        let has_summaries = names.contains(&CompactionName::Summary);
        if settings.summary_model.is_some() && !has_summaries {
            return Err(Failure::usage(
                "summary_model is set, and no summaries are written: add the way with --compaction summary",
            ));
        }
        let writer = settings.summary_model.as_slice();
        let writer = model.map(|model| named(model, writer)).transpose()?;
        let writer = writer.and_then(|mut writers| writers.pop());
        let ways = names.iter().filter_map(|name| match name {
            CompactionName::Off => None,
            CompactionName::DropResults => Some(CompactionWay::DropResults {
                keep: settings.keep_results,
            }),
            CompactionName::Summary => Some(CompactionWay::Summary(SummaryPolicy {
                model: writer.clone().map(|writer| Box::new(writer.into())),
                ..SummaryPolicy::default()
            })),
            CompactionName::Provider => Some(CompactionWay::Provider),
        });
        Ok(Self {
            policy: CompactionPolicy {
                at: settings.compaction_at,
                ways: ways.collect(),
            },
            window: settings.context_window.map(Into::into),
        })
    }

    /// Copies the settings into the configuration of a run.
    pub(crate) fn apply(&self, config: &mut RunConfig) {
        config.compaction = self.policy.clone();
        config.context_guard.window = self.window;
    }

    /// Checks that the conversations can be compacted. `endpoint` is the model that answers, `others` are those that may
    /// answer instead.
    ///
    /// # Errors
    /// A way has no effect with these models.
    pub(crate) fn check<'a>(
        &self,
        endpoint: &'a Endpoint,
        others: impl IntoIterator<Item = &'a Endpoint>,
    ) -> Result<(), Failure> {
        if self.policy.is_off() {
            return Ok(());
        }
        let mut config = RunConfig::new(endpoint.clone());
        self.apply(&mut config);
        config.check_compaction().map_err(Failure::usage)?;
        let Endpoint {
            provider,
            model,
            dialect,
            ..
        } = endpoint;
        if *dialect == Dialect::AgUi {
            return Err(Failure::usage(
                "an AG-UI agent keeps a conversation of its own, which cannot be compacted: leave out --compaction",
            ));
        }
        let compacts = |endpoint: &Endpoint| endpoint.dialect.compacts_from().is_some();
        let is_asked = self.policy.ways.contains(&CompactionWay::Provider);
        if is_asked && !compacts(endpoint) && !others.into_iter().any(compacts) {
            return Err(Failure::usage(format!(
                "`{provider}` does not compact conversations with this API: use --compaction summary or drop-results \
                 (anthropic does, and OpenAI's API `responses`)"
            )));
        }
        if self.window.is_none() && context_window(provider, model).is_none() {
            return Err(Failure::usage(format!(
                "the size of the context of `{model}` is not known, and nothing can be compacted without it: name it with \
                 --context-window"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command};

    fn settings<S: Args>(arguments: &str) -> S {
        let command = S::augment_args(Command::new("c").no_binary_name(true));
        let matches = command.get_matches_from(arguments.split_whitespace());
        S::from_arg_matches(&matches).expect("settings")
    }

    /// Reads and checks the settings of a compaction for a local model.
    fn checked(arguments: &str) -> Result<Compaction, String> {
        let model: ModelSettings = settings("--provider ollama --model m");
        let compaction = Compaction::new(&settings(arguments), Some(&model));
        let compaction = compaction.map_err(reason)?;
        let endpoint = super::super::endpoint(&model);
        let endpoint = endpoint.expect("an endpoint").expect("a provider");
        compaction.check(&endpoint, []).map_err(reason)?;
        Ok(compaction)
    }

    fn reason(failure: Failure) -> String {
        match failure {
            Failure::Usage(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_is_compacted_by_default() {
        for off in ["", "--compaction off"] {
            let compaction = checked(off).expect("a compaction");
            assert!(compaction.policy.is_off());
        }
    }

    #[test]
    fn ways_are_used_in_their_order() {
        let arguments = "--compaction drop-results --compaction summary --keep-results 2 \
                         --summary-model ollama/small --context-window 8000 --compaction-at 0.5";
        let compaction = checked(arguments).expect("a compaction");
        let ollama = stepwell_io::provider::find("ollama").expect("a provider");
        let endpoint = ollama.endpoint(None, "m", None, None);
        let mut config = RunConfig::new(endpoint.expect("an endpoint"));
        compaction.apply(&mut config);
        assert_eq!(config.context_guard.window, Some(8000));
        assert!((config.compaction.at - 0.5).abs() < 1e-9);
        let ways = &config.compaction.ways;
        assert_eq!(ways[0], CompactionWay::DropResults { keep: 2 });
        let writer = config.summary_model().map(|model| &*model.endpoint.model);
        assert_eq!((ways.len(), writer), (2, Some("small")));
    }

    #[test]
    fn unusable_combinations_are_refused() {
        for (arguments, why) in [
            (
                "--compaction off --compaction summary",
                "compaction is `off`",
            ),
            (
                "--compaction drop-results --summary-model ollama/small",
                "summary_model is set, and no summaries are written",
            ),
            (
                "--compaction provider --context-window 9000",
                "`ollama` does not compact conversations with this API",
            ),
            ("--compaction summary", "the size of the context of `m`"),
            (
                "--compaction summary --summary-model small",
                "`small` is no model",
            ),
        ] {
            let refused = checked(arguments).expect_err("it is refused");
            assert!(refused.contains(why), "{arguments}: {refused}");
        }
    }
}
