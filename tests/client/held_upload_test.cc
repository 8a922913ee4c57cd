// SPDX-License-Identifier: MIT
// Bodies of requests that a server does not take.
#include "client/http2_peer.hh"
#include "heddle/core/sleep.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

task<std::string> part_without_end() { co_return std::string(16 * 1024, 'u'); }

DRIVER_TEST(client_held_upload, "a server that takes no body, and does not answer, fails it once") {
  runtime rt(make());
  rt.run([]() -> task<> {
    for (const int version : {1, 2}) {
      co_await with_http2_peer([version](address at, listener door) -> task<> {
        http::client_options o;
        o.http2.prior_knowledge = version == 2;
        o.timeouts.transfer = 200ms;
        o.timeouts.answer = 1h;
        http::client web(o);
        http::outgoing what("POST", url_of(at, "/"));
        what.body("text/plain", &part_without_end, std::uint64_t{1} << 40);
        std::string said;
        scope s;
        s.spawn([](http::client& by, http::outgoing request, std::string& text) -> task<> {
          text = co_await error_of(by.send(std::move(request)), std::errc::timed_out);
        }(web, std::move(what), said));
        stream on = co_await with_timeout(door.accept(), 60s);
        co_await s.join();
        EXPECT_NE(said.find("took nothing of the request's body in time"), said.npos) << said;
        on.close();
      });
    }
  });
}

}  // namespace
}  // namespace heddle::test
