// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir tour`.

use std::process::ExitCode;

use crate::fault::Result;
use crate::output::{print, screen};
use crate::progress::Counter;
use crate::stop;

/// Make the runs, show them.
pub fn tour() -> Result<ExitCode> {
    stop::install_saying("ending the tour")?;
    let counter = Counter::new(0, 0, true);
    let tour = weir::tour::tour(&counter);
    counter.finish();
    print(&tour?.text(&screen()))?;
    Ok(ExitCode::SUCCESS)
}
