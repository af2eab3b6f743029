//! What happened: the attempts of the journal by time, task, run and feature, and the runs in progress.
//!
//! `log` lists attempts and opens only the files that it shows. `totals` adds up attempts; `stats` does so by feature,
//! by model and by day. `task` and `run` have everything about one task or one run. Nothing here writes.

mod log;
mod overview;
mod reuse;
mod run;
mod stats;
mod task;
mod totals;

#[cfg(test)]
mod tests;

pub use log::{Log, LogFilter};
pub use overview::{Overview, StuckTask};
pub use reuse::ReuseStats;
pub use run::{RunView, TaskInRun};
pub use stats::{FeatureStats, ModelStats, Stats, StatsFilter, TaskCounts};
pub use task::{NextModel, TaskState, TaskView};
pub use totals::AttemptTotals;
