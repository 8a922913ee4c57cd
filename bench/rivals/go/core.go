// SPDX-License-Identifier: MIT

// Go with one P: goroutines, and WaitGroup as join.
// Same arguments and output as Boost.Fiber's program: see ../harness.hh.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

func cpuNs() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

func residentBytes() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	pages, _ := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * float64(os.Getpagesize())
}

func timed(body func()) float64 {
	begin := cpuNs()
	body()
	return cpuNs() - begin
}

func yields(count, threads int) float64 {
	var all sync.WaitGroup
	gate := make(chan struct{})
	for i := 0; i < threads; i++ {
		all.Add(1)
		go func() {
			<-gate
			for n := count / threads; n > 0; n-- {
				runtime.Gosched()
			}
			all.Done()
		}()
	}
	runtime.Gosched()
	ns := timed(func() { close(gate); all.Wait() })
	return ns * float64(count) / float64(count/threads*threads)
}

func spawnJoin(count int) float64 {
	return timed(func() {
		for ; count > 0; count-- {
			var one sync.WaitGroup
			one.Add(1)
			go func() { one.Done() }()
			one.Wait()
		}
	})
}

// Every goroutine has run once before its memory is counted.
func parked(count int) float64 {
	begin := residentBytes()
	never := make(chan struct{})
	for i := 0; i < count; i++ {
		go func() { <-never }()
	}
	for i := 0; i < 10; i++ {
		runtime.Gosched()
	}
	return residentBytes() - begin
}

func main() {
	runtime.GOMAXPROCS(1)
	cases := map[string]func(int) float64{
		"yield_2":      func(n int) float64 { return yields(n, 2) },
		"yield_10000":  func(n int) float64 { return yields(n, 10000) },
		"spawn_join":   spawnJoin,
		"parked_bytes": parked,
	}
	if len(os.Args) != 3 || cases[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: core CASE COUNT")
		os.Exit(2)
	}
	name := os.Args[1]
	count, _ := strconv.Atoi(os.Args[2])
	metric, unit := "cpu_ns", "ns"
	if name == "parked_bytes" {
		metric, unit = "bytes", "B"
	}
	fmt.Printf("{\"case\":%q,\"metric\":%q,\"value\":%.4f,\"unit\":%q}\n", name, metric,
		cases[name](count)/float64(count), unit)
}
