//! `#[tool]`, for `stepwell-io`, which exports it.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod expand;
mod function;
mod options;

use function::Function;
use options::Options;
use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemFn, parse_macro_input};

// Its example is run in stepwell-io: here, it would need a second stepwell-io to be compiled on.
#[cfg_attr(not(doctest), doc = include_str!("tool.md"))]
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    let mut item = parse_macro_input!(function as ItemFn);
    let read = Function::read(&mut item);
    let options = syn::parse::<Options>(options);
    let made = match (read, options) {
        (Ok(function), Ok(options)) => expand::tool(&item, &function, &options),
        (Err(mut errors), Err(of_options)) => {
            errors.combine(of_options);
            Err(errors)
        }
        (Err(errors), Ok(_)) | (Ok(_), Err(errors)) => Err(errors),
    };
    let made = made.unwrap_or_else(|errors| errors.to_compile_error());
    // The function is there in any case: code that calls it is not to blame.
    quote!(#item #made).into()
}
