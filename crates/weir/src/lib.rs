// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The library behind the command line: everything that `runweir` computes is a function here with a typed result.
//!
//! No function prints, ends the program or panics because of its input: an error is a [`Fault`] with place, cause and remedy.
//! Long computations take a [`Watch`], through which the caller observes progress and can end them.
//!
//! | function | answers |
//! |---|---|
//! | [`run()`] | how does a workload perform under a scheduler? |
//! | [`compare()`] | how do several schedulers perform, over several seeds? |
//! | [`sweep()`] | how do results depend on parameters? |
//! | [`check()`] | are these topologies correct? |
//! | [`Guard`] | does a change make results worse than bounds allow? |
//! | [`tune()`] | which topology and which parameters serve a workload best? |
//! | [`advise()`] | what would another scheduler do for the machine that was recorded? |
//! | [`shrink()`] | what is the smallest run that still fails? |
//! | [`import()`] | what did a real machine do, as a workload? |
//! | [`Explainer`] | why did a task wait? how long did requests take? |
//! | [`knowledge`] | which CPUs are near, idle, or have room? what is where? |
//! | [`analyze()`] | what limits a topology, and which task sets meet their deadlines? |
//!
//! Each has a form in two steps (`PreparedRun`, `PreparedComparison`, `Sweep`), which first looks everything up, so that a
//! caller can show warnings and open a folder for the results before the work begins.
//!
//! ```
//! use weir::{RunOptions, Setting, Unwatched};
//!
//! let options = RunOptions {
//!     topology: Some("decentral".into()),
//!     setting: Setting {
//!         machine: Some("smp-2".into()),
//!         workload: Some("hackbench:groups=1,loops=2".into()),
//!         ..Setting::default()
//!     },
//!     ..RunOptions::default()
//! };
//! let result = weir::run(&options, &Unwatched)?;
//! assert_eq!(result.summary.machine, "smp-2");
//! assert!(result.summary.totals.context_switches > 0);
//!
//! // What is wrong comes back with its remedy.
//! let unknown = RunOptions { topology: Some("decentrall".into()), ..options };
//! let fault = weir::run(&unknown, &Unwatched).expect_err("there is no such topology");
//! assert!(fault.to_string().contains("no topology called `decentrall`"));
//! # Ok::<(), weir::Fault>(())
//! ```

pub mod advise;
pub mod analyze;
pub mod call_picture;
pub mod catalogue;
pub mod check;
pub mod code;
pub mod columns;
pub mod compare;
pub mod complete;
pub mod explain;
pub mod fault;
mod fidelity;
pub mod gang;
pub mod gang_map;
pub mod gantt;
pub mod graph_picture;
pub mod guard;
pub mod ignored;
pub mod import;
pub mod input;
#[cfg(feature = "knowledge")]
pub mod knowledge;
pub mod latency;
pub mod live_config;
pub mod machine;
pub mod outdir;
mod remarks;
pub mod requests;
pub mod run;
pub mod scenario;
pub mod session;
pub mod sheet;
pub mod shrink;
pub mod simso;
mod size;
pub mod stage;
pub mod sweep;
pub mod tables;
pub mod text;
pub mod topology;
pub mod tour;
pub mod tune;
pub mod units;
pub mod watch;
mod zstd;

pub use advise::{Advice, AdviseOptions, advise};
pub use analyze::{Analysis, AnalyzeOptions, Question, analyze};
pub use check::{CheckOptions, Checked, check};
pub use compare::{CompareOptions, Comparison, PreparedComparison, compare};
pub use explain::{Explainer, Explanation};
pub use fault::{Blame, Diag, Fault, Result};
pub use guard::{Guard, GuardResult};
pub use import::{ImportOptions, ImportResult, import};
pub use outdir::OutDir;
pub use requests::{Requests, Told};
pub use run::{Hw, PreparedRun, RunOptions, run};
pub use session::{RunResult, Setting, trace_in, trace_name};
pub use shrink::{ShrinkOptions, ShrinkResult, shrink};
pub use sweep::{Sweep, SweepResult, sweep};
pub use tune::{TuneResult, tune};
pub use watch::{Unwatched, Watch};
