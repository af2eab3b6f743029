//! Each section at its limits.
