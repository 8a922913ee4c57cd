// SPDX-License-Identifier: MIT
// A page built from parallel queries (Tame, section 6): the user's record first, then everything
// that depends on it at once, never more than four queries out, and a banner that may be left out
// when its server is slow.
#include <cstdio>
#include <string>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/sync/windowed.hh"

using namespace heddle;
using namespace std::chrono_literals;

int queries_out = 0, queries_most = 0;

/// A database that takes its time.
task<std::string> query(std::string what, nanoseconds takes) {
  queries_most = std::max(queries_most, ++queries_out);
  const auto ended = co_await as_expected(sleep_for(takes));
  --queries_out;
  if (!ended) throw failure(ended.error());
  co_return "<" + what + ">";
}

task<> article(int id, std::string& out) {
  out = co_await query("article " + std::to_string(id), 5ms);
}

task<> all_articles(windowed& window, std::vector<std::string>& found) {
  for (int id = 0; std::string & each : found) co_await window.spawn(article(id++, each));
}

task<std::vector<std::string>> articles(std::size_t count) {
  std::vector<std::string> found(count);
  co_await with_window(4, all_articles, std::ref(found));
  co_return found;
}

task<std::string> page(std::string user) {
  const std::string record = co_await query("user " + user, 5ms);
  auto [list, friends, banner] = co_await all(
      articles(8), query("friends", 8ms), as_expected(with_timeout(query("banner", 10min), 20ms)));
  std::string text = record + "\n";
  for (const std::string& each : list) text += each + " ";
  text += "\n" + friends + "\n";
  text += banner ? *banner : std::string("(no banner: ") + banner.error().message() + ")";
  co_return text;
}

task<> program() {
  const time_point start = clock::now();
  const std::string text = co_await page("ada");
  const bool parallel = clock::now() - start < 60ms;  // one after another: 63 ms and a banner
  std::printf("%s\n%s, at most %d queries at once\n", text.c_str(),
              parallel ? "in parallel" : "slowly", queries_most);
}

int main() {
  runtime rt;
  rt.run(program());
}
