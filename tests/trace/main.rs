//! Traces: their formats, their readers, and which traces are well-formed.
#![cfg(feature = "trace")]

mod binary;
mod common;
mod formats;
mod readers;
mod wellformed;
