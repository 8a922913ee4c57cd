// SPDX-License-Identifier: MIT
// Random programs: our client and our server talk to each other in a simulated world with slow
// links, faults and short time limits, over HTTP/1.1, HTTP/2 and WebSocket. Each byte of a body
// or a message follows from its number, so a wrong one is seen. A message is right or there is an
// error; the same seed gives the same run; nothing hangs.
//
// tests/roles has scripts with more kinds of step; this file draws while it runs, so it has other
// runs.
#include <charconv>
#include <random>

#include "client/harness.hh"
#include "heddle/web/websocket.hh"
#include "support/seeds.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

char byte_of(std::uint64_t id, std::size_t at) {
  const std::uint64_t mixed = (id * 0x9e3779b97f4a7c15u + at) * 0xbf58476d1ce4e5b9u;
  return static_cast<char>('a' + (mixed >> 40) % 26);
}
std::string body_of_id(std::uint64_t id, std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = byte_of(id, i);
  return text;
}

/// What one run draws and what it has seen.
struct generated_world {
  explicit generated_world(std::uint64_t s) : seed(s), random(s) {}

  [[nodiscard]] std::uint64_t below(std::uint64_t most) { return random() % most; }
  [[nodiscard]] bool one_in(std::uint64_t n) { return below(n) == 0; }
  /// Many small sizes, some large.
  [[nodiscard]] std::size_t size() {
    const std::uint64_t most[] = {10, 300, 5'000, 60'000};
    return below(most[below(4)]);
  }
  [[nodiscard]] nanoseconds pause() {
    const nanoseconds most[] = {1ms, 20ms, 300ms, 3s};
    return nanoseconds(below(static_cast<std::uint64_t>(most[below(4)].count())));
  }
  void check(std::string_view what, std::uint64_t id, std::size_t size, std::string_view got) {
    ++whole;
    if (got.size() == size) {
      std::size_t at = 0;
      while (at < size && got[at] == byte_of(id, at)) ++at;
      if (at == size) return;
      ADD_FAILURE() << what << " " << id << " of " << size << " bytes is wrong from byte " << at;
    } else {
      ADD_FAILURE() << what << " " << id << " has " << got.size() << " bytes instead of " << size;
    }
    ++wrong;
  }

  std::uint64_t seed;
  std::mt19937_64 random;
  std::uint64_t last_id = 0;
  int whole = 0, wrong = 0, errors = 0;
};

/// Two numbers behind a word: "/get/17/3000".
bool read_numbers(std::string_view path, std::uint64_t& id, std::size_t& size) {
  const std::size_t a = path.find('/', 1);
  const std::size_t b = a == path.npos ? path.npos : path.find('/', a + 1);
  if (b == path.npos) return false;
  const char* const end = path.data() + path.size();
  return std::from_chars(path.data() + a + 1, path.data() + b, id).ec == std::errc{} &&
         std::from_chars(path.data() + b + 1, end, size).ec == std::errc{};
}

std::string message_of(std::uint64_t id, std::size_t size) {
  return "/m/" + std::to_string(id) + "/" + std::to_string(size) + " " + body_of_id(id, size);
}
void check_message(generated_world& w, std::string_view text) {
  std::uint64_t id = 0;
  std::size_t size = 0;
  const std::size_t blank = text.find(' ');
  if (blank == text.npos || !read_numbers(text.substr(0, blank), id, size)) {
    ADD_FAILURE() << "a message begins wrongly: " << text.substr(0, 60);
    ++w.wrong;
    return;
  }
  w.check("message", id, size, text.substr(blank + 1));
}

