//! `select!` and `select_biased!`: crossbeam's grammar, in terms of [`Select`](super::Select).
//!
//! First every arm is brought into one form, its body in braces and a comma after it (`@list`);
//! then the operations are added one by one (`@add`), each with variables of its own by the hygiene
//! of its expansion; and the selected one is completed (`@run`). Two expansions an arm, so that 32
//! arms are far from the limit of recursion. An arm's first word is kept in brackets beside it:
//! where that stands, the operation is recorded.

/// Selects from a set of channel operations: waits until one of them is ready, completes it, and
/// runs its arm.
///
/// The arms are `recv(receiver) -> result => expression`, `send(sender, message) -> result =>
/// expression`, and at most one `default => expression` (if no operation is ready at once) or
/// `default(timeout) => expression` (if none is in time). An operation is also ready if it fails
/// because the channel is disconnected. Of several that are ready a random one is selected; see
/// [`select_biased!`](crate::crossbeam_channel::select_biased) for the first. Reports show the line
/// of the arm.
///
/// ```
/// use std::time::Duration;
///
/// use aerodrome::crossbeam_channel::{select, unbounded};
///
/// let (sender, receiver) = unbounded();
/// let (_quiet, silence) = unbounded::<()>();
/// select! {
///     recv(silence) -> _ => unreachable!(),
///     send(sender, 20) -> sent => assert_eq!(sent, Ok(())),
///     default(Duration::from_secs(1)) => unreachable!(),
/// }
/// assert_eq!(receiver.recv(), Ok(20));
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __crossbeam_channel_select {
    ($($arms:tt)*) => {
        {
            const _IS_BIASED: bool = false;
            $crate::__crossbeam_channel_internal!($($arms)*)
        }
    };
}

/// [`select!`](crate::crossbeam_channel::select), but of several operations that are ready the
/// first one is selected.
///
/// ```
/// use aerodrome::crossbeam_channel::{select_biased, unbounded};
///
/// let (urgent, first) = unbounded();
/// let (idle, second) = unbounded();
/// idle.send("idle").unwrap();
/// urgent.send("urgent").unwrap();
/// let next = select_biased! {
///     recv(first) -> message => message,
///     recv(second) -> message => message,
/// };
/// assert_eq!(next, Ok("urgent"));
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __crossbeam_channel_select_biased {
    ($($arms:tt)*) => {
        {
            const _IS_BIASED: bool = true;
            $crate::__crossbeam_channel_internal!($($arms)*)
        }
    };
}

