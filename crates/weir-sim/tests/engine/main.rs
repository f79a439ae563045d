// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The simulator with real components: what runs where and when.

#![allow(clippy::result_large_err)]

mod adapt;
mod calls;
mod common;
mod counters;
mod gangs;
mod growth;
mod heat;
mod late;
mod locking;
mod machines;
mod meeting;
mod mixed;
mod models;
mod nested;
mod overheads;
mod postponed;
mod push_pull;
mod random;
mod rbed;
mod reclaim;
mod rtapp;
mod servers;
mod standstill;
mod textbook;
