//! Which engine.

use std::fmt;
use std::str::FromStr;

use super::{Aerodrome, AerodromeBasic, Engine, Exact, Velodrome, Violation};
use crate::trace::Event;

macro_rules! engines {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// An engine, by name.
        ///
        /// ```
        /// use aerodrome::check::EngineKind;
        ///
        /// assert_eq!("exact".parse(), Ok(EngineKind::Exact));
        /// assert!("precise".parse::<EngineKind>().unwrap_err().to_string().contains("exact"));
        /// ```
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum EngineKind {
            $($(#[$doc])* $kind,)*
        }

        impl EngineKind {
            /// Every engine, the default one first.
            pub const ALL: &[EngineKind] = &[$(EngineKind::$kind),*];

            /// The name that [`FromStr`] understands.
            pub fn name(self) -> &'static str {
                match self {
                    $(EngineKind::$kind => $name,)*
                }
            }

            /// An engine at the start of a trace.
            pub fn engine(self) -> Box<dyn Engine + Send> {
                match self {
                    $(EngineKind::$kind => Box::new($kind::new()),)*
                }
            }
        }

        /// The engines without indirection: the checker calls one for every event.
        #[allow(clippy::large_enum_variant, reason = "there is one of it, not a list")]
        #[derive(Debug)]
        pub(super) enum AnyEngine {
            $($kind($kind),)*
        }

        impl AnyEngine {
            pub(super) fn new(kind: EngineKind) -> AnyEngine {
                match kind {
                    $(EngineKind::$kind => AnyEngine::$kind($kind::new()),)*
                }
            }

            /// Has the visitor work with the engine that it is: one decision for many events.
            #[inline]
            pub(super) fn accept<V: Visitor>(&mut self, visitor: V) -> V::Answer {
                match self {
                    $(AnyEngine::$kind(engine) => visitor.visit(engine),)*
                }
            }
        }

        impl Engine for AnyEngine {
            #[inline]
            fn step(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
                match self {
                    $(AnyEngine::$kind(engine) => engine.step(event, position),)*
                }
            }

            #[inline]
            fn foresee(&self, event: &Event) {
                match self {
                    $(AnyEngine::$kind(engine) => engine.foresee(event),)*
                }
            }
        }
    };
}

engines! {
    /// [`Exact`].
    #[default]
    Exact = "exact",
    /// [`Aerodrome`].
    Aerodrome = "aerodrome",
    /// [`AerodromeBasic`].
    AerodromeBasic = "aerodrome-basic",
    /// [`Velodrome`].
    Velodrome = "velodrome",
}

/// What is to be done with an engine, whichever it is.
pub(super) trait Visitor {
    type Answer;

    fn visit<E: Inlined>(self, engine: &mut E) -> Self::Answer;
}

/// An engine as a loop over many events has it.
pub(super) trait Inlined: Engine {
    /// [`step`](Engine::step), inside of the loop where that pays.
    #[inline(always)]
    fn take(&mut self, event: &Event, position: u64) -> Option<Box<Violation>> {
        self.step(*event, position)
    }
}

impl Inlined for Exact {
    #[inline(always)]
    fn take(&mut self, event: &Event, position: u64) -> Option<Box<Violation>> {
        Exact::take(self, event, position)
    }
}

impl Inlined for Aerodrome {}

impl Inlined for AerodromeBasic {}

impl Inlined for Velodrome {}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No engine has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEngine(String);

impl fmt::Display for UnknownEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = EngineKind::ALL.iter().map(|kind| kind.name()).collect();
        write!(
            f,
            "expected an engine ({}), found `{}`",
            names.join(", "),
            self.0
        )
    }
}

impl std::error::Error for UnknownEngine {}

impl FromStr for EngineKind {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<EngineKind, UnknownEngine> {
        let found = EngineKind::ALL.iter().find(|kind| kind.name() == name);
        found.copied().ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}
