//! Programs that are checked. Only the test matters here.
