//! Enums that list their values, and give names to them, where they are declared.

/// Declares an enum with `ALL`, its values in the order of their declaration. Where each has a name, behind `=`, there is also
/// `name`, and `named`, which finds a value by its name.
///
/// ```
/// haltere_net::named! {
///     /// The ways of a link.
///     #[derive(Clone, Copy, PartialEq, Debug)]
///     pub enum Heading {
///         /// To the user.
///         Down = "down",
///         /// From the user.
///         Up = "up",
///     }
/// }
/// assert_eq!(Heading::ALL.map(Heading::name), ["down", "up"]);
/// assert_eq!((Heading::named("up"), Heading::named("left")), (Some(Heading::Up), None));
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* $seen:vis enum $Named:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $crate::named! { $(#[$about])* $seen enum $Named { $($(#[$doc])* $variant,)* } }

        impl $Named {
            /// Its name.
            #[must_use]
            $seen const fn name(self) -> &'static str {
                match self {
                    $($Named::$variant => $name,)*
                }
            }

            /// The value of this name.
            #[must_use]
            #[allow(dead_code, reason = "not every enum is read")]
            $seen fn named(name: &str) -> Option<$Named> {
                $Named::ALL.into_iter().find(|value| value.name() == name)
            }
        }
    };
    ($(#[$about:meta])* $seen:vis enum $Named:ident { $($(#[$doc:meta])* $variant:ident,)* }) => {
        $(#[$about])*
        $seen enum $Named {
            $($(#[$doc])* $variant,)*
        }

        impl $Named {
            /// All values, in the order of their declaration.
            $seen const ALL: [$Named; [$(stringify!($variant)),*].len()] = [$($Named::$variant),*];
        }
    };
}
