use aerodrome::atomic;
use std::future::Future;
use std::pin::Pin;

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

// What `#[async_trait]` above makes of an `async fn`.
#[atomic]
fn boxed<'a>() -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    Box::pin(async {})
}

#[atomic]
fn named() -> BoxFuture<'static, ()> {
    Box::pin(async {})
}

#[atomic]
fn hidden() -> impl Future<Output = ()> {
    async {}
}

#[atomic(future)]
async fn twice() {}

#[atomic(future)]
fn plain() {}

struct Account;

#[atomic(future)]
impl Account {
    fn load(&self) -> impl Future<Output = u64> {
        async { 1 }
    }

    #[not_atomic]
    fn exempt(&self) -> impl Future<Output = u64> {
        async { 2 }
    }
}

fn main() {
    let _ = (boxed(), named(), hidden(), plain());
    let _ = Account.exempt();
}
