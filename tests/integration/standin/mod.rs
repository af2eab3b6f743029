//! Servers that stand in for those that nobody has to have for the tests.

pub(crate) mod http;
pub(crate) mod qdrant;
pub(crate) mod rules;
