// SPDX-License-Identifier: MIT
// What parsing a request head costs: the smallest request that a load generator sends, one as a
// browser sends it, and both arriving in pieces. Bytes a second count the whole head.
#include <benchmark/benchmark.h>

#include <string_view>

#include "heddle/http/parser.hh"

namespace {

using namespace heddle::http;

constexpr std::string_view load_generator_request =
    "GET /index.html HTTP/1.1\r\n"
    "Host: 127.0.0.1:8080\r\n"
    "\r\n";

constexpr std::string_view command_line_request =
    "GET /files/readme.txt HTTP/1.1\r\n"
    "Host: localhost:8080\r\n"
    "User-Agent: curl/7.88.1\r\n"
    "Accept: */*\r\n"
    "\r\n";

constexpr std::string_view browser_request =
    "GET /articles/2024/weaving?page=2&sort=new HTTP/1.1\r\n"
    "Host: www.example.org\r\n"
    "Connection: keep-alive\r\n"
    "Cache-Control: max-age=0\r\n"
    "sec-ch-ua: \"Chromium\";v=\"128\", \"Not;A=Brand\";v=\"24\"\r\n"
    "sec-ch-ua-mobile: ?0\r\n"
    "sec-ch-ua-platform: \"Linux\"\r\n"
    "Upgrade-Insecure-Requests: 1\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/128.0.0.0 Safari/537.36\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Sec-Fetch-Mode: navigate\r\n"
    "Sec-Fetch-Dest: document\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-GB,en;q=0.9\r\n"
    "Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n"
    "If-None-Match: \"18f2c0ffee-4000\"\r\n"
    "\r\n";

void report(benchmark::State& state, std::string_view request) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(request.size()));
  state.counters["head_bytes"] = static_cast<double>(request.size());
}

void whole(benchmark::State& state, std::string_view request) {
  limits bounds;
  request_parser parser(bounds);
  for (auto _ : state) {
    parser.reset();
    benchmark::DoNotOptimize(request);
    if (parser.feed(request) != parse_state::done) state.SkipWithError("refused");
    benchmark::DoNotOptimize(parser.head().value(header_id::if_none_match));
  }
  report(state, request);
}

// Two reads: the second brings the rest.
void halves(benchmark::State& state, std::string_view request) {
  limits bounds;
  request_parser parser(bounds);
  for (auto _ : state) {
    parser.reset();
    benchmark::DoNotOptimize(parser.feed(request.substr(0, request.size() / 2)));
    if (parser.feed(request) != parse_state::done) state.SkipWithError("refused");
  }
  report(state, request);
}

// The slowest client: one byte a read. Linear in the head, not quadratic.
void bytes(benchmark::State& state, std::string_view request) {
  limits bounds;
  request_parser parser(bounds);
  for (auto _ : state) {
    parser.reset();
    for (std::size_t length = 1; length <= request.size(); ++length) {
      benchmark::DoNotOptimize(parser.feed(request.substr(0, length)));
    }
  }
  report(state, request);
}

BENCHMARK_CAPTURE(whole, load_generator, load_generator_request);
BENCHMARK_CAPTURE(whole, command_line, command_line_request);
BENCHMARK_CAPTURE(whole, browser, browser_request);
BENCHMARK_CAPTURE(halves, browser, browser_request);
BENCHMARK_CAPTURE(bytes, browser, browser_request);

}  // namespace

BENCHMARK_MAIN();
