//! Messages of the macros. Only the test matters here.
