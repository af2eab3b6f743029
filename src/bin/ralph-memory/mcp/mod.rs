//! The server for agents: the memory by the Model Context Protocol, over standard input and output.
//!
//! `wire` has the lines and the threads, `server` the protocol's requests. `tools` lists the tools, each of them in a
//! file of its own with what it takes and answers; `resources` and `prompts` are the rest of what an agent is offered.
//! `schema` says of these types what they look like, `shown` makes the text of others safe, and `refusal` tells an
//! agent what went wrong and what to do.
//!
//! Nothing is kept between two calls: each opens the memory, and closes it before it is answered.

mod add;
mod agent_tool;
mod build;
mod feature;
mod prompts;
mod read;
mod refusal;
mod request_id;
mod resources;
mod schema;
mod search;
mod server;
mod shown;
mod tools;
mod wire;

pub(crate) use wire::serve;
