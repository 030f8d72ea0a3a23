//! Programs of edition 2021 use the same marks. Only the tests matter here.
