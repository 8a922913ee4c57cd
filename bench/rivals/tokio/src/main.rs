// SPDX-License-Identifier: MIT

// tokio's current-thread runtime: tasks, one after the other, spawned and joined.
// Same arguments and output as Boost.Fiber's program: see ../../harness.hh.

/// Nanoseconds of processor time of the whole process.
fn cpu_ns() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let count: u64 = words.get(2).and_then(|w| w.parse().ok()).unwrap_or(0);
    if words.get(1).map(String::as_str) != Some("spawn_join") || count == 0 {
        eprintln!("usage: core spawn_join COUNT");
        std::process::exit(2);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let passed = runtime.block_on(async {
        let begin = cpu_ns();
        for _ in 0..count {
            tokio::spawn(async {}).await.unwrap();
        }
        cpu_ns() - begin
    });
    let value = passed / count as f64;
    println!("{{\"case\":\"spawn_join\",\"metric\":\"cpu_ns\",\"value\":{value:.4},\"unit\":\"ns\"}}");
}
