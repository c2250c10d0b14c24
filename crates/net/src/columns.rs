//! Columns of result tables, each declared once: the field of a row's struct is the column, its documentation the
//! meaning. The other needs of readers of results stand behind the field's type, as [`About`].
//!
//! [`columns!`](crate::columns!) makes the struct with its serialization and the list of its columns, so that neither can
//! lack what the other has. Everything that reads results takes names, types, units and metrics from this list.

use serde::Serialize;
use std::borrow::Cow;

crate::named! {
    /// The subject of a row.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Of {
        /// A run.
        Run,
        /// A flow.
        Flow,
        /// One direction of a link.
        Link,
        /// A cell of IEEE 802.11 or of LTE.
        Cell,
        /// A probe.
        Probe,
        /// A request of a probe.
        Request,
        /// A load.
        Load,
    }
}

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A text.
    Text,
    /// Yes or no.
    Flag,
}

/// Which values are better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Low ones.
    Lower,
    /// High ones.
    Higher,
    /// None.
    Neither,
}

/// The value of several flows that are taken as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Whole {
    /// There is none.
    Unknown,
    /// The sum.
    Sum,
    /// The mean.
    Mean,
    /// The least.
    Least,
    /// The largest.
    Largest,
    /// From the first start to the last end.
    Span,
    /// The bits of this column over that span.
    Rate(&'static str),
}

/// The fidelities at which a value is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(transparent)]
pub struct At(&'static [&'static str]);

/// Every fidelity.
pub const EVERYWHERE: At = At(&["model", "stack", "linux", "testbed"]);
/// The fidelities in virtual time.
pub const SIMULATED: At = At(&["model", "stack"]);
/// The fidelities whose links are ours.
pub const OWN_LINKS: At = At(&["model", "stack", "testbed"]);
/// The fidelities on real hosts.
pub const REAL: At = At(&["linux", "testbed"]);
/// The machine's clock.
pub const WALL_CLOCK: At = At(&["testbed"]);

/// How values of a metric are compared. Replications are compared in pairs, and the means of these comparisons count.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase", tag = "comparison")]
pub enum Comparison {
    /// By their ratio.
    Ratio {
        /// The margin of practical equivalence, where it is not the usual one.
        #[serde(skip_serializing_if = "Option::is_none")]
        alike: Option<f64>,
    },
    /// By their difference, in the metric's unit.
    Difference {
        /// The margin of practical equivalence.
        alike: f64,
        /// The difference that overviews draw in full colour.
        full: f64,
    },
}

/// A display unit.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Scale {
    /// Its symbol.
    unit: &'static str,
    /// The column's value of one of it.
    divisor: f64,
}

/// As the column counts, without a unit.
pub const PURE: Scale = Scale { unit: "", divisor: 1.0 };
/// Seconds.
pub const S: Scale = Scale { unit: "s", divisor: 1.0 };
/// Milliseconds.
pub const MS: Scale = Scale { unit: "ms", divisor: 1e-3 };
/// Megabits a second.
pub const MBIT_S: Scale = Scale { unit: "Mbit/s", divisor: 1e6 };
/// Bytes.
pub const B: Scale = Scale { unit: "B", divisor: 1.0 };
/// Millions of bytes.
pub const MB: Scale = Scale { unit: "MB", divisor: 1e6 };
/// Joules.
pub const J: Scale = Scale { unit: "J", divisor: 1.0 };
/// Packets.
pub const PACKETS: Scale = Scale { unit: "packets", divisor: 1.0 };
/// Per cent.
pub const PERCENT: Scale = Scale { unit: "%", divisor: 0.01 };

/// A metric of figures, tables and claims: a column as it is shown.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Shown {
    /// Its name.
    pub name: &'static str,
    /// Its label.
    pub label: &'static str,
    /// Its unit.
    #[serde(flatten)]
    pub scale: Scale,
    /// How it is compared.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// The largest value there can be.
    pub ceiling: Option<f64>,
    /// The column of which it is the share.
    pub share_of: Option<&'static str>,
    /// Its definition, where it is not the column's meaning.
    pub meaning: Option<&'static str>,
}

/// A metric without anything special, compared by ratio.
pub const METRIC: Shown = Shown {
    name: "",
    label: "",
    scale: PURE,
    comparison: Comparison::Ratio { alike: None },
    ceiling: None,
    share_of: None,
    meaning: None,
};

