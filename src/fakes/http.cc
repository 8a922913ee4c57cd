// SPDX-License-Identifier: MIT
// The scripted HTTP server: rules, and one task a connection that reads a request, notes it, and
// sends what its rule says.
#include "heddle/fakes/http.hh"

#include <algorithm>
#include <utility>

#include "fakes/accepting.hh"
#include "heddle/base/error.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/http/chunked.hh"
#include "heddle/http/detail/body_decoder.hh"
#include "heddle/http/headers.hh"
#include "heddle/http/parser.hh"
#include "heddle/http/status.hh"

namespace heddle::fakes {

using namespace detail;

namespace {

struct http_rule {
  std::string method, path;
  http_answer answer;
  std::uint32_t left = 0;  // 0: without end
};

[[noreturn]] void refuse_rule(std::errc code, const std::string& why) {
  throw failure(std::make_error_code(code), why);
}

void check_answer(std::string_view method, const http_answer& answer) {
  if (!method.empty() && !http::token_valid(method))
    refuse_rule(std::errc::invalid_argument, '"' + std::string(method) + "\" is no method");
  if (!http::status_valid(answer.status) || !http::status_final(answer.status))
    refuse_rule(std::errc::invalid_argument,
                "a rule's status is from 200 to 999, not " + std::to_string(answer.status));
  if (answer.chunk_bytes == 0)
    refuse_rule(std::errc::invalid_argument, "http_answer::chunk_bytes must be 1 or more");
  if (answer.delay < nanoseconds::zero())
    refuse_rule(std::errc::invalid_argument, "http_answer::delay is negative");
  for (const http_field& f : answer.fields)
    if (!http::token_valid(f.name) || !http::value_valid(f.value))
      refuse_rule(std::errc::invalid_argument, "a field cannot be sent: " + f.name);
}

bool fits(const http_rule& rule, const http_request& r) {
  if (!rule.method.empty() && rule.method != r.method) return false;
  if (rule.path.empty()) return true;
  const std::string_view path = std::string_view(r.target).substr(0, r.target.find('?'));
  if (!rule.path.ends_with('*')) return path == rule.path;
  return path.starts_with(std::string_view(rule.path).substr(0, rule.path.size() - 1));
}

/// The bytes of an answer.
std::string answer_bytes(const http_answer& a, const http_request& to, bool last) {
  if (!a.raw.empty()) return a.raw;
  std::string out = "HTTP/1.1 " + std::to_string(a.status) + ' ';
  out += http::reason_of(a.status);
  out += "\r\n";
  bool framed = false, named_end = false;
  for (const http_field& f : a.fields) {
    out += f.name + ": " + f.value + "\r\n";
    framed = framed || http::equal_ignoring_case(f.name, "content-length") ||
             http::equal_ignoring_case(f.name, "transfer-encoding");
    named_end = named_end || http::equal_ignoring_case(f.name, "connection");
  }
  const bool has_body = http::body_allowed(a.status);
  if (!framed && has_body)
    out += a.chunked ? std::string("Transfer-Encoding: chunked\r\n")
                     : "Content-Length: " + std::to_string(a.body.size()) + "\r\n";
  if (last && !named_end) out += "Connection: close\r\n";
  out += "\r\n";
  if (!has_body || to.method == "HEAD") return out;
  if (!a.chunked) return out + a.body;
  for (std::size_t at = 0; at < a.body.size(); at += a.chunk_bytes) {
    const std::string_view part = std::string_view(a.body).substr(at, a.chunk_bytes);
    out += http::chunk_head(part.size()).text();
    out += part;
    out += http::chunk_end;
  }
  return out + std::string(http::last_chunk);
}

std::uint64_t size_of(const http_request& r) {
  std::uint64_t size = sizeof r + r.target.size() + r.body.size();
  for (const http_field& f : r.fields) size += sizeof f + f.name.size() + f.value.size();
  return size;
}

http_answer plain_answer(int status, std::string text) {
  http_answer a;
  a.status = status;
  a.fields.push_back({"Content-Type", "text/plain"});
  a.body = std::move(text) + '\n';
  return a;
}

}  // namespace

std::string_view http_request::value(std::string_view name) const noexcept {
  for (const http_field& f : fields)
    if (http::equal_ignoring_case(f.name, name)) return f.value;
  return {};
}

struct scripted_http::core {
  explicit core(scripted_http_options with) : options(with) {}

