// SPDX-License-Identifier: MIT

//! tokio on its current-thread runtime, which its documentation recommends for one thread.
//! Same arguments and output as the other rivals: see ../harness.hh.

use std::future::Future;
use std::hint::black_box;
use tokio::{sync::oneshot, task};

#[repr(C)]
struct Timespec {
    sec: i64,
    ns: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, at: *mut Timespec) -> i32;
}

fn cpu_ns() -> f64 {
    const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
    let mut t = Timespec { sec: 0, ns: 0 };
    unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.sec as f64 * 1e9 + t.ns as f64
}

fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0
}

async fn timed(body: impl Future<Output = ()>) -> f64 {
    let begin = cpu_ns();
    body.await;
    cpu_ns() - begin
}

async fn yields(count: u64, threads: u64) -> f64 {
    let each = count / threads;
    let all: Vec<_> = (0..threads)
        .map(|_| {
            task::spawn(async move {
                for _ in 0..each {
                    task::yield_now().await;
                }
            })
        })
        .collect();
    let ns = timed(async {
        for t in all {
            t.await.unwrap();
        }
    })
    .await;
    ns * count as f64 / (each * threads) as f64
}

// An awaited child lives inside its parent's state here: no frame is made.
async fn empty() {
    black_box(())
}

async fn await_many(count: u64) {
    for _ in 0..count {
        empty().await;
    }
}

async fn spawn_many(count: u64) {
    for _ in 0..count {
        task::spawn(empty()).await.unwrap();
    }
}

async fn event_many(count: u64) {
    for _ in 0..count {
        let (trigger, event) = oneshot::channel();
        trigger.send(1).unwrap();
        black_box(event.await.unwrap());
    }
}

// Every task yields once before its memory is counted.
async fn parked(count: u64) -> f64 {
    let begin = resident_bytes();
    for _ in 0..count {
        drop(task::spawn(async {
            loop {
                task::yield_now().await;
            }
        }));
    }
    task::yield_now().await;
    task::yield_now().await;
    resident_bytes() - begin
}

async fn run(name: &str, count: u64) -> Option<f64> {
    Some(match name {
        "yield_2" => yields(count, 2).await,
        "yield_10000" => yields(count, 10000).await,
        "await_empty_child" => timed(await_many(count)).await,
        "spawn_join" => timed(spawn_many(count)).await,
        "event" => timed(event_many(count)).await,
        "parked_bytes" => parked(count).await,
        _ => return None,
    })
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let count = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(0);
    let name = args.get(1).cloned().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let result = runtime.block_on(run(&name, count.max(1)));
    let (Some(value), true) = (result, count > 0) else {
        eprintln!("usage: core_tokio CASE COUNT");
        std::process::exit(2);
    };
    let (metric, unit) = if name == "parked_bytes" { ("bytes", "B") } else { ("cpu_ns", "ns") };
    println!(
        "{{\"case\":\"{name}\",\"metric\":\"{metric}\",\"value\":{:.4},\"unit\":\"{unit}\"}}",
        value / count as f64
    );
    std::process::exit(0); // parked tasks need not be taken down one by one
}
