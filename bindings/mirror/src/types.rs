//! How the core's types are spelled in the bindings, and converted.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::Parser;
use syn::{GenericArgument, Ident, PathArguments, Type};

/// A type as both sides see it.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// The same on both sides.
    Plain(Box<Type>),
    /// A name in the core; a text here.
    Id,
    /// Another text type in the core; a text here.
    Text,
    /// Any JSON, or a value that is written as JSON.
    Json(Form),
    /// An amount of money in the core; US dollars here.
    Usd,
    /// A number of bytes.
    Size,
    /// A length of time, in milliseconds in the core.
    Millis,
    /// A type that the bindings mirror, under this name.
    Mirrored(Ident),
    Option(Box<Self>),
    Vec(Box<Self>),
    Box(Box<Self>),
}

/// The form of JSON. The documentation states it, and some languages have a type for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Any,
    Object,
    Array,
}

impl Kind {
    /// Returns the kind of a field of the core.
    pub(crate) fn of_field(name: &Ident, ty: &Type) -> syn::Result<Self> {
        match (Self::of(ty)?, name.to_string().ends_with("_ms")) {
            (Self::Plain(_), true) => Ok(Self::Millis),
            (kind, _) => Ok(kind),
        }
    }

    fn of(ty: &Type) -> syn::Result<Self> {
        let path = match ty {
            Type::Group(group) => return Self::of(&group.elem),
            Type::Paren(group) => return Self::of(&group.elem),
            // The form of a field in the table of AG-UI's events.
            Type::Macro(table) => return Self::of_presence(table.mac.tokens.clone()),
            Type::Path(path) => &path.path,
            Type::Reference(_) => return Ok(Self::Text),
            _ => {
                return Err(syn::Error::new_spanned(
                    ty,
                    "a mirror cannot have this type",
                ));
            }
        };
        let Some(last) = path.segments.last() else {
            return Err(syn::Error::new_spanned(ty, "no type"));
        };
        let inner = || match &last.arguments {
            PathArguments::AngleBracketed(of) => match of.args.first() {
                Some(GenericArgument::Type(inner)) => Self::of(inner).map(Box::new),
                _ => Err(syn::Error::new_spanned(ty, "no type inside")),
            },
            _ => Err(syn::Error::new_spanned(ty, "no type inside")),
        };
        Ok(match last.ident.to_string().as_str() {
            "bool" | "u16" | "u32" | "u64" | "i64" | "f64" | "String" => {
                Self::Plain(Box::new(ty.clone()))
            }
            "usize" => Self::Size,
            "ThreadId" | "RunId" | "MessageId" | "ToolCallId" | "AnswerText" | "CompactString" => {
                Self::Id
            }
            "EffectId" => Self::Text,
            "Value" | "MessageContent" => Self::Json(Form::Any),
            "Metadata" | "Message" | "BlockContent" | "SubagentOutcome" | "TurnHistory" => {
                Self::Json(Form::Object)
            }
            "Usd" => Self::Usd,
            "Option" => Self::Option(inner()?),
            "Box" | "Arc" => Self::Box(inner()?),
            "Vec" => match *inner()? {
                Self::Json(_) => Self::Json(Form::Array),
                kind => Self::Vec(Box::new(kind)),
            },
            "Common" => Self::Mirrored(format_ident!("EventCommon")),
            "OwnedChange" => Self::Mirrored(format_ident!("ArgumentsChange")),
            _ => Self::Mirrored(last.ident.clone()),
        })
    }

    /// Parses `@type PRESENCE TYPE`.
    fn of_presence(tokens: TokenStream) -> syn::Result<Self> {
        let (presence, ty) = (|input: syn::parse::ParseStream<'_>| {
            input.parse::<syn::Token![@]>()?;
            input.parse::<syn::Token![type]>()?;
            Ok((input.parse::<Ident>()?, input.parse::<Type>()?))
        })
        .parse2(tokens)?;
        let kind = Self::of(&ty)?;
        Ok(match presence.to_string().as_str() {
            "optional" | "json" => Self::Option(Box::new(kind)),
            _ => kind,
        })
    }

    /// Returns the type here.
    pub(crate) fn here(&self) -> TokenStream {
        match self {
            Self::Plain(ty) => quote! { #ty },
            Self::Id | Self::Text => quote! { String },
            Self::Json(_) => quote! { JsonValue },
            Self::Usd => quote! { f64 },
            Self::Size => quote! { u64 },
            Self::Millis => quote! { Duration },
            Self::Mirrored(name) => quote! { #name },
            Self::Option(inner) => {
                let inner = inner.here();
                quote! { Option<#inner> }
            }
            Self::Vec(inner) => {
                let inner = inner.here();
                quote! { Vec<#inner> }
            }
            Self::Box(inner) => inner.here(),
        }
    }

    /// Converts a value of the core to one of here.
    pub(crate) fn value_here(&self, value: &TokenStream) -> TokenStream {
        match self {
            Self::Plain(_) => value.clone(),
            Self::Id => quote! { #value.into_string() },
            Self::Text => quote! { #value.to_string() },
            Self::Json(_) => quote! { JsonValue::of(&#value) },
            Self::Usd => quote! { #value.dollars() },
            Self::Size => quote! { u64::try_from(#value).unwrap_or(u64::MAX) },
            Self::Millis => quote! { Duration::from_millis(#value) },
            Self::Mirrored(_) => quote! { #value.into() },
            Self::Box(inner) => inner.value_here(&quote! { (*#value) }),
            Self::Option(inner) | Self::Vec(inner) if inner.is_plain() => value.clone(),
            Self::Option(inner) => {
                let inner = inner.value_here(&quote! { value });
                quote! { #value.map(|value| #inner) }
            }
            Self::Vec(inner) => {
                let inner = inner.value_here(&quote! { value });
                quote! { #value.into_iter().map(|value| #inner).collect() }
            }
        }
    }

    /// Converts a value of here to one of the core.
    pub(crate) fn value_in_core(&self, value: &TokenStream) -> TokenStream {
        match self {
            Self::Plain(_) => value.clone(),
            Self::Id | Self::Text | Self::Mirrored(_) => quote! { #value.into() },
            // JSON has no conversion: the text may be malformed, or not what the core expects.
            Self::Json(_) => quote! { compile_error!("give the value: JSON may be malformed") },
            // A value from the core is always a valid amount.
            Self::Usd => quote! { ::stepwell_core::Usd::from_dollars(#value).unwrap_or_default() },
            Self::Size => quote! { usize::try_from(#value).unwrap_or(usize::MAX) },
            Self::Millis => quote! { #value.as_millis() },
            Self::Box(inner) => {
                let inner = inner.value_in_core(value);
                quote! { Box::new(#inner) }
            }
            Self::Option(inner) | Self::Vec(inner) if inner.is_plain() => value.clone(),
            Self::Option(inner) => {
                let inner = inner.value_in_core(&quote! { value });
                quote! { #value.map(|value| #inner) }
            }
            Self::Vec(inner) => {
                let inner = inner.value_in_core(&quote! { value });
                quote! { #value.into_iter().map(|value| #inner).collect() }
            }
        }
    }

    /// Returns the form of JSON, if the kind is JSON.
    pub(crate) fn form(&self) -> Option<Form> {
        match self {
            Self::Json(form) => Some(*form),
            Self::Option(inner) | Self::Box(inner) => inner.form(),
            _ => None,
        }
    }

    fn is_plain(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Option(inner) | Self::Vec(inner) => inner.is_plain(),
            _ => false,
        }
    }
}
