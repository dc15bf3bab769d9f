//! Tells a program which libraries it is compiled with, so that it can compile others with the same ones.

use proc_macro::{Literal, TokenStream, TokenTree};
use std::env;

/// Expands to a string: the arguments that name the libraries of the crate that is being compiled, one argument a line.
///
/// A macro runs inside the compiler, whose arguments it can read. Any search for the libraries from outside would have to
/// guess: a target directory has several builds of a library, with other features or from other sources.
#[proc_macro]
pub fn library_arguments(_: TokenStream) -> TokenStream {
    let arguments: Vec<_> = env::args().collect();
    let pairs = arguments.windows(2);
    let named = pairs.filter(|pair| matches!(pair[0].as_str(), "-L" | "--extern"));
    let lines = named.flatten().map(String::as_str).collect::<Vec<_>>();
    TokenTree::from(Literal::string(&lines.join("\n"))).into()
}