  /// The answer of the first rule that fits; counts it.
  http_answer choose(const http_request& r) {
    for (auto at = rules.begin(); at != rules.end(); ++at) {
      if (!fits(*at, r)) continue;
      if (at->left != 1) {
        if (at->left != 0) --at->left;
        return at->answer;
      }
      http_answer last = std::move(at->answer);
      rules.erase(at);
      return last;
    }
    return plain_answer(404, "no rule fits " + r.method + ' ' + r.target);
  }

  void note(http_request r) {
    ++asked;
    kept_bytes += size_of(r);
    requests.push_back(std::move(r));
    while (requests.size() > options.requests_kept_max ||
           (kept_bytes > options.kept_bytes_max && requests.size() > 1)) {
      kept_bytes -= size_of(requests.front());
      requests.pop_front();
    }
  }

  /// A connection's bytes that came and were not used.
  struct input {
    stream on;
    std::string bytes;
    bool gone = false;  // connection was reset, or broke, or its client ended it
  };

  /// Waits for more bytes; false at the end of the stream, and if it broke or was idle too long.
  task<bool> more(input& in) {
    auto got = co_await as_expected(with_timeout(in.on.receive(), options.idle));
    if (!got && got.error() == std::errc::operation_canceled) throw failure(got.error());
    if (!got || got->empty()) co_return false;
    in.bytes += got->text();
    co_return true;
  }

  /// Reads up to the end of the connection, however long that takes.
  static task<> wait_for_end(const stream& on) {
    for (;;) {
      auto got = co_await as_expected(on.receive());
      if (!got && got.error() == std::errc::operation_canceled) throw failure(got.error());
      if (!got || got->empty()) co_return;
    }
  }

  /// Sends bytes; false if the connection is gone.
  task<bool> send(const stream& on, std::string bytes) {
    while (!bytes.empty()) {
      const auto sent =
          co_await as_expected(with_timeout(on.write_some(std::string_view(bytes)), options.idle));
      if (!sent && sent.error() == std::errc::operation_canceled) throw failure(sent.error());
      if (!sent) co_return false;
      bytes.erase(0, *sent);
    }
    co_return true;
  }

  struct taken {
    http_request request;
    int refused_with = 0;  // the status of a malformed request
    bool ended = false;    // no request came, or its client gave up
    bool keep_alive = false;
  };

  /// Reads one request with its body.
  task<taken> read_request(input& in) {
    taken t;
    http::request_parser parser(options.limits);
    http::parse_state state = parser.feed(in.bytes);
    while (state == http::parse_state::need_more) {
      if (!co_await more(in)) {
        t.ended = true;
        if (!parser.idle()) t.request.problem = "the client ended within the head";
        co_return t;
      }
      state = parser.feed(in.bytes);
    }
    t.request.at = clock::now();
    if (state == http::parse_state::failed) {
      t.request.problem = http::describe(parser.error());
      t.refused_with = http::status_of(parser.error());
      co_return t;
    }
    const http::request_head& head = parser.head();
    t.request.method = head.method_text();
    t.request.target = head.target();
    for (std::size_t i = 0; i != head.header_count(); ++i)
      t.request.fields.push_back(
          {std::string(head.header_at(i).name), std::string(head.header_at(i).value)});
    t.keep_alive = head.keep_alive();
    const http::framing how = head.body();
    const std::uint64_t length = head.content_length();
    const bool expects = head.expects_continue();
    in.bytes.erase(0, parser.consumed());
    if (how == http::framing::length && length > options.limits.body_bytes_max) {
      t.request.problem = http::describe(http::problem::body_too_large);
      t.refused_with = http::status_of(http::problem::body_too_large);
      co_return t;
    }
    http::body_decoder body(options.limits);
    body.begin(how, length);
    if (expects && in.bytes.empty() && !body.ended()) {
      std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      const bool sent = co_await send(in.on, std::move(go_on));
      if (!sent) t.ended = true;
    }
    while (!body.ended() && !t.ended) {
      std::string_view rest = in.bytes;
      const std::string_view part = body.take(rest);
      t.request.body += part;
      const bool progress = !part.empty();
      in.bytes.erase(0, in.bytes.size() - rest.size());
      if (body.error() != http::problem::none) {
        t.request.problem = http::describe(body.error());
        t.refused_with = http::status_of(body.error());
        co_return t;
      }
      if (progress || body.ended()) continue;
      if (!co_await more(in)) t.ended = true;
    }
    if (t.ended) t.request.problem = "the client ended within the body";
    co_return t;
  }

