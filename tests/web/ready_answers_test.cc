// SPDX-License-Identifier: MIT
// Answers that are sent often stand ready: always the bytes that were asked for, never more memory
// than was given, and only where it pays.
#include "web/ready_answers.hh"

#include <cstring>
#include <random>
#include <vector>

#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

std::string seeded(std::size_t size, unsigned seed) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i != size; ++i)
    text[i] = static_cast<char>('!' + (i * 7 + i / 251 + seed * 31) % 94);
  return text;
}

piece in_pages(page_store& pages, const std::string& text) {
  page_block b = pages.allocate(text.size());
  EXPECT_TRUE(b);
  if (!b) return piece(std::string(text));
  std::memcpy(b.writable().data(), text.data(), text.size());
  return piece::held_by(std::move(b));
}

bool is_both(const piece* whole, std::string_view head, const piece& body) {
  return whole == nullptr || whole->bytes().text() == std::string(head).append(body.bytes().text());
}

/// How many of `count` sendings of one answer found it ready.
int found_in(http::ready_answers& ready, std::string_view head, const piece& body, int count) {
  int found = 0;
  for (int i = 0; i != count; ++i) {
    const piece* const whole = ready.find(head, body);
    EXPECT_TRUE(is_both(whole, head, body));
    if (whole != nullptr) {
      EXPECT_TRUE(whole->place());
      ++found;
    }
  }
  return found;
}

/// Large bodies to one connection that reads late, and each second's head with them.
task<> served() {
  page_store pages;
  const std::vector<std::string> texts = {seeded(20'000, 1), seeded(130'000, 2)};
  std::vector<piece> bodies;
  for (const std::string& each : texts) bodies.push_back(in_pages(pages, each));
  http::server_options options;
  options.ready_bytes_max = 1024 * 1024;
  co_await with_server(
      [&](http::request& r) -> task<http::response> {
        http::response answer(200);
        answer.body(bodies[r.path() == "/large"]);
        co_return answer;
      },
      options,
      [&](address at, http::server& web) -> task<> {
        constexpr int rounds = 60;
        std::string asked;
        for (int i = 0; i != rounds; ++i)
          asked += std::string("GET ") + (i % 3 == 0 ? "/large" : "/") +
                   " HTTP/1.1\r\nHost: x\r\n" + (i + 1 == rounds ? "Connection: close\r\n" : "") +
                   "\r\n";
        stream conn = co_await connect_to(at);
        co_await conn.write(std::string_view(asked));
        co_await sleep_for(20ms);  // the socket is full meanwhile
        const std::string all = co_await read_all(conn);
        std::size_t from = 0;
        for (int i = 0; i != rounds; ++i) {
          const std::string& text = texts[i % 3 == 0];
          const std::size_t end = all.find("\r\n\r\n", from);
          if (end == std::string::npos) {
            ADD_FAILURE() << "no head of answer " << i;
            co_return;
          }
          EXPECT_EQ(all.substr(from, 15), "HTTP/1.1 200 OK") << i;
          EXPECT_TRUE(all.substr(end + 4, text.size()) == text) << i;
          from = end + 4 + text.size();
        }
        EXPECT_EQ(from, all.size());
        // The simulation has no sockets that send from pages.
        EXPECT_EQ(web.counters().ready_answers != 0, !runtime::here().io().simulated());
      });
}

}  // namespace

HEDDLE_TEST(ready_answers, "what is sent again and again becomes ready, also with the next head") {
  page_store pages;
  http::ready_answers ready(2 * 1024 * 1024);
  const piece body = in_pages(pages, seeded(16'384, 1));
  EXPECT_EQ(found_in(ready, "12:00:00 ", body, 15), 0);
  EXPECT_EQ(found_in(ready, "12:00:00 ", body, 100), 100);
  EXPECT_GE(found_in(ready, "12:00:01 ", body, 100), 50);
  EXPECT_GE(found_in(ready, "12:00:02 ", body, 100), 85);
}

HEDDLE_TEST(ready_answers, "heads that never come again cost few copies") {
  page_store pages;
  http::ready_answers ready(2 * 1024 * 1024);
  const piece body = in_pages(pages, seeded(16'384, 1));
  int copies = 0;
  for (int i = 0; i != 10'000; ++i) {
    const std::string head = "request " + std::to_string(i);
    const piece* const whole = ready.find(head, body);
    EXPECT_TRUE(is_both(whole, head, body));
    copies += whole != nullptr;
  }
  EXPECT_LE(copies, 10);
  EXPECT_EQ(found_in(ready, "one for all", body, 6000) != 0, true);  // and it is tried again
}

HEDDLE_TEST(ready_answers, "an answer that is too large for its memory is never ready") {
  page_store pages;
  http::ready_answers ready(64 * 1024);
  const piece body = in_pages(pages, seeded(16'384, 1));
  EXPECT_EQ(found_in(ready, "head", body, 100), 0);
  http::ready_answers none(0);
  EXPECT_EQ(found_in(none, "head", body, 100), 0);
}

HEDDLE_TEST(ready_answers, "two asked for in turn become ready, however their addresses fall") {
  page_store pages;
  std::vector<piece> bodies;
  for (unsigned i = 0; i != 400; ++i) bodies.push_back(in_pages(pages, seeded(16'384, i)));
  for (std::size_t i = 1; i != bodies.size(); ++i) {
    http::ready_answers ready(256 * 1024);
    int found = 0;
    for (int round = 0; round != 30; ++round)
      found += found_in(ready, "head", bodies[0], 1) + found_in(ready, "head", bodies[i], 1);
    EXPECT_GE(found, 28) << "the first and body " << i;
  }
}

HEDDLE_TEST(ready_answers, "always the bytes that were asked for, whatever comes and goes") {
  std::mt19937 random(20261123);
  page_store pages;
  http::ready_answers ready(512 * 1024);
  std::vector<piece> bodies(8);
  std::vector<std::string> heads;
  for (int i = 0; i != 4; ++i) heads.push_back("head " + std::string(std::size_t(i), 'x'));
  unsigned seed = 0;
  int found = 0;
  for (int i = 0; i != 20'000; ++i) {
    const std::size_t which = random() % bodies.size();
    if (bodies[which].empty() || random() % 300 == 0) {
      bodies[which] = {};  // so that the next one may get its place
      bodies[which] = in_pages(pages, seeded(16'384 + random() % 3, ++seed));
    }
    const piece& body = bodies[random() % 3 == 0 ? which : 0];
    if (body.empty()) continue;
    const std::string& head = heads[random() % 10 == 0 ? random() % heads.size() : 0];
    const piece* const whole = ready.find(head, body);
    ASSERT_TRUE(is_both(whole, head, body)) << i;
    found += whole != nullptr;
  }
  EXPECT_GE(found, 5000);
}

DRIVER_TEST(ready_answers, "a server's large answers arrive as they are, ready or not") {
  HEDDLE_NEEDS_SOCKET();
  run_plain(make(), &served);
}
