//! A lock or an atomic in a serialized form is its content, as for std's. To serialize it takes the
//! lock, or loads the value, and is a read.

use serde::ser::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::atomic::{self, Ordering, integers};
use super::{Mutex, RwLock};

macro_rules! locks {
    ($($Lock:ident, $lock:ident;)*) => {$(
        impl<T: Serialize + ?Sized> Serialize for $Lock<T> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.$lock() {
                    Ok(content) => content.serialize(serializer),
                    Err(_) => Err(S::Error::custom("lock poison error while serializing")),
                }
            }
        }

        impl<'de, T: Deserialize<'de>> Deserialize<'de> for $Lock<T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                T::deserialize(deserializer).map(Self::new)
            }
        }
    )*};
}

macro_rules! atomics {
    ($($Atomic:ident: $Value:ty;)*) => {$(
        impl Serialize for atomic::$Atomic {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.load(Ordering::Relaxed).serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for atomic::$Atomic {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$Value>::deserialize(deserializer).map(Self::new)
            }
        }
    )*};
}

locks! {
    Mutex, lock;
    RwLock, read;
}

integers!(atomics);
atomics! {
    AtomicBool: bool;
}
