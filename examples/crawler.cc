// SPDX-License-Identifier: MIT
// Follows the links of a site and reports pages that are missing: crawler URL [TASKS].
// Try it: heddle serve site; crawler http://127.0.0.1:8000/
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <unordered_set>

#include <heddle/client/client.hh>
#include <heddle/heddle.hh>
#include <heddle/net/provider.hh>
#include <heddle/sync/condition.hh>

using namespace heddle;

constexpr std::size_t pages_max = 10'000;

/// The pages to visit. All tasks run in one color, so it needs no lock.
struct frontier {
  std::deque<http::url> next;
  std::unordered_set<std::string> seen;
  std::size_t busy = 0;  // tasks that may still find links
  condition changed;

  void add(const http::url& page) {
    if (seen.size() < pages_max && seen.insert(page.text()).second) next.push_back(page);
  }
};

/// Adds the links to the same site: every href="...".
void add_links(frontier& to, const http::url& page, std::string_view text) {
  constexpr std::string_view start = "href=\"";
  for (std::size_t at = text.find(start); at != text.npos; at = text.find(start, at)) {
    at += start.size();
    const std::size_t end = text.find('"', at);
    if (end == text.npos) return;
    const auto link = page.resolve(text.substr(at, end - at));
    if (link && link->origin() == page.origin()) to.add(*link);
  }
}

/// Reads one page; a page that is no text is not read to its end.
task<> read_page(http::client& web, frontier& to, http::url page) {
  try {
    http::answer got = co_await web.open(http::outgoing("GET", page.text()));
    std::printf("%d %s\n", got.status(), page.text().c_str());
    if (!got.ok() || !got.header("content-type").starts_with("text/html")) co_return;
    const std::string text = co_await got.text(1 << 20);
    if (got.from().origin() == page.origin()) add_links(to, got.from(), text);
  } catch (const failure& e) {
    std::printf("--- %s\n", e.what());
  }
}

task<> crawl(http::client& web, frontier& to) {
  for (;;) {
    while (to.next.empty() && to.busy != 0) co_await to.changed.wait();
    if (to.next.empty()) break;
    const http::url page = std::move(to.next.front());
    to.next.pop_front();
    ++to.busy;
    co_await read_page(web, to, page);
    --to.busy;
    to.changed.notify_all();
  }
}

task<> program(std::string start, int tasks) {
  const auto first = http::url::parse(start);
  if (!first) {
    std::fprintf(stderr, "%s: %s\n", start.c_str(), describe(first.error()).data());
    co_return;
  }
  http::client web({.tcp = net::source_of(net::from_environment())});
  frontier to;
  to.add(*first);
  scope s;
  for (int i = 0; i < tasks; ++i) s.spawn(crawl(web, to));
  co_await s.join();
  std::printf("%zu pages over %llu connections\n", to.seen.size(),
              static_cast<unsigned long long>(web.counters().connections));
}

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: crawler URL [TASKS]\n", stderr);
    return 2;
  }
  runtime_options options;
  options.workers = 1;
  runtime rt(options);
  rt.run(program(argv[1], argc > 2 ? std::atoi(argv[2]) : 8));
}
