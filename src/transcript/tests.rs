//! Whole streams, odd ones, and any bytes at all.