task<> send_messages(generated_world& w, http::websocket& ws) {
  try {
    for (std::uint64_t i = 1 + w.below(12); i != 0; --i) {
      const std::string text = message_of(++w.last_id, w.size());
      // Not only text: a wrong byte of that is nearly always seen as bad UTF-8.
      const bool binary = !w.one_in(4);
      const nanoseconds limit = w.one_in(6) ? w.pause() : nanoseconds(1h);
      if (binary) {
        co_await with_timeout(ws.send_binary(text), limit);
      } else {
        co_await with_timeout(ws.send(text), limit);
      }
      if (w.one_in(2)) co_await sleep_for(w.pause());
    }
  } catch (const std::system_error&) {
    ++w.errors;
  }
}
task<> receive_messages(generated_world& w, http::websocket& ws) {
  try {
    while (auto m = co_await ws.receive()) {
      check_message(w, m->data);
      if (w.one_in(3)) co_await sleep_for(w.pause());
    }
  } catch (const std::system_error&) {
    ++w.errors;
  }
}
task<> close_later(generated_world& w, http::websocket& ws) {
  try {
    co_await sleep_for(w.pause());
    co_await ws.close();
  } catch (const std::system_error&) {
    ++w.errors;
  }
}

/// One end of a WebSocket; both ends do the same.
task<> talk_in(scope& tasks, generated_world& w, http::websocket& ws) {
  tasks.spawn(receive_messages(w, ws));
  for (std::uint64_t i = 1 + w.below(4); i != 0; --i) tasks.spawn(send_messages(w, ws));
  if (w.one_in(2)) tasks.spawn(close_later(w, ws));
  co_await sleep_for(w.pause());
  if (!w.one_in(3)) co_await close_later(w, ws);
  tasks.cancel();
}
task<> talk_websocket(generated_world& w, http::websocket ws) {
  co_await with_scope(&talk_in, std::ref(w), std::ref(ws));
}

http::websocket_options websocket_limits(generated_world& w) {
  http::websocket_options o;
  o.write_timeout = 100ms + w.pause();
  o.close_timeout = 100ms + w.pause();
  o.ping_after = w.one_in(2) ? 200ms : 30s;
  o.pong_timeout = 1s;
  return o;
}

struct talk_on_server {
  explicit talk_on_server(generated_world* of) : w(of) {}
  task<> operator()(http::websocket ws) { return talk_websocket(*w, std::move(ws)); }
  generated_world* w;
};

task<http::response> answer_generated(generated_world& w, http::request& r) {
  const std::string path(r.path());
  if (path == "/ws") {
    const http::websocket_options limits = websocket_limits(w);
    co_return co_await http::hand_to_websocket(r, talk_on_server(&w), limits);
  }
  std::uint64_t id = 0;
  std::size_t size = 0;
  if (!read_numbers(path, id, size)) co_return http::response(404);
  if (w.one_in(4)) co_await sleep_for(w.pause());
  if (path.starts_with("/put")) {
    const std::string body = co_await r.text();
    w.check("request", id, size, body);
  }
  if (!path.starts_with("/parts")) co_return http::response(200).text(body_of_id(id, size));
  const std::string text = body_of_id(id, size);
  http::response head(200);
  if (w.one_in(2)) head.length(size);
  http::body_writer out = co_await r.start(std::move(head));
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, 1 + w.size());
    rest.remove_prefix(part.size());
    co_await out.write(part);
    if (w.one_in(3)) co_await sleep_for(w.pause());
  }
  co_return out.done();
}

