# SPDX-License-Identifier: MIT
"""What the clients of suite http print, as metrics: (metric, value, unit)."""

import json
import re

from bench_machine import Failed


def load_values(text):
    """From the load client's JSON."""
    r = json.loads(text)
    if r["errors"]:
        raise Failed(f"{r['errors']} wrong or broken answers")
    if not r["requests"]:
        raise Failed("no request was answered")
    return [("cpu_us", r["server_cpu_s"] / r["requests"] * 1e6, "us"),
            ("user_us", r["server_user_s"] / r["requests"] * 1e6, "us"),
            ("requests_per_s", r["requests_per_s"], "1/s"),
            ("p50", r["p50_us"], "us"),
            ("p99", r["p99_us"], "us"),
            ("p999", r["p999_us"], "us"),
            ("server_core", r["server_cpu_s"] / r["seconds"], "cores")]


def burst_values(text):
    """What a burst costs; its rates and latencies say nothing."""
    return [("burst_" + metric, value, unit) for metric, value, unit in load_values(text)
            if metric == "cpu_us"]


def wrk_values(text, cpu_s):
    count = int(re.search(r"(\d+) requests in", text)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
    if "Non-2xx" in text or not count:
        raise Failed("wrk got wrong answers")
    return [("wrk_cpu_us", cpu_s / count * 1e6, "us"), ("wrk_requests_per_s", rate, "1/s")]


def idle_values(before, after, count):
    """From (resident, anonymous) bytes of a server without and with `count` idle connections."""
    return [("conn_bytes", max(0, after[1] - before[1]) / count, "B"),
            ("conn_resident_bytes", max(0, after[0] - before[0]) / count, "B"),
            ("base_bytes", before[1], "B"),
            ("base_resident_bytes", before[0], "B")]
