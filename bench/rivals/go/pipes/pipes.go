// SPDX-License-Identifier: MIT

// Figure 18 of Li and Zdancewic, 2007, with a goroutine each and one P: 128 pairs send 32 KB to and
// fro over pipes of 4 KB, while other goroutines wait on pipes on which nothing happens.
//
//	pipes IDLE ROUNDS
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

const (
	pairs        = 128
	messageBytes = 32 * 1024
	setPipeSize  = 1031 // F_SETPIPE_SZ
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) * 1e-9
}

func smallPipe() (*os.File, *os.File) {
	r, w, err := os.Pipe()
	must(err)
	raw, err := r.SyscallConn()
	must(err)
	must(raw.Control(func(fd uintptr) {
		syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, 4096)
	}))
	return r, w
}

// A pipe of which one descriptor is both ends, so that twice as many fit below the limit.
func idlePipe() *os.File {
	var ends [2]int
	must(syscall.Pipe(ends[:]))
	path := fmt.Sprintf("/proc/self/fd/%d", ends[0])
	both, err := syscall.Open(path, syscall.O_RDWR|syscall.O_NONBLOCK, 0)
	must(err)
	syscall.Close(ends[0])
	syscall.Close(ends[1])
	return os.NewFile(uintptr(both), "idle")
}

func talk(in, out *os.File, begins bool, rounds int) {
	message := make([]byte, messageBytes)
	send := func() {
		_, err := out.Write(message)
		must(err)
	}
	for i := 0; i < rounds; i++ {
		if begins {
			send()
		}
		_, err := io.ReadFull(in, message)
		must(err)
		if !begins {
			send()
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pipes IDLE ROUNDS")
		os.Exit(2)
	}
	idle, _ := strconv.Atoi(os.Args[1])
	rounds, _ := strconv.Atoi(os.Args[2])
	runtime.GOMAXPROCS(1)
	var most syscall.Rlimit
	must(syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most))
	most.Cur = most.Max
	must(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &most))

	for i := 0; i < idle; i++ {
		p := idlePipe()
		go func() {
			var one [1]byte
			p.Read(one[:])
		}()
	}
	var all sync.WaitGroup
	gate := make(chan struct{})
	for i := 0; i < pairs; i++ {
		thereIn, thereOut := smallPipe()
		backIn, backOut := smallPipe()
		for _, side := range []struct {
			in, out *os.File
			begins  bool
		}{{backIn, thereOut, true}, {thereIn, backOut, false}} {
			all.Add(1)
			go func(in, out *os.File, begins bool) {
				<-gate
				talk(in, out, begins, rounds)
				all.Done()
			}(side.in, side.out, side.begins)
		}
	}
	for i := 0; i < 10; i++ {
		runtime.Gosched()
	}
	begin := cpuSeconds()
	close(gate)
	all.Wait()
	bytes := 2 * pairs * float64(rounds) * messageBytes
	fmt.Printf("{\"idle\":%d,\"bytes_per_cpu_s\":%.0f}\n", idle, bytes/(cpuSeconds()-begin))
}
