//! Corners so small that all can be kept.

use super::*;

/// Bounds so small that even what the canonical form may leave out can be kept.
pub fn tiny() -> Vec<Bounds> {
    let tiny = |name, dialect, change: fn(&mut Bounds)| {
        Bounds::new(name, dialect, |bounds, _| {
            bounds.calls = 1;
            bounds.failures = false;
            change(bounds);
        })
    };
    let hook = Bounds::new("a hook on calls", Dialect::OpenAiChat, |bounds, config| {
        bounds.calls = 1;
        bounds.failures = false;
        config.hooks = vec![HookSpec::new("h", [HookMoment::BeforeTool])];
    });
    vec![
        tiny("an approval", Dialect::OpenAiChat, |bounds| {
            bounds.kinds = vec![Kind::Approval];
            bounds.extras = Extras::ALL;
        }),
        tiny("one crash", Dialect::OpenAiChat, |bounds| {
            bounds.crashes = 1;
        }),
        tiny("a bad network", Dialect::OpenAiChat, |bounds| {
            bounds.failures = true;
            bounds.texts = true;
        }),
        tiny("a question", Dialect::AgUi, |bounds| {
            bounds.questions = 1;
            bounds.crashes = 1;
        }),
        tiny("a tool that asks the user", Dialect::OpenAiChat, |bounds| {
            bounds.kinds = vec![Kind::Idempotent];
            bounds.crashes = 1;
            bounds.extras.asks = true;
        }),
        tiny("two calls", Dialect::OpenAiChat, |bounds| {
            bounds.calls = 2;
        }),
        hook,
    ]
}
