# SPDX-License-Identifier: MIT
"""heddle trace tcp: a trace that is built here, packet by packet, comes back as a list, as JSON and
as a picture; what is no trace is said."""

import json
import pathlib
import struct
import tempfile
import unittest
import xml.etree.ElementTree as xml

from program import run

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
CLIENT, SERVER = (bytes([10, 0, 0, 1]), 40000), (bytes([10, 0, 0, 2]), 80)


def packet(source, target, seq, ack, flags, length=0, options=b"", window=1000):
    head = 20 + len(options)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + head + length, 1, 0x4000, 64, 6, 0,
                     source[0], target[0])
    tcp = struct.pack(">HHIIBBHHH", source[1], target[1], seq % 2**32, ack % 2**32, head << 2,
                      flags, window, 0, 0)
    return ip + tcp + options + bytes(length)


def note(window, threshold, recovering):
    body = struct.pack(">IBBBxHHIIIIII", 0x6864746C, 1, 4, recovering, SERVER[1], CLIENT[1],
                       window, threshold, 0, 0, 0, 0).ljust(40, b"\0")
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 60, 1, 0, 64, 253, 0, SERVER[0], CLIENT[0])
    return ip + body


def trace(packets, kept=128):
    """A file of (microseconds, packet), each cut to so many bytes."""
    out = [struct.pack(">IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)]
    for at, p in packets:
        out.append(struct.pack(">IIII", at // 10**6, at % 10**6, min(len(p), kept), len(p)))
        out.append(p[:kept])
    return b"".join(out)


SCALE = bytes([3, 3, 4, 0])
ISN = 2**32 - 1500   # the server's numbers wrap within the first segments
WRAP = ISN + 1
LOST = [
    (0, packet(CLIENT, SERVER, 5, 0, SYN, options=SCALE)),
    (1000, packet(SERVER, CLIENT, ISN, 6, SYN | ACK, options=SCALE)),
    (2000, packet(CLIENT, SERVER, 6, WRAP, ACK)),
    (2100, packet(CLIENT, SERVER, 6, WRAP, PSH | ACK, 10)),
    (3000, packet(SERVER, CLIENT, WRAP, 16, ACK, 1000)),
    (3000, packet(SERVER, CLIENT, WRAP + 1000, 16, ACK, 1000)),   # is lost
    (3100, packet(SERVER, CLIENT, WRAP + 2000, 16, ACK, 1000)),
    (3200, note(3000, 2**32 - 1, 0)),
    (4000, packet(CLIENT, SERVER, 16, WRAP + 1000, ACK)),
    (4100, packet(CLIENT, SERVER, 16, WRAP + 1000, ACK,
                  options=bytes([1, 1, 5, 10]) + struct.pack(">II", (WRAP + 2000) % 2**32,
                                                             (WRAP + 3000) % 2**32))),
    (203000, packet(SERVER, CLIENT, WRAP + 1000, 16, ACK, 1000)),
    (203100, note(1000, 2000, 1)),
    (204000, packet(CLIENT, SERVER, 16, WRAP + 3000, ACK)),
    (205000, packet(CLIENT, SERVER, 16, WRAP + 3000, RST)),
]


class TraceTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, content, name="trace.pcap"):
        path = pathlib.Path(self.folder.name) / name
        path.write_bytes(content)
        return str(path)

    def test_the_list_has_a_line_for_each_connection(self):
        code, out, err = run("trace", "tcp", self.file(trace(LOST)))
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(len(out.splitlines()), 2)
        self.assertRegex(out, r"1 +0\.205 s +10 B +3000 B +1 +0\.20 s +"
                              r"10\.0\.0\.1:40000 > 10\.0\.0\.2:80, reset")

    def test_json_has_offsets_without_wrap_and_what_was_sent_again(self):
        code, out, _ = run("trace", "tcp", self.file(trace(LOST)), "--json")
        self.assertEqual(code, 0)
        whole = json.loads(out)
        self.assertEqual((whole["schema"], whole["packets"], whole["others"]), (1, len(LOST), 0))
        back = whole["connections"][0]["back"]
        self.assertEqual(back["bytes"], 3000)
        self.assertEqual((back["segments"], back["segments_again"], back["bytes_again"]),
                         (4, 1, 1000))
        self.assertEqual([d[2] - d[1] for d in back["data"]], [1000] * 4)
        first = back["data"][0][1]
        self.assertEqual([d[1] - first for d in back["data"]], [0, 1000, 2000, 1000])
        self.assertEqual([d[3] for d in back["data"]], [0, 0, 0, 1])
        self.assertEqual(back["acks"][-1][1] - first, 3000)
        self.assertEqual(back["acks"][-1][2] - back["acks"][-1][1], 1000 << 4)
        self.assertEqual(back["pauses"], [[0.0031, 0.203]])
        self.assertEqual([w[1:] for w in back["windows"]], [[3000, 2**32 - 1, 0], [1000, 2000, 1]])
        self.assertEqual(back["rtt_min_us"], 1000)
        self.assertEqual(max(f[1] for f in back["in_flight"]), 3000)

    def test_the_picture_has_each_kind_of_line(self):
        path = str(pathlib.Path(self.folder.name) / "out.svg")
        self.assertEqual(run("trace", "tcp", self.file(trace(LOST)), "-o", path)[0], 0)
        root = xml.parse(path).getroot()
        kinds = {e.get("class") for e in root.iter() if e.get("class")}
        self.assertLessEqual({"sent", "again", "ack", "sack", "edge", "flight", "cwnd", "thresh",
                              "pause", "recover"}, kinds)
        words = " ".join(root.itertext())
        self.assertIn("10.0.0.2:80 to 10.0.0.1:40000", words)
        self.assertIn("4 segments, 1 sent again (25.00 %)", words)
        self.assertIn("199.9 ms", words)

    def test_a_long_trace_makes_a_small_picture(self):
        many = LOST[:4] + [(3000 + 10 * i, packet(SERVER, CLIENT, WRAP + 1000 * i, 16, ACK, 1000))
                           for i in range(20_000)]
        path = pathlib.Path(self.folder.name) / "out.svg"
        self.assertEqual(run("trace", "tcp", self.file(trace(many)), "-o", str(path))[0], 0)
        self.assertLess(path.stat().st_size, 300_000)

    def test_what_is_wrong_is_said(self):
        for content, words in ((b"hello world, this is no trace", "it is no pcap file"),
                               (b"\n\r\r\n" + bytes(30), "pcapng"),
                               (trace([]), "no TCP among 0 packets")):
            code, out, err = run("trace", "tcp", self.file(content))
            self.assertEqual((code, out), (1, ""))
            self.assertIn(words, err)
        code, out, err = run("trace", "tcp", self.file(trace(LOST)[:-10]))
        self.assertEqual(code, 1)
        self.assertIn("3000 B", out)   # what was read before is used
        self.assertIn("the file ends within a packet at byte", err)
        code, _, err = run("trace", "tcp", self.file(trace(LOST)), "-c", "7", "-o", "-")
        self.assertEqual(code, 1)
        self.assertIn("there is no connection 7", err)
        self.assertEqual(run("trace", "tcp", "/nowhere")[0], 1)


if __name__ == "__main__":
    unittest.main()
