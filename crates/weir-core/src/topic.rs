// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The standard topics and the queries of STATUS. Their lists follow from `weir/broker.h` and `weir/status.h` (build/topics.rs).

include!(concat!(env!("OUT_DIR"), "/topics.rs"));

/// Topics of components, and of rules that wait for them, that a scheduler has room for beside the standard ones.
pub const OWN_TOPICS: usize = crate::classes::OWN_FIRST as usize - Topic::ALL.len();

/// Why one more finds no place.
pub(crate) fn too_many() -> String {
    format!(
        "there is room for {OWN_TOPICS} topics that components bring along and rules wait for, and they are taken"
    )
}

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
