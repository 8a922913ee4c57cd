// SPDX-License-Identifier: MIT
// HTTP/1 on a descriptor: reading line by line from a buffer, bodies by length or in chunks, and
// writing.
#include <algorithm>
#include <charconv>

#include "tamer/descriptor.hh"
#include "tamer/http_text.hh"

namespace tamer {

using detail::has_token;
using detail::one_line;
using detail::read_number;
using detail::trimmed;

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

namespace {

/// The first line of a message.
http_errno read_start(std::string_view line, bool request, http_method& method, std::string& url,
                      unsigned& status, std::string& reason, unsigned& minor) {
  const auto version = [&](std::string_view v) {
    if (v != "HTTP/1.0" && v != "HTTP/1.1") return false;
    minor = v.back() == '1' ? 1 : 0;
    return true;
  };
  const std::size_t first = line.find(' ');
  if (first == std::string_view::npos) return HPE_INVALID_METHOD;
  if (request) {
    const std::size_t last = line.rfind(' ');
    const auto* const known =
        std::find_if(std::begin(detail::http_methods), std::end(detail::http_methods),
                     [&](const auto& m) { return m.name == line.substr(0, first); });
    if (known == std::end(detail::http_methods) || last == first) return HPE_INVALID_METHOD;
    method = known->method;
    url = line.substr(first + 1, last - first - 1);
    return version(line.substr(last + 1)) ? HPE_OK : HPE_INVALID_VERSION;
  }
  if (!version(line.substr(0, first))) return HPE_INVALID_VERSION;
  const std::string_view code = line.substr(first + 1, 3);
  if (code.size() != 3 || !read_number(code, status)) return HPE_INVALID_STATUS;
  reason = line.size() > first + 5 ? line.substr(first + 5) : std::string_view();
  return HPE_OK;
}

}  // namespace

// The waits below are written as translated code is: a gather and a maker for each.
void http_parser::read_message(std::shared_ptr<state> s, fd f, event<http_message> done) {
  http_message m;
  std::string line;
  int r = 0;
  enum { start, headers, by_length, chunk_head, chunk, chunk_end, trailer, to_the_end, ended };
  int at = start;
  std::size_t left = 0;
  std::size_t lines = 0;
  const bool request = s->type != HTTP_RESPONSE;
  while (at != ended && m.error_ == HPE_OK && done) {
    if (at == by_length || at == chunk || at == to_the_end) {
      if (at != to_the_end && s->in.size() < left) {
        ::heddle::tame::gather more;
        {
          const ::heddle::tame::maker make_event(more);
          event<int> e = make_event(r);
          done.at_trigger(e.unblocker());
          s->in.fill_more(f, e);
        }
        co_await more;
        if (r < 0) m.error_ = HPE_INVALID_EOF_STATE;
        continue;
      }
      if (at == to_the_end) {
        m.body_ += s->in.take(s->in.size());
        ::heddle::tame::gather more;
        {
          const ::heddle::tame::maker make_event(more);
          event<int> e = make_event(r);
          done.at_trigger(e.unblocker());
          s->in.fill_more(f, e);
        }
        co_await more;
        if (r < 0) at = ended;
        if (m.body_.size() > body_max) m.error_ = HPE_HEADER_OVERFLOW;
        continue;
      }
      m.body_ += s->in.take(left);
      at = at == chunk ? chunk_end : ended;
      continue;
    }
    {
      ::heddle::tame::gather more;
      {
        const ::heddle::tame::maker make_event(more);
        event<int> e = make_event(r);
        done.at_trigger(e.unblocker());
        s->in.take_until(f, '\n', line_max, line, e);
      }
      co_await more;
    }
    if (r < 0) {
      m.error_ = r == -E2BIG ? HPE_HEADER_OVERFLOW : HPE_INVALID_EOF_STATE;
      break;
    }
    const std::string_view text = trimmed(line);
    switch (at) {
      case start:
        if (text.empty() && ++lines < 8) break;  // an empty line behind the body before
        m.error_ = read_start(text, request, m.method_, m.url_, m.status_, m.reason_, m.minor_);
        at = headers;
        lines = 0;
        break;
      case headers:
      case trailer: {
        if (text.empty()) {
          if (at == trailer) {
            at = ended;
            break;
          }
          const std::string length = m.header("content-length");
          if (!request && (m.status_ / 100 == 1 || m.status_ == 204 || m.status_ == 304)) {
            at = ended;  // these statuses have no body; their Content-Length is ignored
          } else if (has_token(m.header("transfer-encoding"), "chunked")) {
            at = chunk_head;
          } else if (!length.empty()) {
            at = by_length;
            if (!read_number(length, left) || left > body_max)
              m.error_ = HPE_INVALID_CONTENT_LENGTH;
          } else {
            at = request ? ended : to_the_end;
          }
          break;
        }
        const std::size_t colon = text.find(':');
        if (colon == std::string_view::npos || colon == 0 || text[colon - 1] == ' ' ||
            ++lines > headers_max) {
          m.error_ = lines > headers_max ? HPE_HEADER_OVERFLOW : HPE_INVALID_HEADER_TOKEN;
        } else if (at == headers) {
          http_header h{std::string(text.substr(0, colon)),
                        std::string(trimmed(text.substr(colon + 1)))};
          // With two lengths, another program may see the message end elsewhere.
          if (h.is_content_length() && m.has_header(h.name) && m.header(h.name) != h.value)
            m.error_ = HPE_INVALID_CONTENT_LENGTH;
          m.headers_.push_back(std::move(h));
        }
        break;
      }
      case chunk_head:
        if (!read_number(trimmed(text.substr(0, text.find(';'))), left, 16) ||
            left > body_max - m.body_.size()) {
          m.error_ = HPE_INVALID_CHUNK_SIZE;
        } else {
          at = left == 0 ? trailer : chunk;
        }
        break;
      case chunk_end:
        if (!text.empty()) m.error_ = HPE_INVALID_CHUNK_SIZE;
        at = chunk_head;
        break;
      default:
        break;
    }
  }
  if (!done) co_return;
  s->error = m.error_;
  // Bytes behind a 101 belong to the new protocol, and a websocket_parser has a buffer of its own.
  if (detail::descriptor* const d = detail::descriptor::of(f);
      d != nullptr && m.ok() && !request && m.status_ == 101)
    d->surplus += s->in.take(s->in.size());
  const std::string connection = m.header("connection");
  s->keep_alive =
      m.minor_ == 1 ? !has_token(connection, "close") : has_token(connection, "keep-alive");
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
  char size[32];
  const auto end = std::to_chars(size, size + sizeof size, part.size(), 16);
  f.write(std::string(size, end.ptr) + "\r\n" + part + "\r\n", std::move(done));
}
void http_parser::send_response_end(fd f, event<> done) { f.write("0\r\n\r\n", std::move(done)); }

}  // namespace tamer
