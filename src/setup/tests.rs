//! Set-up as a whole, in temporary folders.
