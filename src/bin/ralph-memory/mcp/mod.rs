//! The server for agents: the memory by the Model Context Protocol, over standard input and output.
//!
//! `wire` has the lines and the threads, and `server` the protocol's requests. `tools` lists the tools; `search`, `read`,
//! `add`, `attempt`, `build` and `feature` implement them, with their arguments and answers. `schema` describes these types,
//! `shown` makes text from the memory safe, and `refusal` tells an agent what went wrong and what to do.
//!
//! Nothing is kept between two calls: each call opens the memory, and closes it before the answer.

mod add;
mod agent_tool;
mod attempt;
mod build;
mod feature;
mod read;
mod refusal;
mod schema;
mod search;
mod server;
mod shown;
mod tools;
mod wire;

pub(crate) use wire::serve;
