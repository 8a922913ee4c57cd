// SPDX-License-Identifier: MIT
// A simulated world with an authority, a site that it can check, and a store in memory's files.
#pragma once

#include <memory>

#include "acme/certificate.hh"
#include "acme/test_authority.hh"
#include "heddle/acme/authority.hh"
#include "heddle/acme/keeper.hh"
#include "heddle/acme/store.hh"
#include "heddle/sim/driver.hh"
#include "heddle/web/server.hh"

namespace heddle::test {

struct acme_world {
  explicit acme_world(sim_driver& s)
      : sim(s),
        store(std::make_shared<acme::directory_store>("/state/heddle")),
        answers(std::make_shared<acme::challenge_answers>()),
        site(site_options()) {}

  [[nodiscard]] tls::server_options site_options() const {
    tls::server_options o;
    o.challenges = answers->over_tls();
    return o;
  }
  [[nodiscard]] acme::authority_options options() const {
    acme::authority_options o;
    o.directory = ca.directory();
    o.contacts = {"someone@example.org"};
    o.agree_to_terms = true;
    return o;
  }
  [[nodiscard]] std::int64_t now() const {
    return std::chrono::floor<std::chrono::seconds>(sim.wall_time()).count();
  }

  sim_driver& sim;
  test_authority ca;
  std::shared_ptr<acme::directory_store> store;
  std::shared_ptr<acme::challenge_answers> answers;
  tls::server_context site;
  nanoseconds site_delay{};  ///< before an answer to http-01
};

inline task<http::response> answer_plainly(acme_world& w, http::request& r) {
  if (w.site_delay > nanoseconds::zero()) co_await sleep_for(w.site_delay);
  if (auto answer = w.answers->answer(r.head())) co_return std::move(*answer);
  co_return http::response(404);
}

inline task<> run_acme_world(sim_driver& sim, std::function<task<>(acme_world&)> body) {
  acme_world w(sim);
  tcp_listener plain = tcp_listener::listen(address::loopback(0));
  tcp_listener secure = tcp_listener::listen(address::loopback(0));
  w.ca.plain_site = plain.local();
  w.ca.tls_site = secure.local();
  http::server web([&w](http::request& r) { return answer_plainly(w, r); });
  scope side;
  side.spawn(w.ca.serve());
  side.spawn(web.serve(std::move(plain)));
  side.spawn(web.serve(tls::listen(std::move(secure), w.site)));
  std::exception_ptr failed;
  try {
    co_await body(w);
  } catch (...) {
    failed = std::current_exception();
  }
  side.cancel();
  co_await side.settled();
  co_await sleep_for(std::chrono::seconds(40));  // closed streams say their ends
  if (failed) std::rethrow_exception(failed);
}

/// Runs body(world) and checks that nothing is left open.
inline void in_acme_world(std::function<task<>(acme_world&)> body, sim_options options = {}) {
  auto made = std::make_unique<sim_driver>(options);
  sim_driver& sim = *made;
  runtime rt(std::move(made), {});
  rt.run(run_acme_world(sim, std::move(body)));
  EXPECT_EQ(sim.open_descriptors(), 0u) << sim.trace_text();
}

}  // namespace heddle::test
