#[aerodrome::test]
fn parameters(_a: u8) {}

#[aerodrome::test]
fn generic<T>() {}

#[aerodrome::test]
async fn waits() {}

#[aerodrome::test]
const fn constant() {}

#[aerodrome::test]
unsafe fn danger() {}

#[aerodrome::test]
struct NoFunction;

#[aerodrome::test]
impl NoFunction {}

#[aerodrome::test]
#[test]
fn twice() {}

fn main() {}
