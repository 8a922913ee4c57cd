// SPDX-License-Identifier: MIT
// Go's HTTP client for the agreement test: requests as JSON on standard input, answers on output.
package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

type request struct {
	Method  string
	Target  string
	Headers [][2]string
	Chunked bool
	Body    *string
}

// A reader whose length the client cannot know, so that it sends chunks.
type unsized struct{ io.Reader }

func ask(client *http.Client, base string, wanted request) (map[string]any, error) {
	var body io.Reader
	if wanted.Body != nil {
		body = bytes.NewBufferString(*wanted.Body)
		if wanted.Chunked {
			body = unsized{body}
		}
	}
	asked, err := http.NewRequest(wanted.Method, base+wanted.Target, body)
	if err != nil {
		return nil, err
	}
	asked.URL.Opaque, asked.URL.RawQuery, asked.URL.ForceQuery = wanted.Target, "", false // as is
	for _, field := range wanted.Headers {
		if field[0] == "Host" {
			asked.Host = field[1]
		} else {
			asked.Header.Set(field[0], field[1])
		}
	}
	answer, err := client.Do(asked)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	headers := [][2]string{}
	for name, values := range answer.Header {
		for _, value := range values {
			headers = append(headers, [2]string{name, value})
		}
	}
	if answer.ContentLength >= 0 && answer.Header.Get("Content-Length") == "" && len(data) > 0 {
		headers = append(headers, [2]string{"Content-Length", fmt.Sprint(answer.ContentLength)})
	}
	if answer.Close {
		headers = append(headers, [2]string{"Connection", "close"})
	}
	return map[string]any{"status": answer.StatusCode, "headers": headers,
		"body": hex.EncodeToString(data)}, nil
}

func main() {
	client := &http.Client{
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DisableCompression: true, ExpectContinueTimeout: time.Second},
	}
	var wanted []request
	if err := json.NewDecoder(os.Stdin).Decode(&wanted); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answers := []map[string]any{}
	for _, each := range wanted {
		answer, err := ask(client, os.Args[1], each)
		if err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		answers = append(answers, answer)
	}
	json.NewEncoder(os.Stdout).Encode(answers)
}