/// The declaration of a column, without its name, its type and its meaning.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct About {
    /// Which values are better.
    pub better: Better,
    /// The value of several flows that are taken as one.
    pub whole: Whole,
    /// Where it is known.
    pub at: At,
    /// Its unit, where its name does not say it.
    #[serde(skip)]
    pub unit: Option<&'static str>,
    /// For columns of links: whether runs have it of their bottleneck, whose metrics these are then.
    #[serde(skip)]
    pub bottleneck: bool,
    /// Whether it is a list with an entry for each request of a probe.
    #[serde(skip)]
    pub requests: bool,
    /// The metrics that show it.
    pub metrics: &'static [Shown],
}

/// A column that is known everywhere, of which nothing is shown.
pub const PLAIN: About = About {
    better: Better::Neither,
    whole: Whole::Unknown,
    at: EVERYWHERE,
    unit: None,
    bottleneck: false,
    requests: false,
    metrics: &[],
};

/// A column.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Its name.
    pub name: Cow<'static, str>,
    /// The subject of its rows.
    pub of: Of,
    /// The type of its values.
    pub kind: Kind,
    /// Whether a value is a list.
    pub list: bool,
    /// Its unit; empty for what has none.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// The rest.
    #[serde(flatten)]
    pub about: About,
}

impl Column {
    /// A column of texts, until its type says something else.
    pub fn new(name: &'static str, of: Of, meaning: &'static str, about: About) -> Column {
        let unit = about.unit.unwrap_or_else(|| unit_of(name));
        Column { name: name.into(), of, kind: Kind::Text, list: false, unit, meaning: meaning.trim(), about }
    }

    /// A link's column as the run has it of its bottleneck, if it has.
    pub fn of_bottleneck(&self) -> Option<Column> {
        let about = About { bottleneck: false, ..self.about };
        let name = format!("bottleneck_{}", self.name).into();
        self.about.bottleneck.then(|| Column { name, of: Of::Run, about, ..self.clone() })
    }
}

/// The unit that a name ends with.
fn unit_of(name: &str) -> &'static str {
    const UNITS: [(&str, &str); 5] =
        [("_s", "s"), ("_bps", "bit/s"), ("bytes", "B"), ("_packets", "packets"), ("_j", "J")];
    UNITS.iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit)
}

/// The types that a field of a row can have: a value, several values, or a struct with further columns of the row.
pub trait Declared {
    /// The columns of such a field.
    fn columns(field: Column) -> Vec<Column>;
    /// The columns of a list of them.
    fn listed(_field: Column) -> Vec<Column> {
        Vec::new()
    }
}

macro_rules! values {
    ($($kind:ident: $($type:ty),+;)+) => {
        $($(impl Declared for $type {
            fn columns(field: Column) -> Vec<Column> {
                vec![Column { kind: Kind::$kind, ..field }]
            }
            fn listed(field: Column) -> Vec<Column> {
                vec![Column { kind: Kind::$kind, list: true, ..field }]
            }
        })+)+
    };
}

values! {
    Integer: u8, u32, u64;
    Number: f64;
    Text: &'static str, String;
    Flag: bool;
}

impl<T: Declared> Declared for Option<T> {
    fn columns(field: Column) -> Vec<Column> {
        T::columns(field)
    }
    fn listed(field: Column) -> Vec<Column> {
        T::listed(field)
    }
}

impl<T: Declared> Declared for Vec<T> {
    fn columns(field: Column) -> Vec<Column> {
        T::listed(field)
    }
}

/// Declares a row: its struct, which is serialized, and its columns (the associated function `declared`). Behind the type
/// of a field may stand `= ABOUT`, of type [`About`]. A field whose type is a declared row adds that row's columns; a
/// list of rows adds none.
#[macro_export]
macro_rules! columns {
    (
        $(#[doc = $title:literal])+
        #[of($of:ident)]
        $(#[$meta:meta])*
        pub struct $row:ident {
            $($(#[doc = $doc:literal])+ $(#[serde($($serde:tt)*)])? pub $name:ident: $type:ty $(= $about:expr)?,)*
        }
    ) => {
        $(#[doc = $title])+
        #[derive(Clone, Debug, serde::Serialize)]
        $(#[$meta])*
        pub struct $row {
            $($(#[doc = $doc])+ $(#[serde($($serde)*)])? pub $name: $type,)*
        }

        impl $row {
            /// The columns.
            pub fn declared() -> Vec<$crate::columns::Column> {
                use $crate::columns::{Column, Declared, Of};
                [$(<$type as Declared>::columns(Column::new(
                    stringify!($name),
                    Of::$of,
                    concat!($($doc),+),
                    $crate::columns!(@about $($about)?),
                ))),*].concat()
            }
        }

        impl $crate::columns::Declared for $row {
            fn columns(_: $crate::columns::Column) -> Vec<$crate::columns::Column> {
                $row::declared()
            }
        }
    };
    (@about) => { $crate::columns::PLAIN };
    (@about $about:expr) => { const { $about } };
}
