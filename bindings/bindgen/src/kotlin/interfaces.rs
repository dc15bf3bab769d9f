//! The interfaces that uniffi writes for each object: an app has no use for them, so their documentation and defaults
//! move to the class.

use anyhow::{Context as _, ensure};

/// The public objects.
const OBJECTS: [&str; 6] = [
    "ChatReducer",
    "HttpAnswer",
    "PartialValue",
    "RunMachine",
    "RunRegistry",
    "SessionStore",
];

/// Removes the interfaces of the public objects.
///
/// # Errors
/// uniffi writes objects in another form.
pub(super) fn removed(text: &str) -> anyhow::Result<String> {
    let mut text = text.to_owned();
    for object in OBJECTS {
        text = without(&text, object).with_context(|| object.to_owned())?;
    }
    Ok(text)
}

fn without(text: &str, object: &str) -> anyhow::Result<String> {
    let declaration = format!("public interface {object}Interface {{\n");
    let (before, rest) = text
        .split_once(&declaration)
        .context("it has no interface")?;
    let (interface, after) = rest.split_once("\n}\n").context("it has no end")?;
    let class = format!("open class {object}: AutoCloseable, {object}Interface\n{{\n");
    let at = after.find(&class).context("it has no class")?;
    let (between, class_and_rest) = after.split_at(at);
    // Braces within the class are not indented either.
    let converter = format!("internal object FfiConverterType{object}:");
    let end = class_and_rest
        .find(&converter)
        .context("it has no converter")?;
    let (body, rest) = class_and_rest.split_at(end);
    let body = body.replacen(&format!(", {object}Interface\n"), "\n", 1);
    let mut lines = String::new();
    for line in body.split_inclusive('\n') {
        lines.push_str(&with_defaults(line, interface)?);
    }
    Ok(format!("{before}{between}{lines}{rest}"))
}

/// Replaces the beginning of a method by its declaration in the interface, which has the defaults.
fn with_defaults(line: &str, interface: &str) -> anyhow::Result<String> {
    let Some((before, method)) = line.split_once("override ") else {
        return Ok(line.to_owned());
    };
    let Some(name) = method.split_once("fun `").map(|(_, rest)| rest) else {
        return Ok(line.to_owned());
    };
    let (name, _) = name.split_once('`').context("a method without a name")?;
    let begin = format!("fun `{name}`(");
    let declared = interface
        .lines()
        .map(str::trim_start)
        .find(|line| line.contains(&begin))
        .with_context(|| format!("the interface has no `{name}`"))?;
    let after = method_end(method).context("the parameters have no end")?;
    let end = method_end(declared).context("the declared parameters have no end")?;
    ensure!(declared[..end].ends_with(')'), "`{declared}` has no end");
    Ok(format!(
        "{before} open {}{}",
        &declared[..end],
        &method[after..]
    ))
}

/// Returns where the parameters of a method end, after the parenthesis.
fn method_end(method: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, char) in method.char_indices() {
        match char {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(at + 1),
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_the_defaults_of_its_interface() {
        let text = "\
/** Docs. */
public interface XInterface {
    /** Says. */
    fun `say`(`text`: String = \"()\", `to`: List<(Int) -> Int> = listOf()): Int

    companion object
}

/** Docs. */
open class X: AutoCloseable, XInterface
{
    override fun close() {
    }
    /** Says. */
    @Throws(E::class)override fun `say`(`text`: String, `to`: List<(Int) -> Int>): Int {
    }
}
internal object FfiConverterTypeX: Y {
";
        let made = without(text, "X").expect("an object");
        assert!(!made.contains("XInterface"), "{made}");
        assert!(made.contains("    override fun close() {\n"), "{made}");
        assert!(
            made.contains("@Throws(E::class) open fun `say`(`text`: String = \"()\", `to`: List<(Int) -> Int> = listOf()): Int {\n"),
            "{made}"
        );
    }
}
