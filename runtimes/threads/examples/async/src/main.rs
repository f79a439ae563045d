// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The web server of ../server.c on tokio: `runweir-async-server [PORT] [inline|blocking]`. /fast/N and /slow/N compute for N
//! microseconds and answer. A task a connection. `inline`: it computes where it is; `blocking`: by `spawn_blocking`, as is advised for
//! long computations. Neither knows which request is more urgent.

use std::hint::black_box;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// As in server.c: work that takes about this long at 3 GHz, each step of which needs the one before.
fn compute(us: u64) {
    let mut x = us + 1;
    for _ in 0..us * 500 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
}

/// N of `/fast/N` or `/slow/N`; none: the request is not complete.
fn wanted(text: &[u8]) -> Option<u64> {
    let mut headers = [httparse::EMPTY_HEADER; 16];
    let mut request = httparse::Request::new(&mut headers);
    let complete = request.parse(text).ok()?.is_complete();
    let n = request.path?.rsplit('/').next()?.parse().unwrap_or(0);
    complete.then_some(n)
}

async fn serve(mut stream: TcpStream, blocking: bool) -> std::io::Result<()> {
    let mut text = [0; 2048];
    let mut filled = 0;
    stream.set_nodelay(true)?;
    loop {
        let n = stream.read(&mut text[filled..]).await?;
        if n == 0 {
            return Ok(());
        }
        filled += n;
        let Some(us) = wanted(&text[..filled]) else { continue };
        filled = 0;
        if blocking {
            tokio::task::spawn_blocking(move || compute(us)).await?;
        } else {
            compute(us);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n").await?;
    }
}

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|p| p.parse().ok()).unwrap_or(8080);
    let blocking = std::env::args().nth(2).is_some_and(|how| how == "blocking");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_io().build()?;
    runtime.block_on(async {
        let door = TcpListener::bind(("127.0.0.1", port)).await?;
        println!("http://{} on tokio", door.local_addr()?);
        loop {
            let (stream, _) = door.accept().await?;
            // A client that goes away is not the server's concern.
            tokio::spawn(async move { serve(stream, blocking).await.ok() });
        }
    })
}
