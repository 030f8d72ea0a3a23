//! A lock in a serialized form is its content. To serialize it takes the lock and reads.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::mutex::AnyMutex;
use super::raw::{Raw, Real};
use super::remutex::ReentrantMutex;
use super::rwlock::RwLock;

macro_rules! as_content {
    ($([$($generics:tt)*] $Lock:ty, $lock:ident;)*) => {$(
        impl<$($generics)* T: Serialize + ?Sized> Serialize for $Lock {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.$lock().serialize(serializer)
            }
        }

        impl<'de, $($generics)* T: Deserialize<'de>> Deserialize<'de> for $Lock {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                T::deserialize(deserializer).map(Self::new)
            }
        }
    )*};
}

as_content! {
    [L: Real,] AnyMutex<Raw<L>, T>, lock;
    [] ReentrantMutex<T>, lock;
    [] RwLock<T>, read;
}
