// SPDX-License-Identifier: MIT
// One op_code::resolve a question, and the meaning of the resolver's errors.
#include "heddle/io/resolve.hh"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>

#include "heddle/io/call.hh"
#include "heddle/io/detail/lane.hh"
#include "heddle/io/detail/resolve_request.hh"

namespace heddle {
namespace {

class resolver_errors final : public std::error_category {
 public:
  const char* name() const noexcept override { return "resolver"; }
  std::string message(int code) const override { return ::gai_strerror(code); }
  std::error_condition default_error_condition(int code) const noexcept override {
    switch (code) {
      case EAI_NONAME:
      case EAI_ADDRFAMILY:
      case EAI_NODATA:
        return std::errc::address_not_available;
      case EAI_AGAIN:
        return std::errc::resource_unavailable_try_again;
      case EAI_MEMORY:
        return std::errc::not_enough_memory;
      default:
        return {code, *this};
    }
  }
};

int native_family(address_family family) {
  if (family == address_family::v4) return AF_INET;
  return family == address_family::v6 ? AF_INET6 : AF_UNSPEC;
}

bool fits(const address& a, address_family family) {
  return family == address_family::any || a.is_v4() == (family == address_family::v4);
}

/// The address of a numeric host and service, which needs no look-up; else an empty address.
address numeric(const std::string& host, const std::string& service) {
  std::uint16_t port = 0;
  const char* end = service.data() + service.size();
  const auto [stop, error] = std::from_chars(service.data(), end, port);
  if (service.empty() || error != std::errc() || stop != end) return {};
  // A host that carries a port of its own ("1.2.3.4:5") is no host.
  const auto whole = address::parse(host);
  if (!whole || whole->with_port(0).host() != host) return {};
  return whole->with_port(port);
}

}  // namespace

const std::error_category& resolver_category() noexcept {
  static const resolver_errors category;
  return category;
}

task<std::vector<address>> resolve(std::string host, std::string service, resolve_options options) {
  if (const address known = numeric(host, service); known && fits(known, options.family))
    co_return std::vector<address>{known};

  // The system would take the rest of a number that is too large, and the part before a zero byte.
  const bool digits = service.find_first_not_of("0123456789") == std::string::npos;
  const std::size_t significant =
      service.size() - std::min(service.find_first_not_of('0'), service.size());
  if (digits && (significant > 5 || (significant == 5 && std::stoul(service) > 65535)))
    throw failure({EAI_SERVICE, resolver_category()}, "there is no port " + service);
  if (host.find('\0') != std::string::npos || service.find('\0') != std::string::npos)
    throw failure({EAI_NONAME, resolver_category()}, "cannot find " + host);

  const auto request = std::make_shared<resolve_request>();
  request->host = host;
  request->service = std::move(service);
  request->family = native_family(options.family);
  request->passive = options.to_listen;
  one_operation asking(op_code::resolve, -1, "resolve");
  asking.more = request.get();
  const std::int64_t outcome = co_await asking;
  if (outcome == -EAGAIN)
    throw failure(kernel_error(-EAGAIN), "no thread is free to look up " + host);
  detail::check_outcome(outcome);
  if (request->error != 0)
    throw failure({request->error, resolver_category()}, "cannot find " + host);

  std::vector<address> found;
  for (const auto& native : request->found) {
    const auto* bytes = reinterpret_cast<const ::sockaddr*>(native.bytes.data());
    if (const auto a = address::from(bytes, native.len)) found.push_back(*a);
  }
  if (found.empty()) throw failure({EAI_NONAME, resolver_category()}, "cannot find " + host);
  co_return found;
}

}  // namespace heddle
