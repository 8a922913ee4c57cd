// SPDX-License-Identifier: MIT
// HTTP/1.1 against HTTP/2: the same handlers give the same answers to our client over both. The
// requests are random, from a seed that a failure prints.
#include <algorithm>
#include <map>
#include <random>

#include "client/http2_peer.hh"
#include "heddle/http/content_coding.hh"
#include "heddle/web/problem_details.hh"

namespace heddle::test {
namespace {

/// Answers of many kinds, by the query: status, body, its length known or not, fields, trailers.
task<http::response> answer_of_kinds(http::request& r) {
  const int status = r.query_value<int>("status").value_or(200);
  const std::size_t size = r.query_value<std::size_t>("size").value_or(0);
  const std::string kind = r.query_value("kind").value_or("plain");
  if (kind == "throw") throw std::runtime_error("on purpose");
  if (kind == "error") throw http::status_error(status, "as asked");
  std::string body;
  std::uint64_t received_bytes = 0;
  if (kind != "deaf") {
    for (;;) {
      const std::string_view part = co_await r.read();
      if (part.empty()) break;
      received_bytes += part.size();
      if (kind == "echo") body += part;
    }
  }
  if (kind != "echo") body.assign(size, 'b');
  http::response head(status);
  head.header("X-Seen", r.header("x-asked"))
      .header("X-Method", r.head().method_text())
      .header("X-Body", std::to_string(received_bytes))
      .header("X-Trailer", r.trailer("x-sum"))
      .header("X-Path", r.path())
      .header("Set-Cookie", "a=1; Path=/")
      .header("Set-Cookie", "b=2; Path=/");
  if (kind == "parts") {
    http::body_writer out = co_await r.start(std::move(head));
    for (std::string_view rest = body; !rest.empty();) {
      const std::string_view part = rest.substr(0, 5000);
      co_await out.write(part);
      rest.remove_prefix(part.size());
    }
    out.trailer("X-Sum", std::to_string(body.size()));
    co_return out.done();
  }
  if (kind == "gzip") {
    if (auto packed = http::gzip(body)) {  // nothing for a text that would not become smaller
      head.header("Content-Encoding", "gzip");
      body = std::move(*packed);
    }
  }
  co_return std::move(head).body("text/plain", std::move(body));
}

struct wanted_request {
  std::string method, target, asked;
  std::size_t body = 0;
  bool in_parts = false;
};

wanted_request random_request(std::minstd_rand& random) {
  const auto one_of = [&](const std::vector<std::string>& from) {
    return from[random() % from.size()];
  };
  wanted_request w;
  w.method = one_of({"GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"});
  const std::string size = one_of({"0", "1", "100", "70000", "300000"});
  const std::string status =
      one_of({"200", "200", "200", "201", "204", "304", "404", "500", "302"});
  const std::string kind =
      one_of({"plain", "parts", "echo", "gzip", "throw", "error", "deaf", "plain"});
  w.target = one_of({"/", "/a%20b", "/long/path;x=1"}) + "?status=" + status + "&size=" + size +
             "&kind=" + kind;
  w.asked = std::string(random() % 3 == 0 ? 3000 : random() % 40, 'q');
  if (w.method != "GET" && w.method != "HEAD" && random() % 4 != 0) {
    constexpr std::size_t sizes[] = {0, 1, 1000, 65'536, 200'000};
    w.body = sizes[random() % 5];
    w.in_parts = random() % 2 == 0;
    if (kind == "deaf") w.body = std::min<std::size_t>(w.body, 1000);
  }
  return w;
}

task<std::string> body_part(std::shared_ptr<std::size_t> left) {
  const std::size_t size = std::min<std::size_t>(*left, 30'000);
  *left -= size;
  co_return std::string(size, 'u');
}

/// The answer in a form that versions share: status, fields, body, trailer; or the error's code.
task<std::string> told_by(http::client& web, address at, wanted_request w) {
  http::outgoing what(w.method, url_of(at, w.target));
  what.header("X-Asked", w.asked);
  if (w.in_parts) {
    auto left = std::make_shared<std::size_t>(w.body);
    what.body("text/plain", [left] { return body_part(left); });
  } else if (w.body != 0) {
    what.body("text/plain", std::string(w.body, 'u'));
  }
  std::string told;
  try {
    http::answer a = co_await web.open(std::move(what));
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < a.head().header_count(); ++i) {
      const http::header h = a.head().header_at(i);
      std::string name(h.name);
      std::ranges::transform(name, name.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      // How a message is framed is the version's own.
      if (name != "date" && name != "connection" && name != "transfer-encoding")
        fields.push_back(name + ": " + std::string(h.value));
    }
    std::ranges::sort(fields);
    const std::string body = co_await a.text(10'000'000);
    told = std::to_string(a.status()) + "\n";
    for (const std::string& f : fields) told += f + "\n";
    told += std::to_string(body.size()) + " bytes, hash " +
            std::to_string(std::hash<std::string>{}(body)) + "\n" + std::string(a.trailer("x-sum"));
  } catch (const std::system_error& e) {
    told = "error " + e.code().message();
  }
  co_return told;
}

DRIVER_TEST(client_versions, "the same handlers give the same answers over HTTP/1.1 and HTTP/2") {
  runtime rt(make());
  http::server_options roomy;
  roomy.bounds.body_bytes_max = 8 << 20;
  rt.run(with_server(answer_of_kinds, roomy, [](address at, http::server&) -> task<> {
    http::client_options plain;
    plain.redirects_max = 0;
    http::client_options newer = plain;
    newer.http2.prior_knowledge = true;
    http::client one(plain), two(newer);
    const auto seed = static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed());
    std::minstd_rand random(seed + 1);
    std::map<char, int> statuses;
    for (int i = 0; i < 150; ++i) {
      const wanted_request w = random_request(random);
      const std::string first = co_await told_by(one, at, w);
      const std::string second = co_await told_by(two, at, w);
      EXPECT_EQ(first, second) << w.method << ' ' << w.target << " body " << w.body
                               << (w.in_parts ? " in parts" : "") << ", seed " << seed;
      ++statuses[first[0]];
    }
    EXPECT_GT(statuses['2'], 30);
    EXPECT_GT(statuses['4'] + statuses['5'], 10);
    EXPECT_EQ(statuses['e'], 0);
    EXPECT_EQ(two.counters().connections, 1u);
  }));
}

}  // namespace
}  // namespace heddle::test