/// As crossbeam's, which is hidden, too: what the macros have in common. `_IS_BIASED` is in scope.
#[doc(hidden)]
#[macro_export]
macro_rules! __crossbeam_channel_internal {
    // All arms are in form.
    (@list () $arms:tt) => {{
        #[allow(unused_mut)]
        let mut _select = if _IS_BIASED {
            $crate::crossbeam_channel::Select::new_biased()
        } else {
            $crate::crossbeam_channel::Select::new()
        };
        $crate::__crossbeam_channel_internal!(@add _select $arms () ())
    }};
    (@list (default => $($rest:tt)*) $arms:tt) => {
        $crate::__crossbeam_channel_internal!(@list (default() => $($rest)*) $arms)
    };
    (@list
        ($case:ident ($($args:tt)*) $(-> $result:pat)? => { $($body:tt)* }, $($rest:tt)*)
        ($($arms:tt)*)
    ) => {
        $crate::__crossbeam_channel_internal!(@list ($($rest)*)
            ($($arms)* $case [$case] ($($args)*) $(-> $result)? => { $($body)* },))
    };
    (@list
        ($case:ident ($($args:tt)*) $(-> $result:pat)? => $body:expr, $($rest:tt)*)
        ($($arms:tt)*)
    ) => {
        $crate::__crossbeam_channel_internal!(@list ($($rest)*)
            ($($arms)* $case [$case] ($($args)*) $(-> $result)? => { $body },))
    };
    // A block needs no comma.
    (@list
        ($case:ident ($($args:tt)*) $(-> $result:pat)? => { $($body:tt)* } $($rest:tt)*)
        ($($arms:tt)*)
    ) => {
        $crate::__crossbeam_channel_internal!(@list ($($rest)*)
            ($($arms)* $case [$case] ($($args)*) $(-> $result)? => { $($body)* },))
    };
    // Nor does the last arm.
    (@list
        ($case:ident ($($args:tt)*) $(-> $result:pat)? => $body:expr)
        ($($arms:tt)*)
    ) => {
        $crate::__crossbeam_channel_internal!(@list ()
            ($($arms)* $case [$case] ($($args)*) $(-> $result)? => { $body },))
    };
    (@list ($($rest:tt)*) $arms:tt) => {
        $crate::__crossbeam_channel_internal!(@wrong $($rest)*)
    };

    (@add $select:ident
        (recv [$place:ident] ($receiver:expr $(,)?) -> $result:pat => $body:tt, $($rest:tt)*)
        $default:tt
        ($($cases:tt)*)
    ) => {
        match $receiver {
            ref _receiver => {
                let _receiver: &$crate::crossbeam_channel::Receiver<_> = _receiver;
                let _site = $crate::__private::place!($crate::__private::Place, $place);
                let _index = $select.recv_at(_receiver, _site);
                $crate::__crossbeam_channel_internal!(@add $select ($($rest)*) $default
                    ($($cases)* [_index recv_at(_receiver, _site) $result => $body]))
            }
        }
    };
    (@add $select:ident
        (send [$place:ident] ($sender:expr, $message:expr $(,)?) -> $result:pat => $body:tt, $($rest:tt)*)
        $default:tt
        ($($cases:tt)*)
    ) => {
        match $sender {
            ref _sender => {
                let _sender: &$crate::crossbeam_channel::Sender<_> = _sender;
                let _site = $crate::__private::place!($crate::__private::Place, $place);
                let _index = $select.send_at(_sender, _site);
                $crate::__crossbeam_channel_internal!(@add $select ($($rest)*) $default
                    ($($cases)* [_index send_at(_sender, _site, $message) $result => $body]))
            }
        }
    };
    (@add $select:ident (default $place:tt () => $body:tt, $($rest:tt)*) () $cases:tt) => {
        $crate::__crossbeam_channel_internal!(@add $select ($($rest)*) (try_select() => $body) $cases)
    };
    (@add $select:ident (default $place:tt ($timeout:expr $(,)?) => $body:tt, $($rest:tt)*) () $cases:tt) => {
        $crate::__crossbeam_channel_internal!(@add $select ($($rest)*)
            (select_timeout($timeout) => $body) $cases)
    };
    (@add $select:ident (default $($rest:tt)*) ($($default:tt)+) $cases:tt) => {
        compile_error!("there can be only one `default` case in a `select!` block")
    };
    (@add $select:ident () () $cases:tt) => {{
        let _operation = $select.select();
        $crate::__crossbeam_channel_internal!(@run $select _operation $cases)
    }};
    (@add $select:ident () ($method:ident($($timeout:expr)?) => $body:tt) $cases:tt) => {{
        // Either way what was selected is moved as a whole and the selection dropped, so that an
        // arm can do with the channels what it likes.
        let _selected = $select.$method($($timeout)?);
        if _selected.is_ok() {
            let _operation = _selected.unwrap();
            $crate::__crossbeam_channel_internal!(@run $select _operation $cases)
        } else {
            ::std::mem::drop(_selected);
            ::std::mem::drop($select);
            $body
        }
    }};
    (@add $select:ident
        ($($case:ident $place:tt $args:tt $(-> $result:pat)? => $body:tt,)*)
        $default:tt $cases:tt
    ) => {
        $crate::__crossbeam_channel_internal!(@wrong $($case $args $(-> $result)? => $body,)*)
    };

    (@run $select:ident $operation:ident
        ($([$index:ident $case:ident($($args:tt)*) $result:pat => $body:tt])*)
    ) => {
        $(if $operation.index() == $index {
            let _result = $operation.$case($($args)*);
            ::std::mem::drop($select);
            let $result = _result;
            $body
        } else)* {
            ::std::unreachable!("an operation was selected that is none of the arms")
        }
    };

    (@wrong $($rest:tt)*) => {
        compile_error!(concat!(
            "expected `recv(receiver) -> result => expression`, `send(sender, message) -> result => expression`, \
             `default => expression` or `default(timeout) => expression`, separated by commas; found `",
            stringify!($($rest)*),
            "`",
        ))
    };

    () => {
        compile_error!("empty `select!` block")
    };
    ($($arms:tt)*) => {
        $crate::__crossbeam_channel_internal!(@list ($($arms)*) ())
    };
}
