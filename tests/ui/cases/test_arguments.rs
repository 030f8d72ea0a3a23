#[aerodrome::test(runs = 0)]
fn never() {}

#[aerodrome::test(runs = "many")]
fn many() {}

#[aerodrome::test(times = 3)]
fn unknown() {}

#[aerodrome::test(3)]
fn bare() {}

#[aerodrome::test(name = "test")]
fn of_atomic() {}

fn main() {}