  /// Sends an answer; true if the connection goes on.
  task<bool> answer(input& in, const http_request& to, http_answer a, bool keep_alive) {
    if (a.delay > nanoseconds::zero()) co_await sleep_for(a.delay);
    if (a.silent) {
      co_await wait_for_end(in.on);
      in.gone = true;
      co_return false;
    }
    const bool last = !keep_alive || a.end != http_end::keep;
    std::string bytes = answer_bytes(a, to, last && a.end != http_end::reset);
    const bool cut = a.cut_after && *a.cut_after < bytes.size();
    if (cut) bytes.resize(static_cast<std::size_t>(*a.cut_after));
    const bool sent = co_await send(in.on, std::move(bytes));
    if (!sent) in.gone = true;
    if (sent && a.end == http_end::reset) {
      in.on.reset_on_close();
      in.gone = true;
    }
    co_return sent && !cut && !last;
  }

  task<> connection(stream on, std::uint64_t number) {
    input in{std::move(on), {}, false};
    for (bool goes_on = true; goes_on;) {
      taken t = co_await read_request(in);
      t.request.connection = number;
      const bool whole = t.request.problem.empty();
      if (t.ended && whole) break;
      note(t.request);
      if (t.ended) break;
      http_answer a = whole ? choose(t.request) : plain_answer(t.refused_with, t.request.problem);
      goes_on = co_await answer(in, t.request, std::move(a), whole && t.keep_alive);
    }
    if (!in.gone) co_await finish(in.on, options.linger);
  }

  task<> accept_all(scope& s, const listener& door) {
    return accept_each(door, [this, &s](stream on) {
      ++accepted;
      const bool full = open >= options.connections_max;
      if (full || refusals != 0) {
        if (full || refuse_how == http_end::reset) on.reset_on_close();
        if (!full) --refusals;
        return;
      }
      ++open;
      s.spawn(counted(std::move(on), accepted));
    });
  }

  task<> counted(stream on, std::uint64_t number) {
    struct leaving {
      std::uint32_t& open;
      ~leaving() { --open; }
    } const at_end{open};
    co_await connection(std::move(on), number);
  }

  scripted_http_options options;
  std::deque<http_rule> rules;
  std::deque<http_request> requests;
  std::uint64_t asked = 0, accepted = 0, kept_bytes = 0;
  std::uint32_t open = 0, refusals = 0;
  http_end refuse_how = http_end::reset;
};

scripted_http::scripted_http(scripted_http_options options)
    : core_(std::make_unique<core>(options)) {}
scripted_http::~scripted_http() = default;

void scripted_http::on(std::string_view method, std::string_view path, http_answer answer,
                       std::uint32_t times) {
  check_answer(method, answer);
  if (core_->rules.size() >= core_->options.rules_max)
    refuse_rule(std::errc::no_buffer_space,
                "there are too many rules: scripted_http_options::rules_max allows " +
                    std::to_string(core_->options.rules_max));
  core_->rules.push_back({std::string(method), std::string(path), std::move(answer), times});
}

void scripted_http::clear_rules() noexcept { core_->rules.clear(); }

void scripted_http::refuse_connections(std::uint32_t count, http_end how) noexcept {
  core_->refusals = count;
  core_->refuse_how = how;
}

task<> scripted_http::serve(const listener& door) {
  const auto all = [this, &door](scope& s) { return core_->accept_all(s, door); };
  co_await with_scope(all);
}

const std::deque<http_request>& scripted_http::requests() const noexcept { return core_->requests; }
std::uint64_t scripted_http::asked() const noexcept { return core_->asked; }
std::uint64_t scripted_http::connections() const noexcept { return core_->accepted; }
std::uint32_t scripted_http::connections_open() const noexcept { return core_->open; }

}  // namespace heddle::fakes
