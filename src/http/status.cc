// SPDX-License-Identifier: MIT
// Reason phrases and whole status lines. One sorted table of whole lines gives both, because the
// phrase is a part of the line.
#include "heddle/http/status.hh"

#include <algorithm>
#include <array>

namespace heddle::http {
namespace {

using namespace std::string_view_literals;

// Sorted by code, which is at the same offset in every line.
constexpr std::array lines{
    "HTTP/1.1 100 Continue\r\n"sv,
    "HTTP/1.1 101 Switching Protocols\r\n"sv,
    "HTTP/1.1 102 Processing\r\n"sv,
    "HTTP/1.1 103 Early Hints\r\n"sv,
    "HTTP/1.1 200 OK\r\n"sv,
    "HTTP/1.1 201 Created\r\n"sv,
    "HTTP/1.1 202 Accepted\r\n"sv,
    "HTTP/1.1 203 Non-Authoritative Information\r\n"sv,
    "HTTP/1.1 204 No Content\r\n"sv,
    "HTTP/1.1 205 Reset Content\r\n"sv,
    "HTTP/1.1 206 Partial Content\r\n"sv,
    "HTTP/1.1 207 Multi-Status\r\n"sv,
    "HTTP/1.1 208 Already Reported\r\n"sv,
    "HTTP/1.1 226 IM Used\r\n"sv,
    "HTTP/1.1 300 Multiple Choices\r\n"sv,
    "HTTP/1.1 301 Moved Permanently\r\n"sv,
    "HTTP/1.1 302 Found\r\n"sv,
    "HTTP/1.1 303 See Other\r\n"sv,
    "HTTP/1.1 304 Not Modified\r\n"sv,
    "HTTP/1.1 307 Temporary Redirect\r\n"sv,
    "HTTP/1.1 308 Permanent Redirect\r\n"sv,
    "HTTP/1.1 400 Bad Request\r\n"sv,
    "HTTP/1.1 401 Unauthorized\r\n"sv,
    "HTTP/1.1 402 Payment Required\r\n"sv,
    "HTTP/1.1 403 Forbidden\r\n"sv,
    "HTTP/1.1 404 Not Found\r\n"sv,
    "HTTP/1.1 405 Method Not Allowed\r\n"sv,
    "HTTP/1.1 406 Not Acceptable\r\n"sv,
    "HTTP/1.1 407 Proxy Authentication Required\r\n"sv,
    "HTTP/1.1 408 Request Timeout\r\n"sv,
    "HTTP/1.1 409 Conflict\r\n"sv,
    "HTTP/1.1 410 Gone\r\n"sv,
    "HTTP/1.1 411 Length Required\r\n"sv,
    "HTTP/1.1 412 Precondition Failed\r\n"sv,
    "HTTP/1.1 413 Content Too Large\r\n"sv,
    "HTTP/1.1 414 URI Too Long\r\n"sv,
    "HTTP/1.1 415 Unsupported Media Type\r\n"sv,
    "HTTP/1.1 416 Range Not Satisfiable\r\n"sv,
    "HTTP/1.1 417 Expectation Failed\r\n"sv,
    "HTTP/1.1 421 Misdirected Request\r\n"sv,
    "HTTP/1.1 422 Unprocessable Content\r\n"sv,
    "HTTP/1.1 423 Locked\r\n"sv,
    "HTTP/1.1 424 Failed Dependency\r\n"sv,
    "HTTP/1.1 425 Too Early\r\n"sv,
    "HTTP/1.1 426 Upgrade Required\r\n"sv,
    "HTTP/1.1 428 Precondition Required\r\n"sv,
    "HTTP/1.1 429 Too Many Requests\r\n"sv,
    "HTTP/1.1 431 Request Header Fields Too Large\r\n"sv,
    "HTTP/1.1 451 Unavailable For Legal Reasons\r\n"sv,
    "HTTP/1.1 500 Internal Server Error\r\n"sv,
    "HTTP/1.1 501 Not Implemented\r\n"sv,
    "HTTP/1.1 502 Bad Gateway\r\n"sv,
    "HTTP/1.1 503 Service Unavailable\r\n"sv,
    "HTTP/1.1 504 Gateway Timeout\r\n"sv,
    "HTTP/1.1 505 HTTP Version Not Supported\r\n"sv,
    "HTTP/1.1 506 Variant Also Negotiates\r\n"sv,
    "HTTP/1.1 507 Insufficient Storage\r\n"sv,
    "HTTP/1.1 508 Loop Detected\r\n"sv,
    "HTTP/1.1 511 Network Authentication Required\r\n"sv,
};

constexpr int code_of(std::string_view line) {
  return (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
}

// Index of each code in `lines`, counted from one; zero if the code is not registered.
constexpr std::array<unsigned char, 1000> places = [] {
  std::array<unsigned char, 1000> result{};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    result[static_cast<std::size_t>(code_of(lines[i]))] = static_cast<unsigned char>(i + 1);
  }
  return result;
}();

static_assert(std::is_sorted(lines.begin(), lines.end()), "one line for each code, in order");

}  // namespace

std::string_view status_line(int status) {
  if (!status_valid(status)) return {};
  unsigned place = places[static_cast<std::size_t>(status)];
  return place == 0 ? std::string_view{} : lines[place - 1];
}

std::string_view reason_of(int status) {
  std::string_view line = status_line(status);
  return line.empty() ? line : line.substr(13, line.size() - 15);
}

}  // namespace heddle::http
