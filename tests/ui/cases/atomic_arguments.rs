use aerodrome::atomic;

#[atomic(nam = "withdraw")]
fn unknown() {}

#[atomic("withdraw")]
fn bare() {}

#[atomic(name)]
fn no_value() {}

#[atomic(name = )]
fn empty_value() {}

#[atomic(name = withdraw)]
fn no_string() {}

#[atomic(name = "")]
fn empty_name() {}

#[atomic(name = b"bytes")]
fn bytes() {}

#[atomic(name("withdraw"))]
fn like_a_call() {}

#[atomic(name = "a", name = "b")]
fn twice() {}

#[atomic(crate = "aerodrome")]
fn crate_as_string() {}

#[atomic(runs = 5)]
fn of_the_test() {}

#[atomic(pub)]
fn no_impl() {}

fn main() {
    // They are still functions: what is wrong with a mark is all that is wrong.
    (unknown(), bare(), no_value(), empty_value(), no_string(), empty_name(), bytes(), like_a_call(), twice());
    (crate_as_string(), of_the_test(), no_impl());
}
