// SPDX-License-Identifier: MIT

//! Figure 18 of Li and Zdancewic, 2007, on tokio's current-thread runtime: 128 pairs of tasks send
//! 32 KB to and fro over pipes of 4 KB, while other tasks wait on pipes on which nothing happens.
//!     pipes IDLE ROUNDS

use std::os::fd::AsRawFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

const PAIRS: usize = 128;
const MESSAGE_BYTES: usize = 32 * 1024;
const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
const SET_PIPE_SIZE: i32 = 1031; // F_SETPIPE_SZ
const LIMIT_FILES: i32 = 7; // RLIMIT_NOFILE

#[repr(C)]
struct Timespec {
    sec: i64,
    ns: i64,
}

#[repr(C)]
struct Limit {
    now: u64,
    most: u64,
}

extern "C" {
    fn clock_gettime(clock: i32, at: *mut Timespec) -> i32;
    fn fcntl(fd: i32, command: i32, argument: i32) -> i32;
    fn getrlimit(which: i32, limit: *mut Limit) -> i32;
    fn setrlimit(which: i32, limit: *const Limit) -> i32;
}

fn cpu_s() -> f64 {
    let mut t = Timespec { sec: 0, ns: 0 };
    unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.sec as f64 + t.ns as f64 * 1e-9
}

fn raise_limit() {
    let mut limit = Limit { now: 0, most: 0 };
    unsafe {
        getrlimit(LIMIT_FILES, &mut limit);
        limit.now = limit.most;
        setrlimit(LIMIT_FILES, &limit);
    }
}

fn small_pipe() -> (pipe::Sender, pipe::Receiver) {
    let ends = pipe::pipe().unwrap();
    unsafe { fcntl(ends.1.as_raw_fd(), SET_PIPE_SIZE, 4096) };
    ends
}

/// A pipe of which one descriptor is both ends, so that twice as many fit below the limit.
fn idle_pipe() -> pipe::Receiver {
    let (_out, ends) = pipe::pipe().unwrap();
    let path = format!("/proc/self/fd/{}", ends.as_raw_fd());
    pipe::OpenOptions::new().read_write(true).open_receiver(path).unwrap()
}

async fn talk(mut from: pipe::Receiver, mut to: pipe::Sender, begins: bool, rounds: usize) {
    let mut message = vec![0u8; MESSAGE_BYTES];
    for _ in 0..rounds {
        if begins {
            to.write_all(&message).await.unwrap();
        }
        from.read_exact(&mut message).await.unwrap();
        if !begins {
            to.write_all(&message).await.unwrap();
        }
    }
}

async fn run(idle: usize, rounds: usize) -> f64 {
    for _ in 0..idle {
        let mut from = idle_pipe();
        drop(tokio::spawn(async move {
            let mut one = [0u8; 1];
            drop(from.read(&mut one).await);
        }));
    }
    for _ in 0..4 {
        tokio::task::yield_now().await;
    }
    let mut sides = Vec::new();
    for _ in 0..PAIRS {
        let (there_to, there_from) = small_pipe();
        let (back_to, back_from) = small_pipe();
        sides.push((back_from, there_to, true));
        sides.push((there_from, back_to, false));
    }
    let begin = cpu_s();
    let all: Vec<_> = sides
        .into_iter()
        .map(|(from, to, begins)| tokio::spawn(talk(from, to, begins, rounds)))
        .collect();
    for one in all {
        one.await.unwrap();
    }
    (2 * PAIRS * rounds * MESSAGE_BYTES) as f64 / (cpu_s() - begin)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |at: usize| args.get(at).and_then(|a| a.parse::<usize>().ok());
    let (Some(idle), Some(rounds)) = (number(1), number(2)) else {
        eprintln!("usage: pipes IDLE ROUNDS");
        std::process::exit(2);
    };
    raise_limit();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let speed = runtime.block_on(run(idle, rounds));
    println!("{{\"idle\":{idle},\"bytes_per_cpu_s\":{speed:.0}}}");
    std::process::exit(0); // the idle ones wait for ever
}
