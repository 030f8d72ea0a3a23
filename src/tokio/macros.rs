//! Macros that poll futures side by side: each is a branch.

/// See [`tokio::join!`](::tokio::join). Each future is a strand.
#[doc(hidden)]
#[macro_export]
macro_rules! __tokio_join {
    (biased; $($future:expr),* $(,)?) => {
        $crate::__private::tokio::join!(biased; $($crate::future::branch($future)),*)
    };
    ($($future:expr),* $(,)?) => {
        $crate::__private::tokio::join!($($crate::future::branch($future)),*)
    };
}

/// See [`tokio::try_join!`](::tokio::try_join). Each future is a strand.
#[doc(hidden)]
#[macro_export]
macro_rules! __tokio_try_join {
    (biased; $($future:expr),* $(,)?) => {
        $crate::__private::tokio::try_join!(biased; $($crate::future::branch($future)),*)
    };
    ($($future:expr),* $(,)?) => {
        $crate::__private::tokio::try_join!($($crate::future::branch($future)),*)
    };
}

/// See [`tokio::select!`](::tokio::select). Each future is a strand.
#[doc(hidden)]
#[macro_export]
macro_rules! __tokio_select {
    // The branches before `@` have been read.
    (@ {$($read:tt)*}) => {
        $crate::__private::tokio::select! { $($read)* }
    };
    (@ {$($read:tt)*} else => $handler:expr $(,)?) => {
        $crate::__private::tokio::select! { $($read)* else => { $handler } }
    };
    (@ {$($read:tt)*} $pattern:pat = $future:expr, if $condition:expr => $handler:block, $($rest:tt)*) => {
        $crate::__tokio_select! { @ {$($read)* $pattern = $crate::future::branch($future), if $condition => $handler,} $($rest)* }
    };
    (@ {$($read:tt)*} $pattern:pat = $future:expr => $handler:block, $($rest:tt)*) => {
        $crate::__tokio_select! { @ {$($read)* $pattern = $crate::future::branch($future) => $handler,} $($rest)* }
    };
    (@ {$($read:tt)*} $pattern:pat = $future:expr, if $condition:expr => $handler:block $($rest:tt)*) => {
        $crate::__tokio_select! { @ {$($read)* $pattern = $crate::future::branch($future), if $condition => $handler,} $($rest)* }
    };
    (@ {$($read:tt)*} $pattern:pat = $future:expr => $handler:block $($rest:tt)*) => {
        $crate::__tokio_select! { @ {$($read)* $pattern = $crate::future::branch($future) => $handler,} $($rest)* }
    };
    (@ {$($read:tt)*} $pattern:pat = $future:expr, if $condition:expr => $handler:expr) => {
        $crate::__tokio_select! { @ {$($read)* $pattern = $crate::future::branch($future), if $condition => { $handler },} }
    };
    (@ {$($read:tt)*} $pattern:pat = $future:expr => $handler:expr) => {
        $crate::__tokio_select! { @ {$($read)* $pattern = $crate::future::branch($future) => { $handler },} }
    };
    (@ {$($read:tt)*} $pattern:pat = $future:expr, if $condition:expr => $handler:expr, $($rest:tt)*) => {
        $crate::__tokio_select! { @ {$($read)* $pattern = $crate::future::branch($future), if $condition => { $handler },} $($rest)* }
    };
    (@ {$($read:tt)*} $pattern:pat = $future:expr => $handler:expr, $($rest:tt)*) => {
        $crate::__tokio_select! { @ {$($read)* $pattern = $crate::future::branch($future) => { $handler },} $($rest)* }
    };
    (biased; $($branches:tt)*) => {
        $crate::__tokio_select! { @ {biased;} $($branches)* }
    };
    ($($branches:tt)*) => {
        $crate::__tokio_select! { @ {} $($branches)* }
    };
}
