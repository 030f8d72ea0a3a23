//! Enumerations whose variants are known by name, on the command line and elsewhere.

/// The names of an enumeration's variants, and the variant of a name.
macro_rules! names {
    ($kind:ident, $count:literal: $($variant:ident = $name:literal),*) => {
        impl $kind {
            /// All of them.
            pub const ALL: [$kind; $count] = [$($kind::$variant),*];

            /// The name that it is parsed from.
            pub fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $name),*
                }
            }
        }

        impl std::str::FromStr for $kind {
            type Err = String;

            fn from_str(name: &str) -> Result<$kind, String> {
                let known = $kind::ALL.into_iter().find(|kind| kind.name() == name);
                let names = [$($name),*].join(", ");
                known.ok_or_else(|| format!("expected one of {names}, found `{name}`"))
            }
        }
    };
}

pub(crate) use names;
