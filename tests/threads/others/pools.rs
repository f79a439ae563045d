// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Pools of threads that others wrote: rayon's sums and sorts, tokio's tasks, timers, channels and sockets.
use rayon::prelude::*;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let (sum, sorted) = pool.install(|| {
        let mut words: Vec<u64> = (0..200_000u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40).collect();
        words.par_sort_unstable();
        let sum: u64 = (0..300_000u64).into_par_iter().map(|n| n % 7).sum();
        (sum, words.windows(2).all(|w| w[0] <= w[1]))
    });
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_all().build().unwrap();
    let total: u64 = tokio.block_on(async {
        let (send, mut receive) = tokio::sync::mpsc::channel(4);
        for n in 0..20u64 {
            let send = send.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(n % 5)).await;
                let hard = tokio::task::spawn_blocking(move || (0..50_000u64).fold(n, |a, b| a ^ b)).await.unwrap();
                send.send(hard).await.unwrap();
            });
        }
        drop(send);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let echo = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut word = [0; 8];
            while stream.read_exact(&mut word).await.is_ok() {
                stream.write_all(&word).await.unwrap();
            }
        });
        let mut stream = tokio::net::TcpStream::connect(at).await.unwrap();
        let (mut total, mut word) = (0, [0; 8]);
        for n in 0..200u64 {
            stream.write_all(&n.to_le_bytes()).await.unwrap();
            stream.read_exact(&mut word).await.unwrap();
            total += u64::from_le_bytes(word);
        }
        drop(stream);
        echo.await.unwrap();
        while let Some(hard) = receive.recv().await {
            total += hard;
        }
        total
    });
    println!("{sum} {sorted} {total}");
}
