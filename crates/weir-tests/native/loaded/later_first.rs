// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! later_first - the newest task goes first, written in Rust
//!
//! class:    order
//! ordering: total
//! pipes:    in 1, out 1 keyed
//! asks:     PRIORITY
//! params:   scale count 1 [1, 1000]; unused but by tests
//! state:    seen
//! per-task: times
//!
//! batch: the out-pipe holds the tasks of the in-pipe, the one with the greatest number first.
//!
//! example:  entry -> later_first -> cpu 0;

use crate::State;
use weir::*;

pub fn construct(me: &mut State) -> Result {
    if me.outs() == 1 { Ok(()) } else { Err(Error::PORTS) }
}

/// Where does a task stand that comes?
pub fn step(me: &mut State, what: What, task: Task, step: &mut Step) -> Port {
    if what == What::Arrived {
        me.seen += 1;
        me.of(task).times += 1;
    }
    step.key = !u64::from(task.id());
    Some(0)
}

pub fn on_priority(me: &mut State, msg: &Msg) -> Result {
    let Some(task) = msg.task() else { return Err(Error::INVAL) };
    let known = [me.seen, me.scale, msg.value, me.property(topic::PRIORITY, task)];
    // A state that was overwritten would show.
    assert!(me.scale >= 1 && known[1] <= 1000);
    Ok(())
}

pub fn take_state(me: &mut State, old: &mut State) {
    me.seen = old.seen;
}
