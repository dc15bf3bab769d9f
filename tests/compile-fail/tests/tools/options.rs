use stepwell_macros::tool;

/// Has an option that there is not.
#[tool(approval)]
fn one() {}

/// Has a flag with a value.
#[tool(idempotent = true)]
fn two() {}

/// Has an option without its value.
#[tool(timeout)]
fn three() {}

/// Has a name that is no text.
#[tool(name = four)]
fn four() {}

/// Has a name that no provider takes.
#[tool(name = "get weather")]
fn five() {}

/// Says it twice.
#[tool(repeatable, repeatable)]
fn six() {}

fn main() {}
