//! The options in the brackets of `#[tool(…)]`.

use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Ident, LitStr, Path, Token, parse_quote};

/// The options of a tool.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) requires_approval: bool,
    pub(crate) idempotent: bool,
    pub(crate) repeatable: bool,
    pub(crate) timeout: Option<Expr>,
    pub(crate) label: Option<Expr>,
    /// The path of `stepwell-io`, if not under its own name.
    pub(crate) library: Option<LitStr>,
}

const NAMES: &str =
    "`name`, `requires_approval`, `idempotent`, `repeatable`, `timeout`, `label` and `crate`";

impl Options {
    /// The path of `stepwell-io`.
    pub(crate) fn library(&self) -> syn::Result<Path> {
        match &self.library {
            Some(path) => path.parse_with(Path::parse_mod_style),
            None => Ok(parse_quote!(::stepwell_io)),
        }
    }
}

/// `name`, or `name = value`.
struct Setting {
    name: Ident,
    value: Option<Expr>,
}

impl Parse for Setting {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        // One of the names is a keyword.
        let name = input.call(Ident::parse_any)?;
        let equals: Option<Token![=]> = input.parse()?;
        let value = equals.map(|_| input.parse()).transpose()?;
        Ok(Self { name, value })
    }
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        let mut seen = Vec::new();
        for setting in Punctuated::<Setting, Token![,]>::parse_terminated(input)? {
            let name = setting.name.to_string();
            if seen.contains(&name) {
                let message = format!("`{name}` is said twice");
                return Err(Error::new(setting.name.span(), message));
            }
            match name.as_str() {
                "name" => options.name = Some(setting.text("\"get_weather\"")?),
                "requires_approval" => options.requires_approval = setting.flag()?,
                "idempotent" => options.idempotent = setting.flag()?,
                "repeatable" => options.repeatable = setting.flag()?,
                "timeout" => options.timeout = Some(setting.value("Duration::from_secs(10)")?),
                "crate" => options.library = Some(setting.text("\"llm\"")?),
                "label" => options.label = Some(setting.value("|arguments| …")?),
                _ => {
                    let message = format!("a tool has no option `{name}`: there are {NAMES}");
                    return Err(Error::new(setting.name.span(), message));
                }
            }
            seen.push(name);
        }
        Ok(options)
    }
}

impl Setting {
    fn flag(&self) -> syn::Result<bool> {
        match &self.value {
            None => Ok(true),
            Some(value) => {
                let message = format!("`{}` stands alone, or is left out", self.name);
                Err(Error::new_spanned(value, message))
            }
        }
    }

    fn value(self, example: &str) -> syn::Result<Expr> {
        let Self { name, value } = self;
        value.ok_or_else(|| {
            let message = format!("`{name}` has a value: `{name} = {example}`");
            Error::new(name.span(), message)
        })
    }

    fn text(self, example: &str) -> syn::Result<LitStr> {
        let name = self.name.clone();
        let value = self.value(example)?;
        syn::parse2(quote::ToTokens::to_token_stream(&value)).map_err(|_| {
            let message = format!("`{name}` is a string in quotes: `{name} = {example}`");
            Error::new_spanned(&value, message)
        })
    }
}
