//! Registries: what a scenario chooses by name, such as a queue discipline or a congestion control.
//!
//! An implementation is an [`Entry`]: plain data that states its [`Description`] and how it is built. A [`Handle`] to it is
//! what configurations hold. A [`Registry`] is a list of handles, in which parsers look names up. The default registry of a
//! kind holds the entries that come with this project; [`Registry::with`] adds others, which need no change here.
//!
//! Code of users that a program loads while it runs stands on the [`Shelf`] of its kind, under a name that ends in the digest of its
//! text: `./mine.py#3fa94c1b2d5e6f70`. Every registry finds it there. A shelf is the one state of a process that outlives a
//! run: what stands under a name never changes, so that a scenario means the same in any order of runs.

use crate::nearest::meant;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{OnceLock, PoisonError, RwLock};

/// The sign between the name of a file of code and the digest of its text.
pub const DIGEST: char = '#';

/// How an entry makes what it stands for, of an `A`.
pub enum Maker<A: 'static, R: 'static> {
    /// By a function of the program.
    BuiltIn(fn(A) -> R),
    /// By code that was loaded.
    Loaded(&'static (dyn Fn(A) -> R + Send + Sync)),
}

impl<A, R> Maker<A, R> {
    /// Makes one.
    pub fn make(&self, of: A) -> R {
        match self {
            Maker::BuiltIn(make) => make(of),
            Maker::Loaded(make) => make(of),
        }
    }
}

impl<A, R> Clone for Maker<A, R> {
    fn clone(&self) -> Maker<A, R> {
        *self
    }
}

impl<A, R> Copy for Maker<A, R> {}

impl<A, R> fmt::Debug for Maker<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Maker::BuiltIn(_)) { "BuiltIn" } else { "Loaded" })
    }
}

/// A number by which an entry can be tuned: `+gain=1.5` behind its name in a contender.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Its name: small letters, digits and hyphens.
    pub name: &'static str,
    /// Its value, unless a contender gives another.
    pub default: f64,
    /// The least value.
    pub least: f64,
    /// The largest value.
    pub most: f64,
    /// Its meaning, in one line.
    pub summary: &'static str,
}

impl Parameter {
    /// The values of some parameters, in their order: those that are given by name, and otherwise the defaults.
    ///
    /// # Errors
    ///
    /// If there is no parameter of a name, or a value is outside its range. The error says what would be right.
    pub fn values(all: &[Parameter], given: &[(&str, f64)]) -> Result<Vec<f64>, String> {
        let mut values: Vec<f64> = all.iter().map(|parameter| parameter.default).collect();
        for (name, value) in given {
            let Some(at) = all.iter().position(|parameter| parameter.name == *name) else {
                let known: Vec<_> = all.iter().map(|parameter| parameter.name).collect();
                let meant = meant(name, known.iter().copied());
                let known =
                    if known.is_empty() { "it has none".into() } else { format!("there are {}", known.join(", ")) };
                return Err(format!("has the unknown parameter {name:?}: {meant}{known}"));
            };
            all[at].check(*value)?;
            values[at] = *value;
        }
        Ok(values)
    }

    /// Refuses a value outside the range.
    ///
    /// # Errors
    ///
    /// If it is outside; the error says what would be right.
    pub fn check(&self, value: f64) -> Result<(), String> {
        let Parameter { name, least, most, .. } = self;
        if (*least..=*most).contains(&value) {
            return Ok(());
        }
        Err(format!("sets {name} to {value}: give a number from {least} to {most}"))
    }

    /// The end of the name of an entry with these values: those that are not the default, as `+gain=1.5`.
    pub fn tail(all: &[Parameter], values: &[f64]) -> String {
        let others = all.iter().zip(values).filter(|(parameter, value)| parameter.default != **value);
        others.map(|(parameter, value)| format!("+{}={value}", parameter.name)).collect()
    }
}

/// How a program loads code.
pub struct Loader<E: 'static> {
    /// The name of a file with the digest of what it holds now.
    pub named: fn(&str) -> Result<String, String>,
    /// Makes the entry of a name that ends in a digest.
    pub load: fn(&str) -> Result<&'static E, String>,
}

/// Whether a name is that of a file of code.
pub fn is_file(name: &str) -> bool {
    ["./", "../", "/"].iter().any(|start| name.starts_with(start))
}

/// A text as people read it: without the digest of a file that it names.
pub fn shown(text: &str) -> String {
    let mut parts = text.split(DIGEST);
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |before, after| before + after.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}

/// The name of a file with its digest, without the values of parameters that may follow; other names as they are.
pub fn untuned(name: &str) -> &str {
    let Some((file, rest)) = name.split_once(DIGEST) else { return name };
    let digits = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
    &name[..file.len() + DIGEST.len_utf8() + digits]
}

/// The entries of a kind that a program loaded.
pub struct Shelf<E: 'static> {
    entries: RwLock<BTreeMap<String, Handle<E>>>,
    loader: OnceLock<Loader<E>>,
}

impl<E: Entry> Shelf<E> {
    /// A shelf on which nothing stands.
    #[expect(clippy::new_without_default, reason = "each kind has one, which is a constant")]
    pub const fn new() -> Shelf<E> {
        Shelf { entries: RwLock::new(BTreeMap::new()), loader: OnceLock::new() }
    }

    /// Sets what makes entries of names. A program sets it once, before it reads a scenario; the first one stays.
    pub fn load_by(&self, loader: Loader<E>) {
        self.loader.get_or_init(|| loader);
    }

