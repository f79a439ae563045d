// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The studio: a page in the browser to edit schedulers, run them and watch them, served by the program itself.
//!
//! What it shows is computed by the crate `weir`; here it is served, on the loopback address alone, to those who know the
//! token of its address. The page is one file that is part of the program; it loads nothing from anywhere else.

mod api;
mod files;
mod guard;
mod live;
mod page;
mod results;
mod runs;
mod worker;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use weir::{Fault, fault::Result};

use guard::Guard;
pub use results::summary;
pub use worker::work;

/// What the studio begins with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A catalogue name or a `.weir` file; one that does not exist yet is begun.
    pub file: Option<String>,
    /// 0: any that is free.
    pub port: u16,
    /// Folders with finished runs, to be shown first.
    pub results: Vec<PathBuf>,
    /// Socket of `runweir live`.
    pub socket: PathBuf,
    /// Arguments with which this program does [`work`].
    pub worker: Vec<String>,
}

/// What all requests share.
pub(crate) struct Shared {
    pub options: Options,
    pub runs: runs::Runs,
}

/// A studio that is reachable, but does not serve yet.
pub struct Studio {
    listener: std::net::TcpListener,
    guard: Arc<Guard>,
    options: Options,
}

impl Studio {
    /// Take the port.
    ///
    /// # Errors
    /// The user's: the port is taken, or the file cannot be read.
    pub fn open(options: Options) -> Result<Self> {
        files::begin(options.file.as_deref())?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let listener = std::net::TcpListener::bind(address).map_err(|e| {
            Fault::user(
                format!("cannot listen at {address}: {}", weir::input::reason(&e)),
                "choose another port: --port 0 takes any that is free",
            )
        })?;
        let broken = |e: std::io::Error| Fault::system(format!("cannot listen: {e}"), "try again");
        listener.set_nonblocking(true).map_err(broken)?;
        let port = listener.local_addr().map_err(broken)?.port();
        let guard = Arc::new(Guard::new(port).map_err(broken)?);
        Ok(Self { listener, guard, options })
    }

    /// Where it is, with the token: who has this address may do everything.
    pub fn address(&self) -> String {
        self.guard.address()
    }

    /// Serve until `stop` is set.
    ///
    /// # Errors
    /// The system's.
    pub fn serve(self, stop: &AtomicBool) -> Result<()> {
        let broken = |e: std::io::Error| Fault::system(format!("the studio ends: {e}"), "start it again");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)?;
        let shared = Arc::new(Shared { options: self.options, runs: runs::Runs::default() });
        let app: Router = page::routes()
            .merge(api::routes())
            .merge(runs::routes())
            .merge(live::routes())
            .merge(results::routes())
            .with_state(shared.clone())
            .layer(axum::middleware::from_fn_with_state(self.guard, guard::check));
        let done = runtime.block_on(async {
            let listener = TcpListener::from_std(self.listener)?;
            let server = async { axum::serve(listener, app).await };
            let ended = async {
                while !stop.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            };
            first(server, ended).await
        });
        shared.runs.close();
        // Simulations look at their flag between two events.
        runtime.shutdown_timeout(Duration::from_secs(2));
        done.map_err(broken)
    }
}

/// The result of the server, unless the other ends before.
async fn first(
    server: impl Future<Output = std::io::Result<()>>,
    ended: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let (mut server, mut ended) = (std::pin::pin!(server), std::pin::pin!(ended));
    std::future::poll_fn(|cx| match ended.as_mut().poll(cx) {
        std::task::Poll::Ready(()) => std::task::Poll::Ready(Ok(())),
        std::task::Poll::Pending => server.as_mut().poll(cx),
    })
    .await
}
