# SPDX-License-Identifier: MIT
"""gRPC through `heddle proxy`, with a client and a server that are not ours: grpcio, whose messages
are bytes here. Clients come by h2c or TLS, and upstreams are reached by h2c or TLS.

grpcio comes from PyPI, into a folder beside the built program that later runs use again. Where it
cannot be installed, the tests are skipped, with the reason.

    HEDDLE=build/release/bin/heddle python3 tests/cli/grpc_proxy_test.py
"""

import concurrent.futures
import os
import pathlib
import queue
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import program
from program import LIMIT_S, run, wait_until
from proxy_test import Proxy

os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # the proxy is started by fork and exec
BESIDE = pathlib.Path(program.HEDDLE).resolve().parent.parent / "grpc_packages"
STREAMS = 50  # that the upstream allows on one connection
PART = b"p" * 65536
PARTS = 1024  # 64 MiB


def missing():
    """Why grpcio is not here; "" if it is."""
    find = [sys.executable, "-c", "import grpc"]
    there = os.environ | {"PYTHONPATH": str(BESIDE)}
    if subprocess.run(find, env=there, capture_output=True).returncode == 0:
        return ""
    try:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(BESIDE),
                        "--disable-pip-version-check", "--retries", "0", "--only-binary", ":all:",
                        "grpcio"], capture_output=True, timeout=120, check=True)
        subprocess.run(find, env=there, capture_output=True, check=True)
    except (OSError, subprocess.SubprocessError) as why:
        return f"grpcio cannot be installed: {why}"
    return ""


MISSING = missing()
if not MISSING:
    sys.path.append(str(BESIDE))
    import grpc


class Service:
    """The upstream's methods, and what they saw."""

    def __init__(self):
        self.cancelled, self.entered = threading.Event(), threading.Event()
        self.left_s, self.sent = None, 0

    def unary(self, message, context):
        seen = dict(context.invocation_metadata())
        context.send_initial_metadata((("x-head", seen.get("x-ask", "")),))
        context.set_trailing_metadata((("x-tail", "yes"), ("x-tail-bin", b"\x00\xff")))
        return b"got " + message

    def down(self, message, _context):
        for i in range(int(message)):
            yield b"%d " % i + b"x" * 1000

    def up(self, messages, _context):
        return b"%d" % sum(len(each) for each in messages)

    def both(self, messages, context):
        context.send_initial_metadata((("x-early", "1"),))
        for each in messages:
            yield each[::-1]

    def fail(self, _message, context):
        context.set_trailing_metadata((("x-tail", "of a failure"),))
        context.abort(grpc.StatusCode.NOT_FOUND, "no such thing: \u00fc%")

    def fail_inside(self, _message, context):
        yield b"first"
        context.abort(grpc.StatusCode.DATA_LOSS, "inside")

    def wait(self, _message, context):
        self.left_s = context.time_remaining()
        ended = threading.Event()
        context.add_callback(ended.set)
        self.entered.set()
        if ended.wait(LIMIT_S):
            self.cancelled.set()
        return b"late"

    def large(self, _message, _context):
        for _ in range(PARTS):
            yield PART
            self.sent += 1


def handlers(service):
    """A generic handler, without code that a compiler of protobuf makes."""
    kinds = {"unary": grpc.unary_unary_rpc_method_handler,
             "fail": grpc.unary_unary_rpc_method_handler,
             "wait": grpc.unary_unary_rpc_method_handler,
             "down": grpc.unary_stream_rpc_method_handler,
             "large": grpc.unary_stream_rpc_method_handler,
             "fail_inside": grpc.unary_stream_rpc_method_handler,
             "up": grpc.stream_unary_rpc_method_handler,
             "both": grpc.stream_stream_rpc_method_handler}
    return grpc.method_handlers_generic_handler(
        "t.S", {name: kind(getattr(service, name)) for name, kind in kinds.items()})


