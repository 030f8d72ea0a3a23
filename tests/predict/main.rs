//! Prediction: each analysis against brute-force judges, and by the papers.
#![cfg(feature = "trace")]

mod blocks;
mod common;
mod deadlock;
mod guards;
mod minimal;
mod papers;
mod reads;
