//! Parses an invocation of `mirror!`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Ident, LitStr, Path, Token, Type, Visibility, braced, parenthesized};

/// A type to build.
pub(crate) struct Spec {
    /// The attributes of the type.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) sources: Vec<Source>,
    pub(crate) visibility: Visibility,
    pub(crate) is_enum: bool,
    pub(crate) name: Ident,
    pub(crate) entries: Vec<Entry>,
}

/// A type of the core, by `#[mirror(…)]`.
pub(crate) struct Source {
    pub(crate) path: Path,
    /// Whether the macro itself defines the fields.
    pub(crate) own: bool,
    pub(crate) both: bool,
    pub(crate) default: bool,
    pub(crate) flatten: bool,
    pub(crate) rename_all: Option<LitStr>,
    pub(crate) first: Vec<Ident>,
    pub(crate) last: Vec<Ident>,
    pub(crate) with: Vec<With>,
    /// Attributes of all variants.
    pub(crate) each: Vec<Attribute>,
}

/// A field of all variants.
pub(crate) struct With {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) doc: LitStr,
}

/// An entry for a field or a variant.
pub(crate) struct Entry {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) kind: EntryKind,
    pub(crate) names: Vec<Ident>,
    pub(crate) renamed: Option<Ident>,
    /// Whether the entry is marked with `?`.
    pub(crate) optional: bool,
    pub(crate) ty: Option<Type>,
    /// The value of a field.
    pub(crate) value: Option<Expr>,
    /// The value on the other side: of a field or a new variant in the core, of a variant that is left out here.
    pub(crate) back: Option<Expr>,
    pub(crate) fields: Vec<Self>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Change,
    Add,
    Omit,
    Flatten,
}

impl Spec {
    /// Returns whether the type is read from or written as JSON.
    pub(crate) fn has_serde(&self) -> bool {
        self.derives("Serialize") || self.derives("Deserialize")
    }

    pub(crate) fn derives(&self, what: &str) -> bool {
        let derives = self
            .attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("derive"));
        derives
            .flat_map(|attribute| attribute.meta.to_token_stream())
            .any(|token| has_word(token.into(), what))
    }
}

/// Returns whether a name is among the tokens.
pub(crate) fn has_word(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Group(group) => has_word(group.stream(), word),
        proc_macro2::TokenTree::Ident(name) => name == word,
        _ => false,
    })
}

impl Parse for Spec {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (sources, attributes): (Vec<_>, Vec<_>) = input
            .call(Attribute::parse_outer)?
            .into_iter()
            .partition(|attribute| attribute.path().is_ident("mirror"));
        let sources = sources.iter().map(Attribute::parse_args);
        let sources = sources.collect::<syn::Result<_>>()?;
        let visibility = input.parse()?;
        let is_enum = input.parse::<Option<Token![enum]>>()?.is_some();
        if !is_enum {
            input.parse::<Token![struct]>()?;
        }
        let name = input.parse()?;
        let entries = match input.parse::<Option<Token![;]>>()? {
            Some(_) => Vec::new(),
            None => entries(input)?,
        };
        Ok(Self {
            attributes,
            sources,
            visibility,
            is_enum,
            name,
            entries,
        })
    }
}

impl Parse for Source {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut source = Self {
            path: input.parse()?,
            own: false,
            both: false,
            default: false,
            flatten: false,
            rename_all: None,
            first: Vec::new(),
            last: Vec::new(),
            with: Vec::new(),
            each: Vec::new(),
        };
        while input.parse::<Option<Token![,]>>()?.is_some() {
            let option: Ident = input.call(syn::ext::IdentExt::parse_any)?;
            match option.to_string().as_str() {
                "own" => source.own = true,
                "both" => source.both = true,
                "default" => source.default = true,
                "flatten" => source.flatten = true,
                "rename_all" => {
                    input.parse::<Token![=]>()?;
                    source.rename_all = Some(input.parse()?);
                }
                "first" => source.first = names(input)?,
                "last" => source.last = names(input)?,
                "with" => {
                    let inner;
                    parenthesized!(inner in input);
                    let with = Punctuated::<With, Token![,]>::parse_terminated(&inner)?;
                    source.with = with.into_iter().collect();
                }
                "each" => {
                    let inner;
                    parenthesized!(inner in input);
                    source.each = inner.call(Attribute::parse_outer)?;
                }
                _ => return Err(syn::Error::new(option.span(), "no option of a mirror")),
            }
        }
        Ok(source)
    }
}

impl Parse for With {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let ty = input.parse()?;
        input.parse::<Token![=]>()?;
        let doc = input.parse()?;
        Ok(Self { name, ty, doc })
    }
}

fn names(input: ParseStream<'_>) -> syn::Result<Vec<Ident>> {
    let inner;
    parenthesized!(inner in input);
    let names = Punctuated::<Ident, Token![,]>::parse_terminated(&inner)?;
    Ok(names.into_iter().collect())
}

fn entries(input: ParseStream<'_>) -> syn::Result<Vec<Entry>> {
    let inner;
    braced!(inner in input);
    let entries = Punctuated::<Entry, Token![,]>::parse_terminated(&inner)?;
    Ok(entries.into_iter().collect())
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let kind = if input.parse::<Option<Token![-]>>()?.is_some() {
            EntryKind::Omit
        } else if input.parse::<Option<Token![+]>>()?.is_some() {
            EntryKind::Add
        } else if input.parse::<Option<Token![..]>>()?.is_some() {
            EntryKind::Flatten
        } else {
            EntryKind::Change
        };
        let names = Punctuated::<Ident, Token![|]>::parse_separated_nonempty(input)?;
        let renamed = match input.parse::<Option<Token![as]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        let optional = input.parse::<Option<Token![?]>>()?.is_some();
        let ty = match input.parse::<Option<Token![:]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        let fields = match input.peek(syn::token::Brace) {
            true => entries(input)?,
            false => Vec::new(),
        };
        // `=>` begins with `=`.
        let is_given = !input.peek(Token![=>]) && input.parse::<Option<Token![=]>>()?.is_some();
        let value = match is_given {
            true => Some(input.parse()?),
            false => None,
        };
        let back = match input.parse::<Option<Token![=>]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        Ok(Self {
            attributes,
            kind,
            names: names.into_iter().collect(),
            renamed,
            optional,
            ty,
            value,
            back,
            fields,
        })
    }
}
