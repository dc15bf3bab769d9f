//! Builds the type itself, with its conversions.

use crate::convert;
use crate::doc::{docs, has_docs};
use crate::field::{self, Field};
use crate::spec::{EntryKind, Source, Spec};
use crate::variant::{Variant, variant_of};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Ident, Item, Path};

/// Returns the definition of this name.
pub(crate) fn named<'a>(known: &'a [Item], path: &Path) -> Option<&'a Item> {
    let last = &path.segments.last()?.ident;
    known.iter().find(|item| match item {
        Item::Struct(item) => item.ident == *last,
        Item::Enum(item) => item.ident == *last,
        _ => false,
    })
}

/// Builds the type and its conversions.
pub(crate) fn build(spec: &Spec, known: &[Item]) -> syn::Result<TokenStream> {
    let Some(source) = spec.sources.first() else {
        return Err(syn::Error::new(
            spec.name.span(),
            "`#[mirror(path::to::Type)]` is missing",
        ));
    };
    let made = match named(known, &source.path) {
        _ if source.own => {
            let core = spec
                .entries
                .iter()
                .filter(|entry| entry.kind != EntryKind::Add);
            let core: Vec<_> = core.map(|entry| &entry.names[0]).collect();
            structure(spec, source, &[], &core, field::own(spec)?)
        }
        Some(Item::Struct(definition)) if !spec.is_enum => {
            let made = field::fields(spec, &definition.fields, &spec.entries, true)?;
            let core = definition.fields.iter();
            let core: Vec<_> = core.filter_map(|field| field.ident.as_ref()).collect();
            structure(spec, source, &definition.attrs, &core, made)
        }
        Some(Item::Enum(_)) if spec.is_enum => enumeration(spec, known)?,
        _ => {
            let error = "the core has no such definition";
            return Err(syn::Error::new(spec.name.span(), error));
        }
    };
    let default = source.default.then(|| {
        let (name, path) = (&spec.name, &source.path);
        quote! {
            impl Default for #name {
                fn default() -> Self {
                    #path::default().into()
                }
            }
        }
    });
    Ok(quote! { #made #default })
}

fn structure(
    spec: &Spec,
    source: &Source,
    attributes: &[Attribute],
    core: &[&Ident],
    mut made: Vec<Field>,
) -> TokenStream {
    sort(&mut made, source, |field| &field.name);
    let head = head(spec, attributes);
    let (visibility, name) = (&spec.visibility, &spec.name);
    let declared = made.iter().map(
        |Field {
             name,
             attributes,
             ty,
             ..
         }| {
            quote! { #(#attributes)* #visibility #name: #ty }
        },
    );
    let conversions = convert::structure(spec, source, core, &made);
    quote! {
        #head
        #visibility struct #name { #(#declared,)* }
        #conversions
    }
}

fn enumeration(spec: &Spec, known: &[Item]) -> syn::Result<TokenStream> {
    let mut variants = Vec::new();
    let mut conversions = TokenStream::new();
    let mut attributes = None;
    for source in &spec.sources {
        let Some(Item::Enum(definition)) = named(known, &source.path) else {
            return Err(syn::Error::new_spanned(&source.path, "no enum"));
        };
        let mut arms = Vec::new();
        for variant in &definition.variants {
            let (made, arm) = variant_of(spec, source, known, definition, variant)?;
            variants.extend(made);
            arms.extend(arm);
        }
        attributes.get_or_insert(&definition.attrs);
        conversions.extend(convert::enumeration(spec, source, &arms));
    }
    for entry in spec
        .entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Add)
    {
        variants.push(Variant {
            name: entry.names[0].clone(),
            attributes: entry.attributes.clone(),
            fields: field::added(spec, entry)?,
        });
    }
    let source = &spec.sources[0];
    sort(&mut variants, source, |variant| &variant.name);
    let head = head(spec, attributes.map_or(&[], |attributes| attributes));
    let (visibility, name) = (&spec.visibility, &spec.name);
    let declared = variants.iter().map(Variant::declared);
    Ok(quote! {
        #head
        #visibility enum #name { #(#declared,)* }
        #conversions
    })
}

/// Returns the attributes of the type.
fn head(spec: &Spec, core: &[Attribute]) -> TokenStream {
    let docs = match has_docs(&spec.attributes) {
        true => Vec::new(),
        false => docs(core),
    };
    let attributes = &spec.attributes;
    quote! { #(#docs)* #(#attributes)* }
}

/// Moves the names of `first` and `last` to their places.
fn sort<T>(made: &mut [T], source: &Source, name: impl Fn(&T) -> &Ident) {
    made.sort_by_key(|one| {
        let name = name(one);
        let place = |names: &[Ident]| names.iter().position(|one| one == name);
        match (place(&source.first), place(&source.last)) {
            (Some(first), _) => (0, first),
            (None, None) => (1, 0),
            (None, Some(last)) => (2, last),
        }
    });
}
