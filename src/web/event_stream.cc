// SPDX-License-Identifier: MIT
// Formats server-sent events.
#include "heddle/web/event_stream.hh"

#include "heddle/base/error.hh"

namespace heddle::http {
namespace {

// Writes one field line for each line of the text; CR LF, CR or LF ends a line.
void append_lines(std::string& out, std::string_view field, std::string_view text) {
  for (;;) {
    const std::size_t end = text.find_first_of("\r\n");
    out.append(field).append(text.substr(0, end)) += '\n';
    if (end == text.npos) return;
    text.remove_prefix(end + (text.substr(end, 2) == "\r\n" ? 2 : 1));
  }
}

std::string one_line(std::string_view field, std::string_view text) {
  if (text.find_first_of(std::string_view("\r\n\0", 3)) != text.npos)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "the name or id of a server-sent event must be one line");
  return std::string(field).append(text) + '\n';
}

}  // namespace

server_event::server_event(std::string_view data) { append_lines(data_, "data: ", data); }

server_event& server_event::name(std::string_view text) & {
  before_ += one_line("event: ", text);
  return *this;
}

server_event& server_event::id(std::string_view text) & {
  before_ += one_line("id: ", text);
  return *this;
}

server_event& server_event::retry(std::chrono::milliseconds pause) & {
  before_ += "retry: " + std::to_string(pause.count()) + '\n';
  return *this;
}

task<> event_stream::send(server_event e) {
  const std::string text = e.text();
  co_await out_.write(text);
}

task<> event_stream::comment(std::string text) {
  std::string lines;
  append_lines(lines, ": ", text);
  lines += '\n';
  co_await out_.write(lines);
}

task<event_stream> start_events(request& r) {
  response head(200);
  // X-Accel-Buffering tells proxies that buffer answers not to delay the events.
  head.header("Content-Type", "text/event-stream")
      .header("Cache-Control", "no-store")
      .header("X-Accel-Buffering", "no");
  body_writer out = co_await r.start(std::move(head));
  co_await out.flush();
  co_return event_stream(out);
}

}  // namespace heddle::http
