//! The large corners.

use super::*;

/// Three calls in three hops, the smaller spaces first.
pub fn large() -> Vec<Bounds> {
    let whole = |name, dialect, change: fn(&mut Bounds, &mut RunConfig)| {
        Bounds::new(name, dialect, |bounds, config| {
            bounds.calls = 3;
            config.limits.max_tool_rounds = 2;
            change(bounds, config);
        })
    };
    vec![
        whole(
            "3 × 3, an agent's questions",
            Dialect::AgUi,
            |bounds, config| {
                bounds.kinds = vec![Kind::Plain, Kind::Answered];
                bounds.questions = 1;
                config.durability = Durability::None;
            },
        ),
        whole(
            "3 × 3, tools and approvals",
            Dialect::OpenAiChat,
            |bounds, _| {
                bounds.kinds = vec![Kind::Plain, Kind::Approval];
            },
        ),
        whole(
            "3 × 3, a tool, one crash",
            Dialect::OpenAiChat,
            |bounds, _| {
                bounds.kinds = vec![Kind::Plain];
                bounds.texts = true;
                bounds.crashes = 1;
            },
        ),
        whole(
            "3 × 3, every kind of tool, one crash",
            Dialect::OpenAiChat,
            |bounds, _| {
                bounds.kinds = vec![Kind::Plain, Kind::Idempotent, Kind::Approval, Kind::Unknown];
                bounds.crashes = 1;
            },
        ),
        whole(
            "3 × 3, every kind of tool, two crashes",
            Dialect::OpenAiChat,
            |bounds, _| {
                bounds.kinds = vec![Kind::Plain, Kind::Idempotent, Kind::Approval, Kind::Unknown];
                bounds.texts = true;
                bounds.crashes = 2;
                bounds.extras = Extras::ALL;
            },
        ),
    ]
}