    /// The entry of a file. One that is named with a digest is loaded when it is first asked for, and stays. Without a digest it is
    /// what the file holds now.
    ///
    /// # Errors
    ///
    /// Why it cannot be loaded.
    pub fn named(&self, name: &str) -> Result<Handle<E>, String> {
        let loader = self.loader.get().ok_or_else(|| {
            let file = shown(name);
            format!("{file:?} names a file of code, and this program loads none: use one that is built in")
        })?;
        let full = if name.contains(DIGEST) { name.to_string() } else { (loader.named)(name)? };
        self.find_or(&full, || (loader.load)(&full))
    }

    /// The entry of a name, which is made if there is none.
    ///
    /// # Errors
    ///
    /// As `make`.
    pub fn find_or(&self, name: &str, make: impl FnOnce() -> Result<&'static E, String>) -> Result<Handle<E>, String> {
        if let Some(found) = self.entries.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Ok(*found);
        }
        // The lock is not held meanwhile: what loads may ask for other entries, and the first of two that load the same stays.
        let made = Handle(make()?);
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        Ok(*entries.entry(name.to_string()).or_insert(made))
    }
}

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

    /// Where those stand that the program loaded.
    fn shelf() -> &'static Shelf<Self>;
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

    /// The entry called `name`: one of the registry, or code that was loaded or can be.
    pub fn find(&self, name: &str) -> Option<Handle<E>> {
        let own = self.0.iter().copied().find(|entry| entry.name() == name);
        own.or_else(|| if is_file(name) { E::shelf().named(name).ok() } else { None })
    }

    /// The entry called `name`.
    ///
    /// # Errors
    ///
    /// If there is none; the error says which was meant, and lists the names.
    pub fn named(&self, name: &str) -> Result<Handle<E>, String> {
        if is_file(name) {
            return E::shelf().named(name);
        }
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

            fn shelf() -> &'static $crate::registry::Shelf<$entry> {
                static SHELF: $crate::registry::Shelf<$entry> = $crate::registry::Shelf::new();
                &SHELF
            }

            fn description(&self) -> &$crate::registry::Description {
                &self.description
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Debug)]
    struct Kind(Description);

    static LOADED: AtomicUsize = AtomicUsize::new(0);
    static BUILT_IN: Kind = Kind(Description { name: "plain", summary: "", reference: "" });

    impl Entry for Kind {
        const KIND: &'static str = "kind";
        const BUILT_IN: &'static [Handle<Kind>] = &[Handle(&BUILT_IN)];
        fn shelf() -> &'static Shelf<Kind> {
            static SHELF: Shelf<Kind> = Shelf::new();
            &SHELF
        }
        fn description(&self) -> &Description {
            &self.0
        }
    }

    fn named(file: &str) -> Result<String, String> {
        if file == "./none" { Err("there is none".into()) } else { Ok(format!("{file}{DIGEST}00")) }
    }

    fn load(name: &str) -> Result<&'static Kind, String> {
        LOADED.fetch_add(1, Ordering::Relaxed);
        let name: &'static str = name.to_string().leak();
        Ok(Box::leak(Box::new(Kind(Description { name, summary: "", reference: "" }))))
    }

    #[test]
    fn people_see_no_digest() {
        assert_eq!(shown("tcp/./mine.py#00ff+gain=2"), "tcp/./mine.py+gain=2");
        assert_eq!(shown("mptcp/./a.py#00ff+scheduler=./b.c#12+x=1"), "mptcp/./a.py+scheduler=./b.c+x=1");
        assert_eq!(shown("tcp/cubic"), "tcp/cubic");
    }

    #[test]
    fn values_of_parameters_follow_the_digest() {
        assert_eq!(untuned("./my+own.py#00ff+gain=2"), "./my+own.py#00ff");
        assert_eq!((untuned("./mine.py#00ff"), untuned("lowest-rtt")), ("./mine.py#00ff", "lowest-rtt"));
    }

    #[test]
    fn parameters_have_their_defaults_or_what_is_given() {
        let of = |name, default| Parameter { name, default, least: 0.0, most: 9.0, summary: "" };
        let all = [of("gain", 1.0), of("loss", 2.0)];
        assert_eq!(Parameter::values(&all, &[("loss", 3.5)]), Ok(vec![1.0, 3.5]));
        assert_eq!(Parameter::tail(&all, &[1.0, 3.5]), "+loss=3.5");
        let said = |given| Parameter::values(&all, &[given]).unwrap_err();
        assert_eq!(
            said(("gian", 1.0)),
            "has the unknown parameter \"gian\": did you mean \"gain\"? there are gain, loss"
        );
        assert_eq!(said(("gain", 9.5)), "sets gain to 9.5: give a number from 0 to 9");
    }

    #[test]
    fn a_file_is_loaded_once_and_every_registry_finds_it() {
        let registry = Registry::<Kind>::default();
        assert!(registry.named("./mine#00").unwrap_err().contains("this program loads none"));
        Kind::shelf().load_by(Loader { named, load });
        let first = registry.named("./mine#00").unwrap();
        assert_eq!((first.name(), LOADED.load(Ordering::Relaxed)), ("./mine#00", 1));
        assert!(
            std::ptr::eq(first.0, registry.named("./mine").unwrap().0),
            "its name without a digest is what it holds now"
        );
        assert!(std::ptr::eq(first.0, Registry::<Kind>::default().find("./mine#00").unwrap().0));
        assert_eq!(LOADED.load(Ordering::Relaxed), 1);
        assert_eq!(registry.named("./none").unwrap_err(), "there is none");
        assert!(registry.find("./none").is_none() && registry.find("plain#00").is_none());
        assert_eq!(registry.iter().count(), 1, "what is loaded is not listed");
    }
}
