// SPDX-License-Identifier: MIT
// The header of the PROXY protocol: a result must not depend on the bytes behind the header, a
// beginning of a header must be one that may go on, and what is written again reads the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "heddle/http/proxy_protocol.hh"

namespace {

using namespace heddle::http;

void demand(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  proxy_header whole, part;
  const proxy_header_state end = parse_proxy_header(bytes, whole);
  if (end == proxy_header_state::done) {
    demand(whole.size <= size && (whole.version == 1 || whole.version == 2));
    demand(static_cast<bool>(whole.client) == static_cast<bool>(whole.server));
    demand(parse_proxy_header(bytes.substr(0, whole.size), part) == proxy_header_state::done);
    demand(part.size == whole.size && part.client == whole.client && part.server == whole.server);
    for (const int version : {1, 2}) {
      proxy_header again;
      const std::string text = proxy_header_text(version, whole.client, whole.server);
      demand(parse_proxy_header(text, again) == proxy_header_state::done);
      demand(again.size == text.size());
      if (whole.client)
        demand(again.client.unmapped() == whole.client.unmapped() &&
               again.client.port() == whole.client.port());
    }
  }
  // No beginning may be done earlier, or be refused if the whole is not.
  const std::size_t most = end == proxy_header_state::done ? whole.size : size;
  for (std::size_t n = 0; n < most; ++n) {
    const proxy_header_state now = parse_proxy_header(bytes.substr(0, n), part);
    demand(now != proxy_header_state::done);
    if (end != proxy_header_state::failed) demand(now == proxy_header_state::need_more);
    if (now == proxy_header_state::failed) break;
  }
  return 0;
}
