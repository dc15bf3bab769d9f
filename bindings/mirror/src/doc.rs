//! Documentation of the core for other languages: without the links and paths of Rust, and with the app instead of a
//! host.

use crate::types::Form;
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, parse_quote};

/// Returns the attributes that are documentation, rewritten.
pub(crate) fn docs(attributes: &[Attribute]) -> Vec<Attribute> {
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    let text = plain(&lines.join("\n"));
    let text = text.split("\n```").next().unwrap_or_default();
    text.trim_end()
        .split('\n')
        .filter(|_| !text.trim().is_empty())
        .map(|line| parse_quote! { #[doc = #line] })
        .collect()
}

/// Does the same for a field whose value is JSON; the first sentence says which JSON it is.
pub(crate) fn json_docs(attributes: &[Attribute], form: Form) -> Vec<Attribute> {
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    let text = in_json(&lines.join("\n"), form);
    docs(&[parse_quote! { #[doc = #text] }])
}

fn in_json(text: &str, form: Form) -> String {
    let words = match form {
        Form::Any => "any JSON",
        Form::Object => "a JSON object",
        Form::Array => "a JSON array",
    };
    let is_said = text.contains(words) || text.contains("JSON Schema");
    if is_said || (matches!(form, Form::Any) && text.contains("JSON")) {
        return text.to_owned();
    }
    let end = text
        .find(". ")
        .or_else(|| text.find(".\n"))
        .unwrap_or(text.trim_end().len() - 1);
    let (sentence, rest) = text.split_at(end);
    let comma = if sentence.contains(':') { "," } else { ":" };
    format!("{sentence}{comma} {words}{rest}")
}

/// Returns whether there is documentation among the attributes.
pub(crate) fn has_docs(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| line(attribute).is_some())
}

fn line(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Some(text.value()),
            Expr::Group(group) => {
                let value = &group.expr;
                syn::parse2(quote! { #value })
                    .ok()
                    .map(|text: syn::LitStr| text.value())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Converts `` [`A::B`](path) `` to `` `A.B` ``, and the name of a core's input to that of its method.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('[') {
        plain.push_str(&rest[..start]);
        let (link, after) = split_link(&rest[start..]);
        plain.push_str(&link);
        rest = after;
    }
    plain.push_str(rest);
    plain
        .replace("the host", "the app")
        .replace("The host", "The app")
}

/// Returns the text of the link that the text begins with, and what follows the link.
fn split_link(text: &str) -> (String, &str) {
    let end = match text.find(']') {
        Some(end) if text[1..end].starts_with('`') || text[end + 1..].starts_with('(') => end,
        _ => return ("[".to_owned(), &text[1..]),
    };
    let name = &text[1..end];
    let (target, after) = match text[end + 1..]
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
    {
        Some((target, after)) => (target, after),
        None => ("", &text[end + 1..]),
    };
    if !name.starts_with('`') {
        return (name.to_owned(), after);
    }
    let name = name.trim_matches('`').trim_start_matches("Self::");
    if target.contains("Input::") {
        return (format!("`{}`", snake(name)), after);
    }
    (format!("`{}`", name.replace("::", ".")), after)
}

/// Converts `ToolFinished` to `tool_finished`.
pub(crate) fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// Converts `tool_call_id` to `toolCallId`.
pub(crate) fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_code() {
        assert_eq!(
            plain(
                "See [`Policy::Trim`](crate::run::Policy::Trim), [`Self::Idle`], [costs](x) and `[DONE]`."
            ),
            "See `Policy.Trim`, `Idle`, costs and `[DONE]`."
        );
        assert_eq!(plain("The host's words."), "The app's words.");
        assert_eq!(
            plain("[`RunCreated`](crate::run::Input::RunCreated)"),
            "`run_created`"
        );
    }

    #[test]
    fn says_what_json_a_value_is() {
        assert_eq!(
            in_json(" What to show.", Form::Object),
            " What to show: a JSON object."
        );
        assert_eq!(
            in_json(" The change: operations of JSON Patch. All.", Form::Array),
            " The change: operations of JSON Patch, a JSON array. All."
        );
        assert_eq!(
            in_json(" The state: any JSON.", Form::Any),
            " The state: any JSON."
        );
    }

    #[test]
    fn names_change_their_case() {
        assert_eq!(snake("ToolCallUpdate"), "tool_call_update");
        assert_eq!(camel("parent_message_id"), "parentMessageId");
    }
}
