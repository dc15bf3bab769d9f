//! Uniffi's macros by name, which leave the code as it is. `stepwell-ffi` takes them for uniffi where its definitions
//! are wanted alone, so that these need no attribute twice.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

/// For records.
#[proc_macro_derive(Record, attributes(uniffi))]
pub fn record(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// For enums.
#[proc_macro_derive(Enum, attributes(uniffi))]
pub fn enumeration(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// For objects.
#[proc_macro_derive(Object, attributes(uniffi))]
pub fn object(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// For errors.
#[proc_macro_derive(Error, attributes(uniffi))]
pub fn error(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// For what makes objects.
#[proc_macro_attribute]
pub fn constructor(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// For what other languages can call.
#[proc_macro_attribute]
pub fn export(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
