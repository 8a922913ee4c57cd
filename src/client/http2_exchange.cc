// SPDX-License-Identifier: MIT
// Sends a request as a stream, waits for its answer, and gives its body as the reader takes it.
#include "client/http2_exchange.hh"

#include <algorithm>
#include <utility>

#include "heddle/core/expected.hh"
#include "heddle/http/chunked.hh"
#include "heddle/http/detail/http2_client_head.hh"
#include "heddle/http/headers.hh"

namespace heddle::http::detail {
namespace {

class http2_upload final : public body_upload {
 public:
  /// Sends a body whose first `sent` bytes have left.
  http2_upload(const outgoing& what, std::size_t sent, std::shared_ptr<http2_link> link,
               std::shared_ptr<client_stream> to)
      : body_upload(what), link_(std::move(link)), to_(std::move(to)) {
    skip(sent);
  }

 private:
  task<bool> put(std::string_view bytes) override {
    const bool taken = co_await link_->send(*to_, bytes, false);
    if (!taken && link_->took_nothing(*to_)) note_stall();
    co_return taken;
  }
  task<bool> finish() override { return link_->send(*to_, {}, true); }
  void abandon() noexcept override {
    link_->reset(*to_, {http2_error::cancel, std::errc::operation_canceled, {}});
  }

  std::shared_ptr<http2_link> link_;
  std::shared_ptr<client_stream> to_;
};

}  // namespace

exchange_over_http2::exchange_over_http2(std::shared_ptr<http2_link> on, gate::hold permit,
                                         std::shared_ptr<const client_options> options, url from,
                                         std::string verb, time_point due)
    : client_exchange(std::move(options), std::move(from), std::move(verb), due),
      link_(std::move(on)),
      stream_(std::make_shared<client_stream>()) {
  stream_->permit = std::move(permit);
  stream_->bodyless = verb_ == "HEAD";
}

exchange_over_http2::~exchange_over_http2() { end_of_body(); }

void exchange_over_http2::end_of_body() {
  if (std::exchange(released_, true)) return;
  if (upload_ != nullptr) upload_->cancel();
  link_->release(*stream_);
}

task<> exchange_over_http2::send(const outgoing& what, std::string head) {
  std::string block;
  http2_request_kind kind;
  kind.secure = from_.secure;
  kind.secret = [&](std::string_view name) {
    return std::ranges::any_of(what.fields(), [&](const outgoing::field& f) {
      return f.secret && equal_ignoring_case(f.name, name);
    });
  };
  put_http2_request(block, head, kind);
  const bool has_body = what.has_body() && (what.parts() || !what.bytes().empty());
  link_->open(*stream_, block, !has_body);
  if (stream_->trouble) fail_stream();
  if (!has_body) co_return;
  std::size_t sent = 0;
  if (!what.parts()) {
    std::string_view rest = what.bytes();
    if (link_->send_now(*stream_, rest, true)) co_return;
    sent = what.bytes().size() - rest.size();
  }
  upload_ = std::make_shared<http2_upload>(what, sent, link_, stream_);
  body_upload::start(upload_);
}

void exchange_over_http2::fail_stream() const {
  const http2_trouble& why = *stream_->trouble;
  fail(why.code, (stream_->has_head ? "the answer is incomplete: " : "") + why.text);
}

task<> exchange_over_http2::wait_for_news(time_point due, const char* where) {
  const auto came = co_await as_expected(with_deadline(stream_->news.wait(), std::min(due, due_)));
  if (!came) fail_wait(came.error(), where);
}

task<> exchange_over_http2::read_head() {
  constexpr const char* where = "before the end of the answer's head";
  time_point limit = head_due();
  while (!stream_->has_head && !stream_->trouble) {
    if (upload_ == nullptr || upload_->ended()) {
      co_await wait_for_news(limit, where);
      continue;
    }
    const auto came = co_await as_expected(
        with_deadline(with_cancel(upload_->over(), stream_->news.wait()), due_));
    if (!came && !upload_->ended()) fail_wait(came.error(), where);
    if (!stream_->has_head && !stream_->trouble) check_upload();
    limit = head_due();
  }
  if (!stream_->has_head) fail_stream();
  head_ = std::move(stream_->head);
}

bool exchange_over_http2::begin_body() {
  return !stream_->has_ended_remote() || !stream_->arrived.empty();
}

task<std::string_view> exchange_over_http2::read_raw() {
  while (!released_) {
    if (!stream_->arrived.empty()) {
      stream_->part.clear();
      std::swap(stream_->part, stream_->arrived);
      link_->give_back(*stream_, stream_->part.size());
      co_return stream_->part;
    }
    if (stream_->has_ended_remote()) {
      end_of_body();
      break;
    }
    if (stream_->trouble) fail_stream();
    co_await wait_for_news(limit_of(options_->timeouts.transfer), "inside the body of the answer");
  }
  co_return std::string_view{};
}

std::string_view exchange_over_http2::trailer(std::string_view name) const noexcept {
  return find_trailer(stream_->trailers, name);
}

}  // namespace heddle::http::detail
