// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tracks of the traces that Runweir writes: a kind and a number in one identifier.

use crate::error::Result;
use crate::wire::fields;

/// Kinds of tracks.
pub(crate) const PROCESS: u64 = 1;
pub(crate) const CPU: u64 = 2;
pub(crate) const TASK: u64 = 3;
pub(crate) const OTHER: u64 = 6;

/// The kind and the number of a track.
pub(crate) fn kind_and_number(uuid: u64) -> (u64, u64) {
    if uuid >> 40 != 0 {
        // A guest's: tracks of their own, with names of their own.
        return (0, 0);
    }
    (uuid & 7, (uuid >> 3).wrapping_sub(1))
}

/// What a trace says of a track.
pub(crate) struct Track {
    pub kind: u64,
    pub number: u64,
    /// Of a task without the number that it may end with: `name #7`.
    pub name: Option<String>,
    /// The name of a process.
    pub title: Option<String>,
}

/// Reads a track's descriptor.
pub(crate) fn descriptor(b: &[u8]) -> Result<Track> {
    let (mut uuid, mut name, mut title) = (0, None, None);
    for field in fields(b) {
        match field? {
            (1, v) => uuid = v.number(),
            (2, v) => name = Some(v.text()),
            (3, process) => {
                for field in fields(process.bytes()) {
                    if let (6, v) = field? {
                        title = Some(v.text());
                    }
                }
            }
            _ => {}
        }
    }
    let (kind, number) = kind_and_number(uuid);
    if kind == TASK
        && let Some(name) = &mut name
        && let Some(end) = name.rfind(" #")
    {
        name.truncate(end);
    }
    Ok(Track { kind, number, name, title })
}
