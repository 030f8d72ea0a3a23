//! Parity of originals and mirrors. Only the test matters here.
