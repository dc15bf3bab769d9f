//! Builds a type of the bindings from the definition of a type of the core: its fields, variants and documentation, the
//! attributes that serde needs, and the conversions. Differences for other languages are written in the macro.
#![forbid(unsafe_code)]

mod build;
mod convert;
mod doc;
mod field;
mod spec;
mod types;
mod variant;

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::quote;
use spec::{Source, Spec};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Item, Token, bracketed};

/// Builds types from those of the core, whose crates export them by `stepwell_definitions::Definition`:
///
/// ```text
/// mirror! {
///     #[derive(Clone, uniffi::Enum)]
///     #[mirror(stepwell_core::run::Name, both)]
///     pub enum Name {
///         Variant { added: String = words.to_string() },
///     }
/// }
/// ```
///
/// All attributes but `mirror` are those of the type. `mirror` has the path of the core's type, beginning with the
/// type's crate, and:
///
/// - `own`: the crate exports no definition: the macro defines the fields, with the types of the core's;
/// - `both`: the type converts into the core's, too;
/// - `default`: the default is the core's;
/// - `flatten`: the fields of each variant's only value become the variant's own;
/// - `rename_all = "SCREAMING_SNAKE_CASE"`: the names of the variants in JSON;
/// - `first(…)`, `last(…)`: variants or fields that come first or last;
/// - `with(name: Type = "documentation")`: fields of all variants, which the conversion, `from_core`, takes as
///   arguments;
/// - `each(#[attribute])`: attributes of all variants.
///
/// A second `mirror` adds the variants of another type. The braces hold the differences:
///
/// - `/// …`, `#[…]` before a name: other documentation, more attributes;
/// - `name: Type = expression`: a field that has another type, or is new and follows the field before; the expression
///   has the core's fields by name, and the only value of a variant as `payload`; `=> expression` is the value in the
///   core, with the fields of this type by name;
/// - `name?`: a field that may be absent, which means the core's default;
/// - `Name as Other`: another name for a variant;
/// - `..Name`: a variant with the fields of its only value;
/// - `- name`: a field or a variant that is left out; `=> expression`: the value of such a variant here, or of such a
///   field in the core;
/// - `+ Name { name: Type }`: a new variant, with all its fields; `=> expression`: its value in the core;
/// - `+ name: Type = expression`: in a definition of the macro's own, a field that the core does not have.
#[proc_macro]
pub fn mirror(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let specs = |input: ParseStream<'_>| {
        let mut steps = TokenStream::new();
        while !input.is_empty() {
            let item = item(input)?;
            steps.extend(step(&State {
                definitions: Vec::new(),
                item,
            })?);
        }
        Ok(steps)
    };
    finish(syn::parse::Parser::parse(specs, tokens))
}

/// Continues with one more definition.
#[doc(hidden)]
#[proc_macro]
pub fn reflect(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    finish(syn::parse(tokens).and_then(|state| step(&state)))
}

fn finish(made: syn::Result<TokenStream>) -> proc_macro::TokenStream {
    made.unwrap_or_else(|error| error.into_compile_error())
        .into()
}

/// The definitions so far, and the item to build from them.
struct State {
    definitions: Vec<TokenStream>,
    item: TokenStream,
}

impl Parse for State {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let newest: Group = input.parse()?;
        let earlier;
        bracketed!(earlier in input);
        let mut definitions = vec![newest.stream()];
        while !earlier.is_empty() {
            definitions.push(earlier.parse::<Group>()?.stream());
        }
        Ok(Self {
            definitions,
            item: input.parse()?,
        })
    }
}

/// Asks for the next definition that is missing, or builds the item.
fn step(state: &State) -> syn::Result<TokenStream> {
    let definitions = state.definitions.iter().cloned();
    let known = definitions
        .map(|definition| syn::parse2::<Item>(at_call_site(definition)))
        .collect::<syn::Result<Vec<_>>>()?;
    let spec: Spec = syn::parse2(at_call_site(state.item.clone()))?;
    let exported = spec.sources.iter().filter(|source| !source.own);
    for Source { path, .. } in exported {
        let Some(definition) = build::named(&known, path) else {
            return Ok(ask(path, state));
        };
        for payload in variant::payloads(&spec, path, definition) {
            if build::named(&known, &payload).is_none() {
                return Ok(ask(&payload, state));
            }
        }
    }
    build::build(&spec, &known)
}

fn ask(path: &syn::Path, State { definitions, item }: &State) -> TokenStream {
    let (Some(from), Some(name)) = (path.segments.first(), path.segments.last()) else {
        return TokenStream::new();
    };
    let (from, exported) = (&from.ident, quote::format_ident!("define_{}", name.ident));
    quote! { #from::#exported! { stepwell_mirror::reflect! { [ #({ #definitions })* ] #item } } }
}

/// Returns the tokens of one item: all up to the end of its body.
fn item(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let attributes = input.call(Attribute::parse_outer)?;
    let mut rest = TokenStream::new();
    loop {
        let token: TokenTree = input.parse()?;
        let is_end = matches!(&token, TokenTree::Group(group) if group.delimiter() == proc_macro2::Delimiter::Brace)
            || matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ';');
        rest.extend([token]);
        if is_end {
            let _: Option<Token![;]> = input.parse()?;
            return Ok(quote! { #(#attributes)* #rest });
        }
    }
}

/// Makes names of both sides mean the same, wherever they come from.
fn at_call_site(tokens: TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            let span = token.span().resolved_at(Span::call_site());
            if let TokenTree::Group(group) = &mut token {
                *group = Group::new(group.delimiter(), at_call_site(group.stream()));
            }
            token.set_span(span);
            token
        })
        .collect()
}
