//! Enums that have the same variants here and in the core.

/// Converts between two enums of the same variants. A variant that is on one side only, or has different fields there,
/// does not compile.
macro_rules! same {
    ($here:ty = $core:ty { $( $variant:ident $( { $($field:ident),* } )? ),* $(,)? }) => {
        impl From<$core> for $here {
            fn from(core: $core) -> Self {
                type Core = $core;
                match core {
                    $( Core::$variant $( { $($field),* } )? => Self::$variant $( { $($field),* } )?, )*
                }
            }
        }

        impl From<$here> for $core {
            fn from(here: $here) -> Self {
                type Here = $here;
                match here {
                    $( Here::$variant $( { $($field),* } )? => Self::$variant $( { $($field),* } )?, )*
                }
            }
        }
    };
}

pub(crate) use same;
