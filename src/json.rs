//! JSON, written.
//!
//! What `check` compiles into a test must not change how the test compiles, and serde_json does:
//! its `impl PartialEq<Value> for u32` takes away that a number is compared with one type only. So
//! values write themselves here. Reading is for the command, and left to serde_json.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// What can be written as JSON.
pub(crate) trait ToJson {
    /// Adds the value to the text.
    fn write(&self, out: &mut String);

    /// Whether an object leaves out a field that has this value.
    fn is_absent(&self) -> bool {
        false
    }
}

/// The value as one line, without the line's end.
pub(crate) fn to_string(value: &impl ToJson) -> String {
    let mut out = String::new();
    value.write(&mut out);
    out
}

/// Adds an object with these fields, but for those that are absent.
pub(crate) fn object(out: &mut String, fields: &[(&str, &dyn ToJson)]) {
    let present = fields.iter().filter(|(_, value)| !value.is_absent());
    sequence(out, ['{', '}'], present, |out, (name, value)| {
        name.write(out);
        out.push(':');
        value.write(out);
    });
}

/// Each type is an object of these fields; a field is the value's own, or what a function makes of
/// the value.
macro_rules! objects {
    (@ $self:ident $field:ident) => { &$self.$field };
    (@ $self:ident $field:ident $it:ident $value:expr) => {
        &{
            let $it = $self;
            $value
        }
    };
    ($($type:ty { $($field:ident $(: |$it:ident| $value:expr)?),* $(,)? })*) => {
        $(impl $crate::json::ToJson for $type {
            fn write(&self, out: &mut String) {
                $crate::json::object(out, &[$((
                    stringify!($field),
                    $crate::json::objects!(@ self $field $($it $value)?),
                )),*]);
            }
        })*
    };
}
pub(crate) use objects;

/// Adds an array of these values.
pub(crate) fn array(out: &mut String, values: &[&dyn ToJson]) {
    sequence(out, ['[', ']'], values, |out, value| value.write(out));
}

/// The list, absent where it is empty.
pub(crate) fn unless_empty<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}

/// What is written as a string, by its [`Display`](fmt::Display).
pub(crate) struct Text<T>(pub(crate) T);

impl<T: fmt::Display> ToJson for Text<T> {
    fn write(&self, out: &mut String) {
        self.0.to_string().write(out);
    }
}

fn sequence<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(close);
}

impl ToJson for str {
    fn write(&self, out: &mut String) {
        out.push('"');
        for c in self.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                // Those beyond ASCII are escaped for terminals. Writing to a string does not fail.
                c if c.is_control() => drop(write!(out, "\\u{:04x}", u32::from(c))),
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

impl ToJson for String {
    fn write(&self, out: &mut String) {
        self.as_str().write(out);
    }
}

macro_rules! as_displayed {
    ($($type:ty),*) => {
        $(impl ToJson for $type {
            fn write(&self, out: &mut String) {
                let _ = write!(out, "{self}");
            }
        })*
    };
}

as_displayed!(bool, i64, u32, u64, usize);

impl<T: ToJson> ToJson for Option<T> {
    fn write(&self, out: &mut String) {
        match self {
            Some(value) => value.write(out),
            None => out.push_str("null"),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn write(&self, out: &mut String) {
        (*self).write(out);
    }

    fn is_absent(&self) -> bool {
        (*self).is_absent()
    }
}

impl<T: ToJson> ToJson for [T] {
    fn write(&self, out: &mut String) {
        sequence(out, ['[', ']'], self, |out, value| value.write(out));
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn write(&self, out: &mut String) {
        self.as_slice().write(out);
    }
}

impl<T: ToJson, const N: usize> ToJson for [T; N] {
    fn write(&self, out: &mut String) {
        self.as_slice().write(out);
    }
}

impl<T: ToJson> ToJson for BTreeMap<&str, T> {
    fn write(&self, out: &mut String) {
        let fields: Vec<(&str, &dyn ToJson)> = self
            .iter()
            .map(|(name, value)| (*name, value as &dyn ToJson))
            .collect();
        object(out, &fields);
    }
}

#[cfg(all(test, feature = "json"))]
mod tests {
    use super::*;

    struct Point {
        name: String,
        at: Vec<Option<u32>>,
        note: Option<&'static str>,
    }

    objects! {
        Point { name, at, note: |it| it.note.filter(|note| !note.is_empty()) }
    }

    #[test]
    fn what_is_nothing_is_null_in_a_list_and_absent_in_an_object() {
        let point = Point {
            name: "p".to_owned(),
            at: vec![Some(1), None],
            note: None,
        };
        assert_eq!(to_string(&point), r#"{"name":"p","at":[1,null]}"#);
    }

    proptest::proptest! {
        #[test]
        fn a_text_is_read_as_it_was(text in "\\PC*[\\x00-\\x1f\\x7f-\u{9f}\"\\\\]*\\PC*") {
            proptest::prop_assert!(!to_string(&text).contains(char::is_control));
            let read: String = serde_json::from_str(&to_string(&text)).unwrap();
            proptest::prop_assert_eq!(read, text);
        }
    }
}
