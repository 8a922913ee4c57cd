// SPDX-License-Identifier: MIT
// HTTP/1 on a descriptor: receiving and sending of messages.
#include "heddle/http/chunked.hh"
#include "tamer/descriptor.hh"
#include "tamer/http_reader.hh"
#include "tamer/http_text.hh"

namespace tamer {

using detail::one_line;

struct http_parser::state {
  explicit state(http_parser_type t) : type(t) {}
  http_parser_type type;
  buffer in;
  http_errno error = HPE_OK;
  bool keep_alive = true;
};

http_parser::http_parser(http_parser_type type) : state_(std::make_shared<state>(type)) {}
bool http_parser::ok() const noexcept { return state_->error == HPE_OK; }
http_errno http_parser::error() const noexcept { return state_->error; }
bool http_parser::should_keep_alive() const noexcept { return ok() && state_->keep_alive; }
void http_parser::clear_should_keep_alive() noexcept { state_->keep_alive = false; }
void http_parser::clear() { state_ = std::make_shared<state>(state_->type); }

void http_parser::receive(fd f, event<http_message> done) {
  read_message(state_, std::move(f), std::move(done));
}

// The wait below is written as the translator writes it: with gather and maker.
void http_parser::read_message(std::shared_ptr<state> s, fd f, event<http_message> done) {
  const bool request = s->type != HTTP_RESPONSE;
  detail::http_reader reader(request);
  int r = 0;
  while (done && !reader.take(s->in)) {
    ::heddle::tame::gather more;
    {
      const ::heddle::tame::maker make_event(more);
      event<int> e = make_event(r);
      done.at_trigger(e.unblocker());
      s->in.fill_more(f, e);
    }
    co_await more;
    if (r >= 0) continue;
    reader.end_of_input();
    break;
  }
  http_message& m = reader.message;
  if (!done) co_return;
  s->error = m.error();
  // Bytes behind a 101 belong to the new protocol, and a websocket_parser has a buffer of its own.
  if (detail::descriptor* const d = detail::descriptor::of(f);
      d != nullptr && m.ok() && !request && m.status_code() == 101)
    d->surplus += s->in.take(s->in.size());
  s->keep_alive = reader.keep_alive;
  done.trigger(std::move(m));
  co_return;
}

namespace {

std::string head_of(const http_message& m, bool request, bool chunked) {
  std::string out;
  if (request) {
    out = http_method_str(m.method()) + std::string(" ") + one_line(m.url()) + " HTTP/1." +
          std::to_string(m.http_minor()) + "\r\n";
  } else {
    out = "HTTP/1." + std::to_string(m.http_minor()) + " " + std::to_string(m.status_code()) + " " +
          (m.status_message().empty() ? http_message::default_status_message(m.status_code())
                                      : m.status_message()) +
          "\r\n";
  }
  bool has_length = false;
  for (const http_header& h : m) {
    out += h.name + ": " + h.value + "\r\n";
    has_length = has_length || h.is_content_length() || h.is("transfer-encoding");
  }
  const bool bare =
      !request && (m.status_code() / 100 == 1 || m.status_code() == 204 || m.status_code() == 304);
  if (chunked) {
    out += "Transfer-Encoding: chunked\r\n";
  } else if (!has_length && !bare && (!request || !m.body().empty())) {
    out += "Content-Length: " + std::to_string(m.body().size()) + "\r\n";
  }
  return out + "\r\n";
}

}  // namespace

void http_parser::send(fd f, const http_message& message, event<> done) {
  if (state_->type == HTTP_RESPONSE) {
    send_request(std::move(f), message, std::move(done));
  } else {
    send_response(std::move(f), message, std::move(done));
  }
}
void http_parser::send_request(fd f, const http_message& message, event<> done) {
  f.write(head_of(message, true, false) + message.body(), std::move(done));
}
void http_parser::send_response(fd f, const http_message& message, event<> done) {
  f.write(head_of(message, false, false) + message.body(), std::move(done));
}
void http_parser::send_response_headers(fd f, const http_message& message, event<> done) {
  f.write(head_of(message, false, true), std::move(done));
}
void http_parser::send_response_chunk(fd f, std::string part, event<> done) {
  if (part.empty()) return done.trigger();
  const heddle::http::chunk_head size(part.size());
  f.write(std::string(size.text()) + part + std::string(heddle::http::chunk_end), std::move(done));
}
void http_parser::send_response_end(fd f, event<> done) {
  f.write(std::string(heddle::http::last_chunk), std::move(done));
}

}  // namespace tamer
