// SPDX-License-Identifier: MIT
// X-Forwarded-For and Forwarded: whatever a client wrote, the element that a trusted proxy adds
// behind it is the one that counts, and without a trusted peer nothing counts. The input is the
// value that the client sent.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/http/forwarded.hh"
#include "heddle/http/headers.hh"
#include "heddle/http/parser.hh"

namespace {

using namespace heddle;
using namespace heddle::http;

void demand(bool condition) {
  if (!condition) std::abort();
}

const address proxy = *address::parse("10.0.0.1", 80);
const address stranger = *address::parse("198.51.100.7", 80);
const std::vector<network> trusted = {*network::parse("10.0.0.0/8"), *network::parse("fd00::/8")};

bool is_trusted(const address& a) {
  for (const network& each : trusted)
    if (each.contains(a)) return true;
  return false;
}

address reached(std::string_view name, std::string_view value, const address& peer,
                forwarded_field field) {
  std::string text("GET / HTTP/1.1\r\nHost: x\r\n");
  text.append(name).append(": ").append(value).append("\r\n\r\n");
  const limits bounds{.header_bytes_max = 1 << 20};
  request_parser parser(bounds);
  demand(parser.feed(text) == parse_state::done);
  return client_address(parser.head(), peer, trusted, field);
}

void check(std::string_view name, const std::string& written, forwarded_field field,
           std::string_view own) {
  const address from_proxy = reached(name, written, proxy, field);
  demand(static_cast<bool>(from_proxy));
  demand(reached(name, written, stranger, field) == stranger);
  // A second trusted proxy appends the address that it saw. It ends the walk.
  const std::string longer = written + ", " + std::string(own);
  demand(reached(name, longer, proxy, field).host() == "192.0.2.1");
  // One that saw a trusted proxy does not: the walk goes on where it would have begun.
  const std::string through = field == forwarded_field::forwarded ? ", for=10.0.0.2" : ", 10.0.0.2";
  const address further = reached(name, written + through, proxy, field);
  demand(further.host() == from_proxy.host() || further.host() == "10.0.0.2");
  demand(!is_trusted(further) || is_trusted(from_proxy));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (size > 4096 || !value_valid(text)) return 0;
  check("X-Forwarded-For", text, forwarded_field::x_forwarded_for, "192.0.2.1");
  check("X-Forwarded-For", text, forwarded_field::x_forwarded_for, "192.0.2.1:4711");
  check("Forwarded", text, forwarded_field::forwarded, "for=192.0.2.1");
  check("Forwarded", text, forwarded_field::forwarded, "proto=https; For=\"192.0.2.1:4711\";by=_x");
  check("Forwarded", text, forwarded_field::forwarded, "host=\"a,b;c\";for=\"192.0.2.1\"");
  return 0;
}
