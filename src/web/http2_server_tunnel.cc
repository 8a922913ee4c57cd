// SPDX-License-Identifier: MIT
// Extended CONNECT of RFC 8441 in a server: the handler of a WebSocket gets one stream of the
// connection as a stream of bytes. The exchange outlives the tunnel, because the task that answers
// the stream waits for the tunnel's end.
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/http/detail/http2_tunnel.hh"
#include "heddle/http/headers.hh"
#include "heddle/web/problem_details.hh"
#include "web/http2_session.hh"

namespace heddle::http {
namespace {

constexpr nanoseconds unbounded = std::chrono::hours(24 * 365);

failure stream_reset() {
  return failure(std::make_error_code(std::errc::connection_reset), "the client reset the stream");
}

}  // namespace

class http2_server_tunnel final : public http2_tunnel {
 public:
  explicit http2_server_tunnel(http2_exchange& of) noexcept : x_(of) {}

  task<std::string_view> read() override {
    while (x_.arrived.empty() && !x_.has_ended_remote() && !x_.is_reset()) co_await x_.news.wait();
    if (x_.is_reset()) throw stream_reset();
    x_.part.clear();
    std::swap(x_.part, x_.arrived);
    x_.on_.give_back(x_, x_.part.size());
    co_return x_.part;
  }
  task<> write(std::string_view bytes) override {
    if (x_.is_reset()) throw stream_reset();
    x_.written_ += bytes.size();
    const auto sent =
        co_await as_expected(with_cancel(x_.tunnel_stop_, x_.send_part(bytes, false)));
    if (x_.is_reset()) throw stream_reset();
    if (!sent) throw failure(sent.error());
    if (!*sent) throw failure(client_gone(), "the client takes no more");
  }
  std::size_t write_now(std::string_view bytes) override {
    if (x_.is_reset() || x_.out_.broken()) return 0;
    const std::size_t before = bytes.size();
    static_cast<void>(x_.out_.send_now(x_.sender, bytes, false));
    x_.out_.flush_soon();
    x_.written_ += before - bytes.size();
    return before - bytes.size();
  }
  task<> writable() override { return write({}); }
  void end() noexcept override {
    if (!x_.may_send() || x_.out_.broken()) return;
    put_http2_head(x_.out_.gathered, 0, http2_type::data, http2_flag::end_stream, x_.sender.id);
    x_.note_end();
    x_.out_.flush_soon();
  }
  void close(bool reset) noexcept override {
    if (!reset) end();
    x_.tunnel_phase_ = reset ? http2_tunnel_phase::failed : http2_tunnel_phase::closed;
    x_.tunnel_closed_.wake();
  }
  [[nodiscard]] address peer() const noexcept override { return x_.connection_peer(); }

 private:
  http2_exchange& x_;
};

task<upgraded> http2_exchange::upgrade(std::string_view protocol, response r) {
  if (!equal_ignoring_case(protocol_, protocol))
    throw status_error(426, protocol_.empty()
                                ? "HTTP/2 has no upgrade: ask over HTTP/1.1, or by CONNECT with "
                                  ":protocol (RFC 8441)"
                                : "this resource uses another protocol than :protocol names");
  response opened(200);  // where HTTP/1.1 says 101
  r.each_field([&](std::string_view name, std::string_view value) { opened.header(name, value); });
  if (r.from_elsewhere()) opened.from_elsewhere(r.dated());
  auto end = std::make_shared<http2_server_tunnel>(*this);
  tunnel_ = make_http2_stream(std::move(end));
  tunnel_phase_ = http2_tunnel_phase::open;
  begin_parts(opened.status(), false);
  put_head(opened, false, false);
  out_.flush_soon();
  co_return upgraded(tunnel_, {});
}

task<response> http2_exchange::hand_over(std::string_view protocol, response head, take_over then) {
  upgraded to = co_await upgrade(protocol, std::move(head));
  then_ = std::move(then);
  co_return to.done();
}

/// Ends the tunnel's part of the answer, because the handler has ended. `whole`: the handler
/// returned the response that the tunnel is for.
task<bool> http2_exchange::run_tunnel(bool whole) {
  whole = end_parts(whole);
  if (whole && then_) co_await then_(upgraded(tunnel_, {}));
  co_await end_tunnel();
  co_return whole&& tunnel_phase_ != http2_tunnel_phase::failed;
}

task<> http2_exchange::end_tunnel() {
  if (tunnel_phase_ != http2_tunnel_phase::open) co_return;
  tunnel_.close();
  while (tunnel_phase_ == http2_tunnel_phase::open)
    co_await shield(tunnel_closed_.wait(), unbounded);
}

}  // namespace heddle::http
