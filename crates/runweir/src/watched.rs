// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What `top` and `status` show: the scheduler in the kernel, or that of a program's own threads.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use weir_linux::client;

#[derive(Clone, Debug, Args)]
pub struct Watched {
    /// Show the threads of this process, which run under a policy (`runweir threads`, libweir_threads)
    #[arg(long, value_name = "PID", conflicts_with = "socket", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,
    /// Socket of `runweir live`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}

impl Watched {
    pub fn socket(&self) -> PathBuf {
        self.pid.map_or_else(|| client::socket_path(self.socket.as_deref()), client::program_socket)
    }
}
