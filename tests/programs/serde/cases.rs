#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Account {
    balance: Mutex<u64>,
    limits: RwLock<Vec<i32>>,
    is_open: AtomicBool,
    visits: AtomicU64,
    grade: AtomicI16,
}

#[test]
fn the_serialized_form_is_the_content() {
    let text = r#"{"balance":7,"limits":[1,-2],"is_open":true,"visits":18446744073709551615,"grade":-3}"#;
    let account: Account = serde_json::from_str(text).unwrap();
    assert_eq!(*account.balance.lock().unwrap(), 7);
    assert_eq!(*account.limits.read().unwrap(), [1, -2]);
    assert!(account.is_open.load(Ordering::SeqCst));
    assert_eq!(account.grade.load(Ordering::SeqCst), -3);
    assert_eq!(account.visits.load(Ordering::SeqCst), u64::MAX);
    assert_eq!(serde_json::to_string(&account).unwrap(), text);
}

#[test]
fn a_poisoned_lock_is_an_error() {
    let account = Account::default();
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _guard = account.balance.lock().unwrap();
        panic!("with the lock");
    }));
    let error = serde_json::to_string(&account).unwrap_err().to_string();
    assert_eq!(error, "lock poison error while serializing");
}
