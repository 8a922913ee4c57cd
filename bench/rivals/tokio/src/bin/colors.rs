// SPDX-License-Identifier: MIT

//! tokio's multi-thread runtime: a task with a channel is a color. Where two cores must take part,
//! each side is a current-thread runtime on a thread of its own, because the pool may run both ends
//! of a chain on the same thread. Same arguments and output as the other rivals of suite sched:
//! see ../../../harness.hh.

use std::hint::black_box;
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

const MANY_COLORS: usize = 100_000;
const WORK_STEPS: u64 = 2500;

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

struct Times {
    cpu: f64,
    wall: f64,
}

fn timed(body: impl FnOnce()) -> Times {
    let (cpu, wall) = (cpu_ns(), Instant::now());
    body();
    Times {
        cpu: cpu_ns() - cpu,
        wall: wall.elapsed().as_nanos() as f64,
    }
}

fn workers(n: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(n)
        .build()
        .unwrap()
}

fn alone() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

fn work(mut x: u64) -> u64 {
    for _ in 0..WORK_STEPS {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

/// Runs a body as a task of the pool, not on the thread that waits for it.
fn run_in(pool: &Runtime, body: impl std::future::Future<Output = ()> + Send + 'static) {
    pool.block_on(async { tokio::spawn(body).await.unwrap() });
}

fn post_run(n: u64) -> Times {
    let pool = workers(1);
    timed(|| {
        run_in(&pool, async move {
            let (to, mut own) = mpsc::unbounded_channel();
            for i in 0..n {
                to.send(i).unwrap();
                black_box(own.recv().await);
            }
        })
    })
}

type End = (mpsc::UnboundedSender<u64>, mpsc::UnboundedReceiver<u64>);

fn ends() -> (End, End) {
    let (to, there) = mpsc::unbounded_channel();
    let (fro, here) = mpsc::unbounded_channel();
    ((to, here), (fro, there))
}

async fn serve_first(mut end: End, n: u64) {
    for i in 0..n / 2 {
        end.0.send(i).unwrap();
        black_box(end.1.recv().await);
    }
}

async fn return_all(mut end: End, n: u64) {
    for _ in 0..n / 2 {
        let got = end.1.recv().await.unwrap();
        end.0.send(got).unwrap();
    }
}

fn across_one(n: u64) -> Times {
    let pool = workers(1);
    timed(|| {
        run_in(&pool, async move {
            let (a, b) = ends();
            let other = tokio::spawn(return_all(b, n));
            serve_first(a, n).await;
            other.await.unwrap();
        })
    })
}

fn latency(n: u64) -> Times {
    timed(|| {
        let (a, b) = ends();
        let other = std::thread::spawn(move || alone().block_on(return_all(b, n)));
        alone().block_on(serve_first(a, n));
        other.join().unwrap();
    })
}

fn stream(n: u64) -> Times {
    timed(|| {
        let (to, mut items) = mpsc::channel(1024);
        let producer = std::thread::spawn(move || {
            alone().block_on(async move {
                for i in 0..n {
                    to.send(i).await.unwrap();
                }
            })
        });
        alone().block_on(async move {
            while let Some(i) = items.recv().await {
                black_box(i);
            }
        });
        producer.join().unwrap();
    })
}

fn unbalanced(n: u64, threads: usize) -> Times {
    let pool = workers(threads);
    timed(|| {
        run_in(&pool, async move {
            let all: Vec<_> = (0..n)
                .map(|i| tokio::spawn(async move { black_box(work(i + 1)) }))
                .collect();
            for one in all {
                one.await.unwrap();
            }
        })
    })
}

fn many(n: u64) -> Times {
    let pool = workers(2);
    let (inboxes, all): (Vec<_>, Vec<_>) = (0..MANY_COLORS)
        .map(|_| {
            let (to, mut inbox) = mpsc::unbounded_channel();
            let one = pool.spawn(async move {
                let mut sum = 0;
                while let Some(i) = inbox.recv().await {
                    sum += i;
                }
                sum
            });
            (to, one)
        })
        .unzip();
    timed(|| {
        run_in(&pool, async move {
            for i in 0..n {
                inboxes[i as usize % MANY_COLORS].send(i).unwrap();
            }
            drop(inboxes);
            for one in all {
                black_box(one.await.unwrap());
            }
        })
    })
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let count: u64 = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(0);
    let name = args.get(1).cloned().unwrap_or_default();
    let result = match (name.as_str(), count) {
        (_, 0) => None,
        ("post_run", n) => Some(post_run(n)),
        ("across_one", n) => Some(across_one(n)),
        ("stream", n) => Some(stream(n)),
        ("latency", n) => Some(latency(n)),
        ("unbalanced_1", n) => Some(unbalanced(n, 1)),
        ("unbalanced_2", n) => Some(unbalanced(n, 2)),
        ("many_colors", n) => Some(many(n)),
        _ => None,
    };
    let Some(t) = result else {
        eprintln!("usage: colors CASE COUNT");
        std::process::exit(2);
    };
    for (metric, value) in [("cpu_ns", t.cpu), ("wall_ns", t.wall)] {
        println!(
            "{{\"case\":\"{name}\",\"metric\":\"{metric}\",\"value\":{:.4},\"unit\":\"ns\"}}",
            value / count as f64
        );
    }
    std::process::exit(0);
}
