// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Copies of the analyses with an error in each, made by `build.rs` from their source, and what they claim.

include!(concat!(env!("OUT_DIR"), "/planted.rs"));

use crate::judge::{Asked, Claim, Judge};

macro_rules! judges {
    ($($m:ident)+) => {
        /// The names of the errors, and who makes them.
        pub const ALL: &[(&str, Judge)] = &[$((stringify!($m), |asked| $m(asked)),)+];

        $(
            /// What the copy claims.
            fn $m(asked: &Asked<'_>) -> Claim {
                use weir_analysis as good;

                fn protocol(p: good::locks::Protocol) -> self::$m::locks::Protocol {
                    use self::$m::locks::Protocol as P;
                    match p {
                        good::locks::Protocol::None => P::None,
                        good::locks::Protocol::Inherit => P::Inherit,
                        good::locks::Protocol::Ceiling => P::Ceiling,
                        good::locks::Protocol::Classic => P::Classic,
                        good::locks::Protocol::Spin => P::Spin,
                    }
                }

                fn task(t: &good::Task) -> self::$m::Task {
                    use self::$m::locks::{Mutex, Step};
                    let step = |s: &good::locks::Step| match *s {
                        good::locks::Step::Run(ns) => Step::Run(ns),
                        good::locks::Step::Lock(m) => Step::Lock(Mutex { id: m.id, protocol: protocol(m.protocol) }),
                        good::locks::Step::Unlock(id) => Step::Unlock(id),
                    };
                    self::$m::Task {
                        name: t.name.clone(),
                        wcet: t.wcet,
                        period: t.period,
                        deadline: t.deadline,
                        jitter: t.jitter,
                        offset: t.offset,
                        sporadic: t.sporadic,
                        priority: t.priority,
                        blocking: t.blocking,
                        sleep: t.sleep,
                        sleeps: t.sleeps,
                        steps: t.steps.iter().map(step).collect(),
                        level: match t.level {
                            good::Level::Low => self::$m::Level::Low,
                            good::Level::High { wcet } => self::$m::Level::High { wcet },
                        },
                        told: t.told,
                    }
                }

                fn policy(p: &good::Policy) -> self::$m::Policy {
                    use self::$m::{Fit, Policy as P, Priorities};
                    match p {
                        good::Policy::Fixed(by) => P::Fixed(match by {
                            good::Priorities::Rate => Priorities::Rate,
                            good::Priorities::Deadline => Priorities::Deadline,
                            good::Priorities::Given => Priorities::Given,
                        }),
                        good::Policy::Edf => P::Edf,
                        good::Policy::EdfUs { threshold_pct } => P::EdfUs { threshold_pct: *threshold_pct },
                        good::Policy::RmUs => P::RmUs,
                        good::Policy::Edzl => P::Edzl,
                        good::Policy::Llf { tick_ns } => P::Llf { tick_ns: *tick_ns },
                        good::Policy::Ticked { tick_ns, by } => {
                            P::Ticked { tick_ns: *tick_ns, by: Box::new(policy(by)) }
                        }
                        good::Policy::EdfVd { x_pct } => P::EdfVd { x_pct: *x_pct },
                        good::Policy::Run => P::Run,
                        good::Policy::Optimal { quantum_ns } => P::Optimal { quantum_ns: *quantum_ns },
                        good::Policy::Partitioned { fit, bound_pct, local } => P::Partitioned {
                            fit: match fit {
                                good::Fit::First => Fit::First,
                                good::Fit::Best => Fit::Best,
                                good::Fit::Worst => Fit::Worst,
                            },
                            bound_pct: *bound_pct,
                            local: Box::new(policy(local)),
                        },
                    }
                }

                let none = Claim { schedulable: false, upper: vec![None; asked.tasks.tasks.len()] };
                let Some(p) = asked.policy().filter(|_| !asked.costs) else { return none };
                let all = |tasks: &[good::Task]| tasks.iter().map(task).collect::<Vec<_>>();
                let (tasks, declared) = (all(&asked.tasks.tasks), all(&asked.tasks.declared));
                let background: Vec<self::$m::Background> = asked
                    .tasks
                    .background
                    .iter()
                    .map(|b| self::$m::Background {
                        task: task(&b.task),
                        gaps: match b.gaps {
                            good::Gaps::Unknown => self::$m::Gaps::Unknown,
                            good::Gaps::Least => self::$m::Gaps::Least,
                            good::Gaps::None => self::$m::Gaps::None,
                        },
                    })
                    .collect();
                let features: Vec<self::$m::Feature> =
                    asked.features.iter().map(|f| self::$m::Feature::ALL[*f as usize]).collect();
                let load = self::$m::Load {
                    declared: &declared,
                    background: &background,
                    features: &features,
                    ..self::$m::Load::of(&tasks)
                };
                let found = load.analyze(asked.cpus, &policy(&p));
                let mut claim = none;
                claim.schedulable = self::$m::policy::conclude(&found) == self::$m::Verdict::Schedulable;
                for f in found.iter().filter(|f| f.bound == self::$m::Bound::Upper) {
                    claim.add(&f.response);
                }
                claim
            }
        )+
    };
}

/// Sets where the error of this name can matter.
pub fn concerns(name: &str, set: &crate::Set) -> bool {
    let fixed = ["rm", "dm", "fp"].contains(&set.topology);
    let one = set.cpus == 1 && !set.costs;
    let has = |step: fn(&crate::set::Piece) -> bool| set.tasks.iter().any(|t| t.steps.iter().any(step));
    match name {
        "inheritance" => one && fixed && !set.protocols.is_empty(),
        "jitter" => one && fixed && set.tasks.iter().any(|t| t.jitter > 0),
        "demand" => one && set.topology == "edf" && !set.protocols.is_empty(),
        "sleep" => one && fixed && has(|p| matches!(p, crate::set::Piece::Sleep(_))),
        _ => !set.beside.is_empty() || set.tasks.iter().any(|t| !t.more.is_empty()),
    }
}

judges!(inheritance jitter demand sleep assumptions);

macro_rules! forecasts {
    ($($m:ident)+) => {
        /// Forecasts with an error.
        pub const FORECASTS: &[(&str, crate::forecast::Judge)] = &[$((stringify!($m), |asked| {
            let field = self::$m::Field {
                machine: &asked.machine,
                workload: &asked.workload,
                costs: &asked.costs,
                sets: &[],
                duration_ns: None,
                seed: 1,
                watch: &weir::Unwatched,
            };
            self::$m::analyze(&field, &asked.source, asked.share).map(|report| report.json())
        }),)+];
    };
}

forecasts!(reach share again);

macro_rules! maps {
    ($($m:ident)+) => {
        /// Maps of gangs with an error.
        pub const MAPS: &[(&str, crate::gangs::Judge)] = &[$((stringify!($m), |machine, costs, team| {
            let cell = self::$m::place(machine, costs, team, &weir::Unwatched)?;
            Ok(serde_json::json!(cell.verdict))
        }),)+];
    };
}

maps!(quotient short outside);