class Started:
    """Certificates, the upstream, the proxy and a channel to it, until they are left."""

    def __init__(self, case):
        self.case = case

    def __enter__(self):
        case = self.case
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="heddle-grpc-"))
        pair, roots = None, None
        if case.front_tls or case.behind_tls:
            code, _, said = run("cert", "-o", str(self.root), HOME=str(self.root),
                                XDG_DATA_HOME=str(self.root / "data"))
            if code != 0:
                shutil.rmtree(self.root)
                raise unittest.SkipTest(said)
            pair = tuple(str(self.root / f"localhost.{end}") for end in ("pem", "key"))
            roots = self.root / "data" / "heddle" / "authority.pem"
        case.service = Service()
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(64),
                                  options=[("grpc.max_concurrent_streams", STREAMS)])
        self.server.add_generic_rpc_handlers((handlers(case.service),))
        if case.behind_tls:
            files = [pathlib.Path(pair[i]).read_bytes() for i in (1, 0)]
            port = self.server.add_secure_port("127.0.0.1:0",
                                               grpc.ssl_server_credentials([tuple(files)]))
        else:
            port = self.server.add_insecure_port("127.0.0.1:0")
        upstream = f"https://localhost:{port}" if case.behind_tls else f"h2c://127.0.0.1:{port}"
        trust = {"SSL_CERT_FILE": str(roots)} if roots else {}
        words = ("--tls", *pair) if case.front_tls else ()
        self.proxy = Proxy(upstream, *words, **trust).__enter__()
        self.server.start()
        if case.front_tls:
            case.channel = grpc.secure_channel(
                f"localhost:{self.proxy.port}",
                grpc.ssl_channel_credentials(roots.read_bytes()))
        else:
            case.channel = grpc.insecure_channel(f"127.0.0.1:{self.proxy.port}")

    def __exit__(self, *_):
        self.case.channel.close()
        self.server.stop(0).wait(LIMIT_S)
        self.proxy.__exit__()
        shutil.rmtree(self.root)


