//! stub
#[derive(Debug)]
#[repr(align(8))]
pub struct Block {
    pub name: &'static str,
}
