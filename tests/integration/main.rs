//! Tests of the library and the program together, on real files.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::too_many_lines, reason = "tests of several steps read best in one piece")]

mod agent; // a client that speaks to the MCP server
mod answers; // JSON answers: each thing has one shape
mod architecture; // the order of the modules, which are pure, and which may use a crate
mod arguments; // wrong arguments and variables
mod attempts; // an attempt is kept, whatever fails after its agent
mod authors; // what an agent may do to what people wrote, by every door
mod briefing; // what a session begins with
mod broken; // every kind of bad input is reported, hides no other file and is never rewritten
mod budgets; // how the sections of a context share its budget, and what it shows of a long history
mod changed_facts; // which changes of code make a fact doubtful
mod cli; // each command: output, messages and exit code
mod cloned; // state and caches from a clone are not trusted
mod compatibility; // a memory of 0.1.0 is read as 0.1.0 read it
mod completing; // the script that completes commands in a shell
mod corrected; // what a person corrected stays, whatever agents write
mod damaged; // a damaged index changes no answer
mod dependencies; // which crates the lock file may contain
mod different; // facts that differ stay two, and those that contradict each other are told in order
mod doc_examples; // every example of the documentation works
mod docs; // pages of the documentation, their links, and man pages
mod editing; // what `edit` refuses, reports and keeps
mod elsewhere;
mod endings; // how attempts end, judged by the output of real clients
mod events; // which events reach which contexts, and how many
mod every_ending; // a run of twenty iterations with every recorded kind of ending
mod facts; // similar facts never replace each other
mod failures; // failures of the file system, other processes, odd files
mod floods; // files full of faults get a few lines of report
mod folders; // knowledge in folders, and names that mean one entry or several
mod following; // what is seen of a run in progress: nothing secret, nothing twice, nothing too little
mod forms; // names and words in both forms of Unicode
#[path = "../campaigns/fuzz.rs"]
mod fuzz; // properties that hold for any bytes
mod git; // files that knowledge mentions, as git knows them
mod git_calls; // which git commands run, and that a repository cannot change them
mod hooks; // what hooks answer each client, and what they record
mod hostile; // the fuzzer's saved inputs
mod imported; // imports of notes, records, rules and JSON Lines
mod invisible; // invisible characters are refused, reported and shown
mod isolation; // a server of one feature shows nothing of another
mod killed; // a loop that is killed at random moments loses nothing
mod knowledge; // effects of adding, superseding and restoring on existing entries
mod layers; // other memories that are searched with this one
mod leaks; // how many secrets are found
mod lessons; // faults of other memory tools, one test each
mod limits; // limits on time, cost, tokens and output of a run
mod loop_setup; // programs, models, limits and options of a run, and warnings about stuck tasks
mod loops; // a scripted agent, driven in three ways
mod maintenance; // pruning and consolidating lose nothing
mod mcp; // the MCP server, over pipes
mod meaning; // semantic search, and servers that fail
mod merged_by_git; // real merges: no side is dropped
mod merging; // what `check` does about conflicts
mod offered; // the MCP server that a run offers to its agent
mod options; // options of every command: the folder, colours, quiet
mod outside; // what is written outside of the memory, and what is not
mod own; // a person's own memory, beside every project
#[path = "../campaigns/own_disk.rs"]
#[allow(dead_code, reason = "campaigns use the rest")]
mod own_disk; // a process that may mount file systems
mod owners; // a memory of another user is not used
mod private_state; // what a memory keeps for itself is private, and no secret is shown of it
#[path = "../campaigns/program.rs"]
#[allow(dead_code, reason = "campaigns use the rest")]
mod program; // the program, for campaigns
mod pty; // the program on a terminal
mod qdrant; // vectors on a Qdrant server, real or simulated
mod qdrant_failures; // every way in which that server can fail
mod qdrant_tls; // which certificates are trusted
mod questions; // entries are found by the questions they answer
#[path = "../campaigns/random.rs"]
mod random; // random numbers for campaigns
mod ranking; // how well searches rank the entries that a task needs
mod raw_notes; // notes of other programs in `knowledge/`: their bytes after each operation
mod recovery; // leftovers of crashes
mod redacting; // secrets are refused, redacted, found, and never shown
mod releasing; // what a release is made of agrees with itself, and with Cargo.toml
mod renaming; // renamed entries: their links, versions and merges, and other entries of their old names
mod said; // what an agent's report says counts, however it is written, and its words are no error
mod schemas; // arguments and answers of tools match their schemas
mod serving; // the page in a browser: who is refused, what pages show, what the buttons do, hostile entries
mod setting_up; // `setup`: what clients get, what is refused, and that nothing of others is lost
mod shown; // progress on a terminal while a command works
mod standin; // simulated Ollama and Qdrant servers
mod structure; // type names are unique, and files have no circle of imports
mod support; // a temporary folder, and the program run in it
mod sync; // an updated cache answers like a new one
mod terminal; // control characters never reach a terminal
mod test_cases; // how many cases randomised tests try
mod timeline; // the log, statistics, tasks and runs, and runs in progress
mod told; // each attempt that is told is in the journal once, whoever tells it
mod tool_calls; // what agents are told after calls of tools
mod transcripts; // event streams of agents
mod transfers; // past sessions become attempts, each once
mod undoing; // `undo` after each command, `rename`, `edit` and `archive`
mod views; // views of the journal: iterations, failures, files, recurring errors
mod watching; // events of watchers
mod work_trees; // work trees of one clone: each knows the attempts of all
