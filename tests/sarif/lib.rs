//! SARIF by the types that serde-sarif makes of the standard's schema.

use serde_json::Value;
use serde_sarif::sarif::Sarif;

/// What is wrong with a log.
pub fn error(log: &Value) -> Option<String> {
    match serde_json::from_value::<Sarif>(log.clone()) {
        Err(error) => Some(error.to_string()),
        // What the schema does not know is left out.
        Ok(parsed) => {
            let known = serde_json::to_value(&parsed).expect("what was read can be written");
            (known != *log).then(|| format!("of {log}\nonly {known} is known"))
        }
    }
}
