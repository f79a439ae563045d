// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The standard topics of `weir/broker.h`, listed once.

macro_rules! topics {
    ($($topic:ident => $name:literal,)*) => {
        /// Standard topics (`weir/broker.h`); the number is the array index.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum Topic {
            $($topic,)*
        }

        impl Topic {
            /// In order of their number.
            pub(crate) const ALL: &[Topic] = &[$(Topic::$topic,)*];

            /// Name as in `weir/broker.h`, without the prefix.
            pub fn name(self) -> &'static str {
                match self {
                    $(Topic::$topic => $name,)*
                }
            }
        }
    };
}

topics! {
    CpuStatus => "CPU_STATUS",
    Admit => "ADMIT",
    Dispatch => "DISPATCH",
    Relinquish => "RELINQUISH",
    Block => "BLOCK",
    Unblock => "UNBLOCK",
    Exit => "EXIT",
    Tick => "TICK",
    Priority => "PRIORITY",
    Affinity => "AFFINITY",
    Deadline => "DEADLINE",
    Isa => "ISA",
    Counters => "COUNTERS",
    Power => "POWER",
    Thermal => "THERMAL",
    Frequency => "FREQUENCY",
    Burn => "BURN",
    Marker => "MARKER",
    Preempt => "PREEMPT",
    Kick => "KICK",
    Overload => "OVERLOAD",
    Underload => "UNDERLOAD",
    DeadlineMiss => "DEADLINE_MISS",
    Slice => "SLICE",
    Lamport => "LAMPORT",
    Tcb => "TCB",
    Status => "STATUS",
    Fault => "FAULT",
    Withheld => "WITHHELD",
    Reconfigure => "RECONFIGURE",
    Job => "JOB",
    Executed => "EXECUTED",
    Policy => "POLICY",
    Criticality => "CRITICALITY",
    Budget => "BUDGET",
    Weight => "WEIGHT",
    Group => "GROUP",
    Penalty => "PENALTY",
    Fair => "FAIR",
    Latency => "LATENCY",
    Limit => "LIMIT",
    Gang => "GANG",
    GangSlot => "GANG_SLOT",
}

/// Topics of components, and of rules that wait for them, that a scheduler has room for beside the standard ones.
pub const OWN_TOPICS: usize = crate::classes::OWN_FIRST as usize - Topic::ALL.len();

/// Why one more finds no place.
pub(crate) fn too_many() -> String {
    format!(
        "there is room for {OWN_TOPICS} topics that components bring along and rules wait for, and they are taken"
    )
}

/// What STATUS may be asked, in the order of the numbers of `weir/status.h`; the object is a pipe or an instance.
pub const STATUS_QUERIES: [&str; 15] = [
    "PIPE_NR",
    "PIPE_LOAD",
    "PIPE_MAX",
    "PIPE_ADDED",
    "PIPE_REMOVED",
    "NR_PIPES",
    "NR_INSTANCES",
    "INSTANCE_UPDATES",
    "NR_TASKS",
    "NR_SCHEDULABLE",
    "NR_RUNNING",
    "NR_IDLE",
    "NR_ONLINE",
    "ARENA_USED",
    "FAULTS",
];

impl Topic {
    /// The standard topics, in order of their number.
    pub fn all() -> impl Iterator<Item = Topic> {
        Self::ALL.iter().copied()
    }

    /// The topic of that name.
    pub fn by_name(name: &str) -> Option<Topic> {
        Self::all().find(|t| t.name() == name)
    }

    /// The topic's bit in a set of topics.
    pub(crate) fn bit(self) -> u64 {
        1 << self as u32
    }
}
