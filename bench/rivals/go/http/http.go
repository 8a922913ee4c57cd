// SPDX-License-Identifier: MIT

// Go's net/http with one P: the files of a folder, kept in memory.
//
//	http PORT DIR
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

func load(folder string) (map[string][]byte, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	site := map[string][]byte{}
	for _, entry := range entries {
		body, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		site["/"+entry.Name()] = body
	}
	return site, nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: http PORT DIR")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(1)
	site, err := load(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, found := site[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		fields := w.Header()
		fields.Set("Server", "go")
		fields.Set("Content-Type", "text/plain")
		fields.Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err == nil {
		err = http.Serve(listener, http.HandlerFunc(answer))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
