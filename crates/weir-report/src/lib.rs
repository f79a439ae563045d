// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Results of a run: metrics, tables, a Perfetto trace and a self-contained HTML report.
//!
//! [`Metrics`], [`Trace`], [`Jobs`] and [`Gantt`] are observers of [`weir_core::event`]; joined in tuples, they
//! see the same stream. [`Metrics::finish`] makes a [`Summary`], from which all readable output is derived:
//! [`table`], [`compare_table`], [`tasks_csv`], [`html`], [`html_compare`] and, by serde, `summary.json`. A
//! [`SweepReport`] does the same for grids of runs. `docs/metrics.md` defines each number.
//!
//! No code here reads a clock or depends on hash order: equal event streams give equal bytes.

mod calls;
mod changes;
mod compare;
mod compare_picture;
mod counted;
mod csv;
mod gantt;
mod html;
mod jobs;
mod memory;
mod meta;
mod metrics;
pub mod picture;
mod plot;
mod proto;
mod screen;
mod sink;
mod stats;
mod summary;
mod sweep;
mod table;
mod text;
mod trace;
mod trace_ids;
mod wakeups;
mod window;

pub use calls::{CallEdge, CallFilter, CallGraph, CallKind, CallPart, CallPath, CallSums};
pub use compare::compare_table;
pub use compare_picture::compare_picture;
pub use counted::Counted;
pub use csv::{csv_field, tasks_csv};
pub use gantt::Gantt;
pub use html::{CompareExtras, HtmlExtras, guest_page, html, html_compare, timeline};
pub use jobs::Jobs;
pub use memory::{InMemory, shared};
pub use meta::{Meta, Names, stages};
pub use metrics::Metrics;
pub use plot::{Curve, Plot, Spot};
pub use screen::{Cell, Columns, Screen, Tone, pairs, pairs_at, wrap};
pub use stats::{Buckets, Dist, MeanCi, Ratio, Samples};
pub use summary::{
    BarrierSummary, CallSummary, ClockSummary, ComponentSummary, CpuSummary, CrashSummary, FaultSummary,
    GangGroupSummary, GangSummary, GroupSummary, GuestSummary, Histograms, Ignored, MessageSummary,
    PipeSummary, ReconfigurationSummary, Summary, SwapSummary, TaskSummary, Totals, Unfinished,
};
pub use sweep::{SweepAxis, SweepPoint, SweepReport};
pub use table::table;
pub use text::percent;
pub use text::{clip, duration, duration_f, exact};
pub use trace::Trace;
pub use wakeups::Wakeups;
pub use weir_text::{count, plural};
pub use window::{Part, Windowed};
