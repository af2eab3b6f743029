//! What the library and the program do together, on real files.

mod ranking;
mod sync;