class Calls:
    """The tests of one pair of connections; `front_tls` and `behind_tls` say which."""

    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(Started(cls))

    def setUp(self):
        self.service.__init__()

    def unary(self, name="unary"):
        return self.channel.unary_unary(f"/t.S/{name}")

    def failure_of(self, call):
        with self.assertRaises(grpc.RpcError) as failed:
            call()
        return failed.exception

    def test_unary_with_metadata_of_both_ends(self):
        message, call = self.unary().with_call(b"abc", metadata=(("x-ask", "why"),),
                                               timeout=LIMIT_S)
        self.assertEqual(message, b"got abc")
        self.assertEqual(dict(call.initial_metadata())["x-head"], "why")
        tail = dict(call.trailing_metadata())
        self.assertEqual((tail["x-tail"], tail["x-tail-bin"]), ("yes", b"\x00\xff"))
        self.assertEqual(call.code(), grpc.StatusCode.OK)

    def test_large_messages(self):
        for size in (0, 1, 16_384, 65_536, 3_000_000):
            message = os.urandom(size)
            self.assertEqual(self.unary()(message, timeout=LIMIT_S), b"got " + message, size)

    def test_a_server_stream(self):
        got = list(self.channel.unary_stream("/t.S/down")(b"500", timeout=LIMIT_S))
        self.assertEqual([each.split()[0] for each in got], [b"%d" % i for i in range(500)])

    def test_a_client_stream(self):
        up = self.channel.stream_unary("/t.S/up")
        self.assertEqual(up(iter([b"x" * 10_000] * 300), timeout=LIMIT_S), b"3000000")
        self.assertEqual(up(iter([]), timeout=LIMIT_S), b"0")

    def test_both_streams_in_turns_and_the_server_first(self):
        turns = queue.Queue()
        call = self.channel.stream_stream("/t.S/both")(iter(turns.get, None), timeout=LIMIT_S)
        self.assertEqual(dict(call.initial_metadata())["x-early"], "1")
        for i in range(100):
            turns.put(b"m%02d" % i)
            self.assertEqual(next(call), (b"m%02d" % i)[::-1])
        turns.put(None)
        self.assertEqual(list(call), [])
        self.assertEqual(call.code(), grpc.StatusCode.OK)

    def test_a_status_with_its_text_and_trailing_metadata(self):
        failed = self.failure_of(lambda: self.unary("fail")(b"", timeout=LIMIT_S))
        self.assertEqual((failed.code(), failed.details()),
                         (grpc.StatusCode.NOT_FOUND, "no such thing: \u00fc%"))
        self.assertEqual(dict(failed.trailing_metadata())["x-tail"], "of a failure")

    def test_a_status_behind_messages(self):
        call = self.channel.unary_stream("/t.S/fail_inside")(b"", timeout=LIMIT_S)
        self.assertEqual(next(call), b"first")
        failed = self.failure_of(lambda: next(call))
        self.assertEqual((failed.code(), failed.details()), (grpc.StatusCode.DATA_LOSS, "inside"))

    def test_an_answer_that_is_trailers_alone(self):
        failed = self.failure_of(lambda: self.unary("none")(b"", timeout=LIMIT_S))
        self.assertEqual(failed.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_a_deadline_reaches_the_server(self):
        failed = self.failure_of(lambda: self.unary("wait")(b"", timeout=1))
        self.assertEqual(failed.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertTrue(self.service.cancelled.wait(LIMIT_S))
        self.assertLess(self.service.left_s, 2)  # grpcio rounds its grpc-timeout up

    def test_a_cancelled_call_ends_at_the_server(self):
        call = self.unary("wait").future(b"")
        self.assertTrue(self.service.entered.wait(LIMIT_S))
        call.cancel()
        self.assertTrue(self.service.cancelled.wait(LIMIT_S))
        self.assertEqual(call.code(), grpc.StatusCode.CANCELLED)

    def test_a_client_that_reads_slowly_holds_up_the_server(self):
        call = self.channel.unary_stream("/t.S/large")(b"", timeout=3 * LIMIT_S)
        self.assertEqual(next(call), PART)
        seen = -1
        while seen != self.service.sent:
            seen = self.service.sent
            time.sleep(0.3)  # until it stands still
        self.assertLess(seen, PARTS // 2)
        self.assertEqual(sum(len(each) for each in call), (PARTS - 1) * len(PART))

    def test_two_hundred_at_once(self):
        unary = self.unary()
        calls = [unary.future(b"%d" % i, timeout=LIMIT_S) for i in range(200)]
        self.assertEqual([each.result() for each in calls], [b"got %d" % i for i in range(200)])


@unittest.skipIf(MISSING, MISSING)
class FromH2cToH2c(Calls, unittest.TestCase):
    front_tls, behind_tls = False, False

    def test_an_upstream_that_is_gone_is_unavailable(self):
        """A client of gRPC takes 502 for UNAVAILABLE (gRPC, http-grpc-status-mapping.md)."""
        with socket.create_server(("127.0.0.1", 0)) as door:
            port = door.getsockname()[1]
        with Proxy(f"h2c://127.0.0.1:{port}") as proxy, \
                grpc.insecure_channel(f"127.0.0.1:{proxy.port}") as channel:
            unary = channel.unary_unary("/t.S/unary")
            failed = self.failure_of(lambda: unary(b"", timeout=LIMIT_S))
            self.assertEqual(failed.code(), grpc.StatusCode.UNAVAILABLE)

    def test_an_upstream_that_ends_breaks_its_calls_and_the_next_one_gets_the_others(self):
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        service = Service()
        server.add_generic_rpc_handlers((handlers(service),))
        port = server.add_insecure_port("127.0.0.1:0")
        with Proxy(f"h2c://127.0.0.1:{port}") as proxy, \
                grpc.insecure_channel(f"127.0.0.1:{proxy.port}") as channel:
            server.start()
            unary = channel.unary_unary("/t.S/unary")
            self.assertEqual(unary(b"a", timeout=LIMIT_S), b"got a")
            call = channel.unary_unary("/t.S/wait").future(b"", timeout=LIMIT_S)
            self.assertTrue(service.entered.wait(LIMIT_S))
            server.stop(0).wait(LIMIT_S)
            self.assertNotEqual(self.failure_of(call.result).code(), grpc.StatusCode.OK)
            fresh = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
            fresh.add_generic_rpc_handlers((handlers(Service()),))
            fresh.add_insecure_port(f"127.0.0.1:{port}")
            fresh.start()
            try:
                wait_until(lambda: unary(b"b", timeout=LIMIT_S), "an answer of the next server",
                           but=grpc.RpcError)
            finally:
                fresh.stop(0).wait(LIMIT_S)


@unittest.skipIf(MISSING, MISSING)
class FromH2cToTls(Calls, unittest.TestCase):
    front_tls, behind_tls = False, True


@unittest.skipIf(MISSING, MISSING)
class FromTlsToH2c(Calls, unittest.TestCase):
    front_tls, behind_tls = True, False


@unittest.skipIf(MISSING, MISSING)
class FromTlsToTls(Calls, unittest.TestCase):
    front_tls, behind_tls = True, True


if __name__ == "__main__":
    unittest.main()
