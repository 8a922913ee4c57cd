# SPDX-License-Identifier: MIT
"""The WebSocket client of suite web: bench_websocket.py PORT PATH CONNECTIONS BYTES SECONDS PID...

At /echo all connections send a message, and each reads it back; at /chat one sends, and all read
it. Prints JSON: messages that the server sent, and the seconds that the scheduler ran the server's
processes meanwhile. The client may be slow: what counts is the server's processor time.
"""

import json
import pathlib
import socket
import sys
import time


def connect(port, path):
    s = socket.create_connection(("127.0.0.1", port), 5)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
              "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
              "Sec-WebSocket-Version: 13\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        part = s.recv(1)
        if not part:
            break
        head += part
    if b" 101 " not in head:
        sys.exit(f"no WebSocket at {path}: {head[:60]!r}")
    return s


def frame(size):
    """A masked text message (RFC 6455 section 5.2), and its unmasked form."""
    mask, payload = b"\x01\x02\x03\x04", b"m" * size
    masked = bytes(c ^ mask[i % 4] for i, c in enumerate(payload))
    if size < 126:
        return bytes([0x81, 0x80 | size]) + mask + masked, bytes([0x81, size]) + payload
    length = size.to_bytes(2, "big")
    return (bytes([0x81, 0xfe]) + length + mask + masked, bytes([0x81, 126]) + length + payload)


def take(s, wanted):
    got = s.recv(len(wanted))
    while len(got) < len(wanted):
        part = s.recv(len(wanted) - len(got))
        if not part:
            sys.exit("the server closed a connection")
        got += part
    if got != wanted:
        sys.exit("the server sent another message than it was to send")


def run_seconds(pids):
    """How long the scheduler ran all threads of these processes, from schedstat."""
    total_ns = 0
    for pid in pids:
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                total_ns += int(task.read_text().split()[0])
            except OSError:
                continue   # the thread has ended
    return total_ns / 1e9


def main():
    port, path, count, size = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    seconds, pids = float(sys.argv[5]), sys.argv[6:]
    sockets = [connect(port, path) for _ in range(count)]
    senders = sockets if path == "/echo" else sockets[:1]
    sent, wanted = frame(size)
    messages, end, before = 0, None, 0
    while True:
        for s in senders:
            s.sendall(sent)
        for s in sockets:
            take(s, wanted)
        if end is None:   # the first round only warms up
            before, end = run_seconds(pids), time.monotonic() + seconds
            continue
        messages += len(sockets)
        if time.monotonic() >= end:
            break
    print(json.dumps({"messages": messages, "cpu_s": run_seconds(pids) - before}))


if __name__ == "__main__":
    main()
