//! Exports the definition of a type, so that another crate can build a type of its own from it.
//!
//! Stepwell's bindings offer the core's data types to other languages under the same names, but flatter, and with strings
//! for ids. `bindings/mirror` builds those types, and the conversions, from the definitions that this derive exports.
#![forbid(unsafe_code)]

use proc_macro::{TokenStream, TokenTree};

/// Exports the definition of a type `Name` as the hidden macro `define_Name` in the root of its crate.
///
/// `define_Name! { path::to::callback! { tokens } }` expands to `path::to::callback! { { the definition } tokens }`. The
/// definition has all attributes but the derives.
#[proc_macro_derive(Definition)]
pub fn definition(item: TokenStream) -> TokenStream {
    let mut tokens = item.clone().into_iter();
    let is_keyword = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if matches!(word.to_string().as_str(), "struct" | "enum"));
    let name = tokens.find(is_keyword).and_then(|_| tokens.next());
    let Some(name) = name else {
        return error("only structs and enums have a definition to export");
    };
    let exported = format!(
        "#[doc(hidden)]
        #[macro_export]
        macro_rules! define_{name} {{
            ($($callback:ident)::+ ! {{ $($tokens:tt)* }}) => {{
                $($callback)::+ ! {{ {{ DEFINITION }} $($tokens)* }}
            }};
        }}"
    );
    exported.parse().map_or_else(
        |_| error("the definition cannot be exported"),
        |exported| replaced(exported, &item),
    )
}

/// Puts the definition in its place.
fn replaced(tokens: TokenStream, definition: &TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Ident(word) if word.to_string() == "DEFINITION" => definition.clone(),
            TokenTree::Group(group) => {
                let inner = replaced(group.stream(), definition);
                TokenTree::from(proc_macro::Group::new(group.delimiter(), inner)).into()
            }
            token => token.into(),
        })
        .collect()
}

fn error(message: &str) -> TokenStream {
    let error = format!("::core::compile_error!({message:?});");
    error.parse().unwrap_or_default()
}
