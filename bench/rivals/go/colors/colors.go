// SPDX-License-Identifier: MIT

// Go: a goroutine with a channel is a color. One P where one worker is asked for, else two.
// Same arguments and output as the other rivals of suite sched: see ../../harness.hh.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	manyColors = 100_000
	workSteps  = 2500
)

type times struct{ cpu, wall float64 }

func cpuNs() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

func timed(body func()) times {
	cpu, wall := cpuNs(), time.Now()
	body()
	return times{cpuNs() - cpu, float64(time.Since(wall).Nanoseconds())}
}

//go:noinline
func work(x uint64) uint64 {
	for i := 0; i < workSteps; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

var sum uint64

func postRun(n int) times {
	runtime.GOMAXPROCS(1)
	own := make(chan int, 1)
	return timed(func() {
		for ; n > 0; n-- {
			own <- n
			sum += uint64(<-own)
		}
	})
}

// One message goes to and fro; `locked` keeps each side on a thread of its own.
func pingPong(n, procs int, locked bool) times {
	runtime.GOMAXPROCS(procs)
	to, fro := make(chan int, 1), make(chan int, 1)
	lock := func() {
		if locked {
			runtime.LockOSThread()
		}
	}
	var both sync.WaitGroup
	return timed(func() {
		both.Add(2)
		go func() {
			lock()
			for i := 0; i < n/2; i++ {
				fro <- <-to
			}
			both.Done()
		}()
		go func() {
			lock()
			for i := 0; i < n/2; i++ {
				to <- i
				sum += uint64(<-fro)
			}
			both.Done()
		}()
		both.Wait()
	})
}

func stream(n int) times {
	runtime.GOMAXPROCS(2)
	items := make(chan int, 1024)
	return timed(func() {
		go func() {
			for i := 0; i < n; i++ {
				items <- i
			}
			close(items)
		}()
		for i := range items {
			sum += uint64(i)
		}
	})
}

func unbalanced(n, procs int) times {
	runtime.GOMAXPROCS(procs)
	var all sync.WaitGroup
	return timed(func() {
		all.Add(n)
		for i := 0; i < n; i++ {
			go func(seed uint64) {
				runtime.KeepAlive(work(seed))
				all.Done()
			}(uint64(i + 1))
		}
		all.Wait()
	})
}

func many(n int) times {
	runtime.GOMAXPROCS(2)
	var all sync.WaitGroup
	inboxes := make([]chan int, manyColors)
	sums := make([]int, manyColors)
	for c := range inboxes {
		inboxes[c] = make(chan int, 16)
		all.Add(1)
		go func(c int) {
			for i := range inboxes[c] {
				sums[c] += i
			}
			all.Done()
		}(c)
	}
	return timed(func() {
		for i := 0; i < n; i++ {
			inboxes[i%manyColors] <- i
		}
		for _, inbox := range inboxes {
			close(inbox)
		}
		all.Wait()
	})
}

func main() {
	cases := map[string]func(int) times{
		"post_run":     postRun,
		"across_one":   func(n int) times { return pingPong(n, 1, false) },
		"stream":       stream,
		"latency":      func(n int) times { return pingPong(n, 2, true) },
		"unbalanced_1": func(n int) times { return unbalanced(n, 1) },
		"unbalanced_2": func(n int) times { return unbalanced(n, 2) },
		"many_colors":  many,
	}
	if len(os.Args) != 3 || cases[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: colors CASE COUNT")
		os.Exit(2)
	}
	name := os.Args[1]
	count, _ := strconv.Atoi(os.Args[2])
	t := cases[name](count)
	line := "{\"case\":%q,\"metric\":%q,\"value\":%.4f,\"unit\":\"ns\"}\n"
	fmt.Printf(line, name, "cpu_ns", t.cpu/float64(count))
	fmt.Printf(line, name, "wall_ns", t.wall/float64(count))
}
