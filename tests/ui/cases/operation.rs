//! What a misplaced or misspelt `#[operation]` says.

use aerodrome::{Object, operation};

struct Jobs {
    object: Object<Jobs>,
}

#[operation(read)]
impl Jobs {
    #[operation]
    fn nothing(&self) {}

    #[operation(reed)]
    fn misspelt(&self) {}

    #[operation(read, read)]
    fn twice(&self) {}

    #[operation(read = 1)]
    fn value(&self) {}

    #[operation(read, of = object)]
    fn elsewhere(&self) {}

    #[operation(update)]
    async fn waits(&self) {}
}

trait Queue {
    #[operation(update)]
    fn push(&self);
}

fn main() {
    let _ = Jobs { object: Object::new() }.object;
}
