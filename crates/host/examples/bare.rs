//! Makes the transfers of `{"transfers": …, "capture": … or null}` on the standard input while taps listen, and prints
//! both answers: the crate without Python, for trying it inside a small user-mode Linux.

use haltere_host::capture::Capture;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spec: Value = serde_json::from_reader(std::io::stdin())?;
    let mut capture = match &spec["capture"] {
        Value::Null => None,
        wanted => Some(Capture::new(&wanted.to_string())?),
    };
    if let Some(capture) = &mut capture {
        capture.start()?;
    }
    let outcome: Value = serde_json::from_str(&haltere_host::transfers::run_json(&spec["transfers"].to_string())?)?;
    let seen = match &mut capture {
        Some(capture) => serde_json::from_str(&capture.stop_json(None)?)?,
        None => Value::Null,
    };
    println!("{}", json!({ "transfers": outcome, "capture": seen }));
    Ok(())
}