task<std::string> part_of_upload(std::shared_ptr<std::string> left) {
  std::string part = left->substr(0, 3'000);
  left->erase(0, part.size());
  co_return part;
}

task<> ask_once(generated_world& w, http::client& web, address at) {
  const std::uint64_t id = ++w.last_id;
  const std::size_t size = w.size();
  const char* const kinds[] = {"/get/", "/parts/", "/put/"};
  const std::uint64_t kind = w.below(3);
  http::outgoing what(kind == 2 ? "PUT" : "GET",
                      url_of(at, kinds[kind] + std::to_string(id) + "/" + std::to_string(size)));
  if (kind == 2 && w.one_in(2)) {
    what.body("text/plain", body_of_id(id, size));
  } else if (kind == 2) {
    what.body("text/plain", [left = std::make_shared<std::string>(body_of_id(id, size))] {
      return part_of_upload(left);
    });
  }
  try {
    const nanoseconds limit = w.one_in(3) ? w.pause() : nanoseconds(60s);
    if (w.one_in(2)) {
      const http::fetched got = co_await with_timeout(web.send(std::move(what)), limit);
      if (got.status() == 200) w.check("answer", id, size, got.body);
      co_return;
    }
    http::answer a = co_await with_timeout(web.open(std::move(what)), limit);
    std::string body;
    for (;;) {
      const std::string_view part = co_await a.read();
      if (part.empty()) break;
      body += part;
      if (w.one_in(4)) co_await sleep_for(w.pause());
    }
    if (a.status() == 200) w.check("answer", id, size, body);
  } catch (const std::system_error&) {
    ++w.errors;
  }
}

task<> visit(generated_world& w, http::client& web, address at) {
  for (std::uint64_t i = 1 + w.below(6); i != 0; --i) {
    if (!w.one_in(3)) {
      co_await ask_once(w, web, at);
      continue;
    }
    try {
      const http::websocket_options limits = websocket_limits(w);
      http::websocket ws = co_await web.open_websocket("ws://" + at.to_string() + "/ws", limits);
      co_await talk_websocket(w, std::move(ws));
    } catch (const std::system_error&) {
      ++w.errors;
    }
  }
}

task<> visit_in(scope& tasks, generated_world& w, http::client& web, address at) {
  for (std::uint64_t i = 1 + w.below(4); i != 0; --i) tasks.spawn(visit(w, web, at));
  co_return;
}

task<> run_generated(generated_world& w) {
  http::server_options limits;
  limits.write_timeout = 100ms + w.pause();
  limits.linger_timeout = 100ms + w.pause();
  http::handler handle = [&w](http::request& r) { return answer_generated(w, r); };
  co_await with_server(std::move(handle), limits, [&w](address at, http::server&) -> task<> {
    http::client_options options;
    options.http2.prior_knowledge = w.one_in(2);
    options.timeouts.transfer = 100ms + w.pause();
    http::client web(options);
    co_await with_scope(&visit_in, std::ref(w), std::ref(web), at);
  });
}

/// The trace's hash; the totals are added up.
std::uint64_t run_seed(std::uint64_t seed, generated_world& total) {
  generated_world w(seed);
  sim_options o;
  o.seed = seed;
  o.link.latency = nanoseconds(w.below(10'000'000));
  o.link.jitter = nanoseconds(w.below(5'000'000));
  if (w.one_in(2)) o.link.bytes_per_second = 3'000 + w.below(100'000);
  o.socket_buffer_bytes = static_cast<std::uint32_t>(4'096 << w.below(4));
  o.faults.short_transfer = w.one_in(2) ? 0.5 : 0;
  // A transfer that begins late and is ended meanwhile, behind one that moved a part, is a cut
  // write.
  const double late[] = {0, 0.02, 0.2, 0.5};
  o.faults.delayed = late[w.below(4)];
  o.faults.reset = w.one_in(4) ? 0.002 : 0;
  o.fault_delay_max = w.pause() + 1ms;
  auto made = std::make_unique<sim_driver>(o);
  sim_driver& world = *made;
  runtime rt(std::move(made), one_worker());
  const auto ended = rt.run([](generated_world& of) -> task<bool> {
    co_return (co_await as_expected(with_timeout(run_generated(of), 1h))).has_value();
  }(w));
  EXPECT_TRUE(ended) << "it hangs";
  if (std::getenv("HEDDLE_TRACE") != nullptr) std::fputs(world.trace_text().c_str(), stderr);
  rt.drain();
  EXPECT_EQ(world.open_descriptors(), 0u);
  EXPECT_EQ(world.blocks_out(), 0u);
  total.whole += w.whole;
  total.errors += w.errors;
  return world.trace_hash();
}

HEDDLE_TEST(generated, "a message between two of our own ends is right, or there is an error") {
  HEDDLE_NEEDS_TCP();
  generated_world total(0);
  const auto all = for_seeds(400, [&](std::uint64_t seed) {
    const std::uint64_t once = run_seed(seed, total);
    if (seed % 10 == 0) {
      EXPECT_EQ(run_seed(seed, total), once) << "the same seed gave another run";
    }
  });
  if (!judges_totals(all, 400)) return;
  EXPECT_GT(total.whole, 1000);
  EXPECT_GT(total.errors, 50);
}

}  // namespace
}  // namespace heddle::test
