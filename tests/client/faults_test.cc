// SPDX-License-Identifier: MIT
// The client and our server in one simulated world with faults: an answer is right, or there is an
// error; nothing hangs and no connection stays open.
#include "client/harness.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

std::string troubled_text(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return text;
}

task<std::string> troubled_part(std::shared_ptr<int> left) {
  co_return --*left < 0 ? std::string() : troubled_text(5000);
}

task<http::response> answer_troubled(http::request& r) {
  if (r.path() == "/go") co_return http::response(307).header("Location", "/echo");
  std::string body = co_await r.text();
  if (r.path() == "/echo") co_return http::response(200).text(body);
  http::body_writer out = co_await r.start(http::response(200));
  for (int i = 0; i < 10; ++i) co_await out.write(troubled_text(5000));
  co_return out.done();
}

/// Whether the answer is the one expected.
task<int> troubled_request(http::client& web, http::outgoing what, std::string expected) {
  try {
    const http::fetched got = co_await web.send(std::move(what));
    if (got.status() / 100 != 2) co_return 0;  // the server had trouble
    EXPECT_TRUE(got.body == expected) << got.body.size() << " bytes of " << expected.size();
    co_return 1;
  } catch (const std::system_error& e) {
    EXPECT_NE(e.code(), std::errc::bad_message) << e.what();
    co_return 0;
  }
}

task<> troubled_visitor(http::client& web, address at, int& right) {
  const std::string text = troubled_text(20'000), large = troubled_text(200'000);
  std::string made;
  for (int i = 0; i < 10; ++i) made += troubled_text(5000);
  right += co_await troubled_request(web, http::outgoing("GET", url_of(at, "/made")), made);
  http::outgoing small("POST", url_of(at, "/go"));
  small.body("text/plain", text);
  right += co_await troubled_request(web, std::move(small), text);
  http::outgoing big("PUT", url_of(at, "/echo"));
  big.body("text/plain", large);
  right += co_await troubled_request(web, std::move(big), large);
  http::outgoing streamed("PUT", url_of(at, "/echo"));
  streamed.body("text/plain", [left = std::make_shared<int>(10)] { return troubled_part(left); });
  right += co_await troubled_request(web, std::move(streamed), made);
}

task<int> troubled_world() {
  int right = 0;
  http::server_options calm;
  co_await with_server(answer_troubled, calm, [&](address at, http::server&) -> task<> {
    http::client web(of_version());
    scope s;
    for (int i = 0; i < 3; ++i) s.spawn(troubled_visitor(web, at, right));
    co_await s.join();
  });
  co_return right;
}

HEDDLE_TEST(client_faults, "over a network with faults, an answer is right or there is an error") {
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    auto d = std::make_unique<sim_driver>(sim_options{
        .seed = seed,
        .link = {.latency = 20us, .jitter = 100us},
        .slow_links = 0.2,
        .faults = {.short_transfer = 0.3, .interrupted = 0.1, .reset = 0.003, .delayed = 0.1}});
    sim_driver& world = *d;
    runtime rt(std::move(d), {});
    right += rt.run(troubled_world());
    EXPECT_EQ(world.open_descriptors(), 0u);
    EXPECT_EQ(world.blocks_out(), 0u);
  }
  EXPECT_GT(right, 120);  // of 480
  EXPECT_LT(right, 480);
}

}  // namespace
}  // namespace heddle::test
