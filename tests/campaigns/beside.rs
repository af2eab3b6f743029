//! The program that a campaign run by hand is about.

use std::error::Error;
use std::path::PathBuf;

/// Returns the program beside the example that is running.
pub(crate) fn program() -> Result<PathBuf, Box<dyn Error>> {
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(|folder| folder.parent()).ok_or("no folder of programs")?;
    let program = folder.join("ralph-memory");
    if !program.exists() {
        return Err(format!("there is no {}: `cargo build --release` makes it", program.display()).into());
    }
    Ok(program)
}
