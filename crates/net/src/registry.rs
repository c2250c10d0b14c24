//! Registries: what a scenario chooses by name, such as a queue discipline or a congestion control.
//!
//! An implementation is an [`Entry`]: plain data that states its [`Description`] and how it is built. A [`Handle`] to it is
//! what configurations hold. A [`Registry`] is a list of handles, in which parsers look names up. The default registry of a
//! kind holds the entries that come with this project; [`Registry::with`] adds others, which need no change here.

use crate::nearest::meant;
use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// The name, summary and reference of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Description {
    /// The name by which scenarios choose it, unique among its kind.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// Where it is specified.
    pub reference: &'static str,
}

/// An implementation that scenarios choose by name.
pub trait Entry: Sync + Sized + 'static {
    /// The word for an entry of this kind, in the singular.
    const KIND: &'static str;
    /// The entries that come with this project.
    const BUILT_IN: &'static [Handle<Self>];

    /// Its name, summary and reference.
    fn description(&self) -> &Description;
}

/// A reference to an entry, as cheap to copy as a number. Two handles are equal if their entries have the same name.
pub struct Handle<E: 'static>(pub &'static E);

impl<E: Entry> Handle<E> {
    /// The entries that come with this project.
    pub const ALL: &'static [Handle<E>] = E::BUILT_IN;

    /// Its name, summary and reference.
    pub fn describe(self) -> Description {
        *self.0.description()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.description().name
    }

    /// The built-in entry called `name`.
    pub fn named(name: &str) -> Option<Handle<E>> {
        Registry::default().find(name)
    }
}

impl<E: 'static> Clone for Handle<E> {
    fn clone(&self) -> Handle<E> {
        *self
    }
}

impl<E: 'static> Copy for Handle<E> {}

impl<E: 'static> Deref for Handle<E> {
    type Target = E;
    fn deref(&self) -> &E {
        self.0
    }
}

impl<E: Entry> PartialEq for Handle<E> {
    fn eq(&self, other: &Handle<E>) -> bool {
        self.name() == other.name()
    }
}

impl<E: Entry> Eq for Handle<E> {}

impl<E: Entry> Hash for Handle<E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl<E: Entry> fmt::Debug for Handle<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The entries of a kind among which parsers look names up.
#[derive(Clone, Debug)]
pub struct Registry<E: Entry>(Cow<'static, [Handle<E>]>);

impl<E: Entry> Default for Registry<E> {
    /// The entries that come with this project.
    fn default() -> Registry<E> {
        Registry(Cow::Borrowed(E::BUILT_IN))
    }
}

impl<E: Entry> Registry<E> {
    /// The registry with one entry more.
    ///
    /// # Errors
    ///
    /// If another entry has the name.
    pub fn with(mut self, entry: &'static E) -> Result<Registry<E>, String> {
        let name = entry.description().name;
        match self.find(name) {
            Some(_) => Err(format!("there is a {} called {name:?} already: register it under another name", E::KIND)),
            None => {
                self.0.to_mut().push(Handle(entry));
                Ok(self)
            }
        }
    }

    /// The entry called `name`.
    pub fn find(&self, name: &str) -> Option<Handle<E>> {
        self.0.iter().copied().find(|entry| entry.name() == name)
    }

    /// The entry called `name`.
    ///
    /// # Errors
    ///
    /// If there is none; the error says which was meant, and lists the names.
    pub fn named(&self, name: &str) -> Result<Handle<E>, String> {
        self.find(name).ok_or_else(|| format!("unknown {} {name:?}: {}", E::KIND, self.known(name)))
    }

    /// The names for an error about an unknown one, the one that was meant first.
    pub fn known(&self, name: &str) -> String {
        format!("{}there are {}", meant(name, self.iter().map(Handle::name)), self.names())
    }

    /// All entries, in the order in which they are listed.
    pub fn iter(&self) -> impl Iterator<Item = Handle<E>> + '_ {
        self.0.iter().copied()
    }

    /// The names of all entries, with commas between them.
    pub fn names(&self) -> String {
        self.iter().map(Handle::name).collect::<Vec<_>>().join(", ")
    }
}

/// Declares the built-in entries of a kind: for each its module, which has an `ENTRY` of the type, and the constant that
/// stands for it.
#[macro_export]
macro_rules! built_in {
    ($entry:ty: $kind:literal; $($(#[$doc:meta])* $constant:ident = $module:ident,)*) => {
        $(
            mod $module;
            $(#[$doc])*
            pub const $constant: $crate::registry::Handle<$entry> = $crate::registry::Handle(&$module::ENTRY);
        )*

        impl $crate::registry::Entry for $entry {
            const KIND: &'static str = $kind;
            const BUILT_IN: &'static [$crate::registry::Handle<$entry>] = &[$($constant),*];

            fn description(&self) -> &$crate::registry::Description {
                &self.description
            }
        }
    };
}
