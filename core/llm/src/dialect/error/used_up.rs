/// Returns whether the account has nothing left: waiting does not help, paying does.
pub(super) fn is_used_up(code: Option<&str>, message: &str) -> bool {
    let message = message.to_lowercase();
    matches!(
        code,
        Some(
            "insufficient_quota"
                | "billing_error"
                | "billing_not_active"
                | "billing_hard_limit_reached"
                | "402"
        )
    ) || [
        "credit balance is too low",
        "insufficient balance",
        "insufficient credit",
        "insufficient funds",
        "requires more credits",
        "never purchased credits",
        "out of credits",
        "credits expired",
        "used all available credits",
        "spending limit",
        "payment required",
    ]
    .iter()
    .any(|phrase| message.contains(phrase))
}
