//! The conversions between a type and the core's.

use crate::field::Field;
use crate::spec::{Entry, EntryKind, Source, Spec, With};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Fields, Ident};

/// The conversions of one variant, or of several that are left out.
pub(crate) struct Arm {
    from: TokenStream,
    into: Option<TokenStream>,
}

impl Arm {
    /// Converts a variant that both sides have.
    pub(crate) fn new(
        spec: &Spec,
        source: &Source,
        core: &syn::Variant,
        core_fields: &Fields,
        is_flat: bool,
        name: &Ident,
        fields: &[Field],
    ) -> Self {
        let (path, variant) = (&source.path, &core.ident);
        let here = &spec.name;
        let names = core_fields.iter().filter_map(|field| field.ident.as_ref());
        let opened = match is_flat {
            true => quote! { #(let #names = payload.#names;)* },
            false => TokenStream::new(),
        };
        let pattern = pattern(core);
        let made = made(&quote! { #here::#name }, fields);
        let back = fields.iter().filter_map(|field| field.back.as_ref());
        let into = match (&core.fields, is_flat) {
            (_, true) => None,
            (Fields::Unit, _) => Some(quote! { #here::#name { .. } => #path::#variant }),
            (Fields::Unnamed(_), _) => fields.first().and_then(|field| {
                let (_, back) = field.back.as_ref()?;
                let field = &field.name;
                Some(quote! { #here::#name { #field } => #path::#variant(#back) })
            }),
            (Fields::Named(_), _) => {
                let names = fields.iter().filter(|field| field.back.is_some());
                let names = names.map(|field| &field.name);
                let back = back.map(|(core, value)| quote! { #core: #value });
                Some(quote! { #here::#name { #(#names,)* .. } => #path::#variant { #(#back,)* } })
            }
        };
        Self {
            from: quote! { #path::#pattern => { #opened #made } },
            into,
        }
    }

    /// Converts variants of the core that the type does not have.
    pub(crate) fn omitted(source: &Source, entry: &Entry, core: &syn::Variant) -> Option<Self> {
        let (path, value) = (&source.path, entry.back.as_ref()?);
        let from = match entry.names.as_slice() {
            [_] => {
                let pattern = pattern(core);
                quote! { #path::#pattern => #value }
            }
            names => quote! { core @ (#(#path::#names { .. })|*) => #value },
        };
        Some(Self { from, into: None })
    }
}

/// Returns the pattern that binds the fields by name, or the only value as `payload`.
fn pattern(core: &syn::Variant) -> TokenStream {
    let variant = &core.ident;
    match &core.fields {
        Fields::Unit => quote! { #variant },
        Fields::Unnamed(_) => quote! { #variant(payload) },
        Fields::Named(fields) => {
            let names = fields.named.iter().filter_map(|field| field.ident.as_ref());
            quote! { #variant { #(#names,)* .. } }
        }
    }
}

/// Returns the value of the type. The macro's expressions are computed first: they may read fields that move later.
fn made(name: &TokenStream, fields: &[Field]) -> TokenStream {
    let given = fields.iter().filter(|field| field.is_given).map(|field| {
        let (name, value) = (format_ident!("made_{}", field.name), &field.value);
        quote! { let #name = #value; }
    });
    let values = fields.iter().map(|field| {
        let value = match field.is_given {
            true => format_ident!("made_{}", field.name).to_token_stream(),
            false => field.value.clone(),
        };
        let name = &field.name;
        quote! { #name: #value }
    });
    match fields {
        [] => name.clone(),
        _ => quote! { #(#given)* #name { #(#values,)* } },
    }
}

pub(crate) fn structure(
    spec: &Spec,
    source: &Source,
    names: &[&Ident],
    fields: &[Field],
) -> TokenStream {
    let (here, path) = (&spec.name, &source.path);
    let made = made(&here.to_token_stream(), fields);
    let into = source.both.then(|| {
        let names = fields.iter().map(|field| &field.name);
        let back = fields.iter().filter_map(|field| field.back.as_ref());
        let back = back.map(|(core, value)| quote! { #core: #value });
        let omitted = spec
            .entries
            .iter()
            .filter(|entry| entry.kind == EntryKind::Omit);
        let omitted = omitted.map(|Entry { names, back, .. }| {
            let name = &names[0];
            quote! { #name: #back }
        });
        quote! {
            impl From<#here> for #path {
                #[allow(unused_variables)]
                fn from(here: #here) -> Self {
                    let #here { #(#names,)* } = here;
                    Self { #(#back,)* #(#omitted,)* }
                }
            }
        }
    });
    quote! {
        impl From<#path> for #here {
            #[allow(unused_variables)]
            fn from(core: #path) -> Self {
                let #path { #(#names,)* .. } = core;
                #made
            }
        }
        #into
    }
}

pub(crate) fn enumeration(spec: &Spec, source: &Source, arms: &[Arm]) -> TokenStream {
    let (here, path) = (&spec.name, &source.path);
    let from = arms.iter().map(|arm| &arm.from);
    let from = quote! { match core { #(#from,)* } };
    let from = match source.with.is_empty() {
        true => quote! {
            impl From<#path> for #here {
                #[allow(unused_variables)]
                fn from(core: #path) -> Self {
                    #from
                }
            }
        },
        false => {
            let with = source
                .with
                .iter()
                .map(|With { name, ty, .. }| quote! { #name: #ty });
            quote! {
                impl #here {
                    #[allow(unused_variables)]
                    fn from_core(#(#with,)* core: #path) -> Self {
                        #from
                    }
                }
            }
        }
    };
    let into = source.both.then(|| {
        let arms = arms.iter().filter_map(|arm| arm.into.as_ref());
        let added = spec
            .entries
            .iter()
            .filter(|entry| entry.kind == EntryKind::Add);
        let added = added.map(|entry| {
            let (name, value) = (&entry.names[0], &entry.back);
            let fields = entry.fields.iter().map(|field| &field.names[0]);
            quote! { #here::#name { #(#fields,)* } => #value }
        });
        quote! {
            impl From<#here> for #path {
                fn from(here: #here) -> Self {
                    match here { #(#arms,)* #(#added,)* }
                }
            }
        }
    });
    quote! { #from #into }
}
