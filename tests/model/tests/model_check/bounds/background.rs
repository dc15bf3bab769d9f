//! The small corners in which the provider makes its answers in the background.

use super::*;
use stepwell_core::dialect::Resumption;
use stepwell_core::run::KilledPolicy;

/// Answers that are read on after a break, as a stream and as a whole, and cancelled when they are left.
pub(super) fn background() -> Vec<Bounds> {
    vec![
        corner(
            "in the background, an answer that breaks off, one crash",
            |bounds, background, _| {
                bounds.crashes = 1;
                background.unfinished = 0;
            },
        ),
        corner(
            "in the background, an answer that breaks off again and again",
            |_, background, config| {
                background.breaks = 3;
                config.durability = Durability::None;
            },
        ),
        corner(
            "in the background, a call, read as a whole",
            |bounds, background, config| {
                bounds.calls = 1;
                background.unfinished = 2;
                config.durability = Durability::None;
            },
        ),
        corner(
            "in the background, a call, one crash",
            |bounds, background, _| {
                bounds.calls = 1;
                bounds.texts = false;
                bounds.crashes = 1;
                background.unfinished = 0;
            },
        ),
        corner(
            "in the background, another model after a failure",
            |_, background, config| {
                background.breaks = 3;
                config.durability = Durability::None;
                config.fallback.models = vec![other(config)];
                config.fallback.after_text = true;
            },
        ),
        corner(
            "in the background, asked for again after its text",
            |_, background, config| {
                background.breaks = 2;
                config.durability = Durability::None;
                config.retry = after_text(&config.retry);
            },
        ),
        corner(
            "in the background, keys of the host's, a crash that ends the turn",
            |bounds, background, config| {
                bounds.crashes = 1;
                background.breaks = 0;
                background.unfinished = 0;
                config.credentials = Credentials::Host;
                config.device.killed = KilledPolicy::Cancel;
            },
        ),
        corner(
            "in the background, another network",
            |bounds, background, config| {
                bounds.device = 1;
                background.unfinished = 0;
                config.durability = Durability::None;
                config.device.network_change = NetworkChangePolicy::Reopen;
            },
        ),
    ]
}

/// Calls and texts, everything that can break, and two crashes.
pub fn large_in_background() -> Bounds {
    corner(
        "3 × 3, in the background, two crashes",
        |bounds, background, config| {
            bounds.calls = 1;
            bounds.kinds = vec![Kind::Plain, Kind::Idempotent];
            bounds.crashes = 2;
            background.breaks = 2;
            background.unfinished = 2;
            config.limits.max_tool_rounds = 2;
        },
    )
}

/// A corner of answers in the background, with text and one break.
pub(super) fn corner(
    name: &'static str,
    change: impl FnOnce(&mut Bounds, &mut Background, &mut RunConfig),
) -> Bounds {
    Bounds::new(name, Dialect::OpenAiResponses, |bounds, config| {
        bounds.calls = 0;
        bounds.texts = true;
        config.durability = Durability::Blocks { attempts: 1 };
        config.endpoint.quirks.resumption = Resumption::Background;
        let mut background = Background {
            breaks: 1,
            unfinished: 1,
        };
        change(bounds, &mut background, config);
        bounds.background = Some(background);
    })
}
