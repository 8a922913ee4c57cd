// SPDX-License-Identifier: MIT
// A look-up from its text to its addresses: number, files, names with a meaning of their own, then
// the search list, each full name asked for both versions at once.
#include "names/core.hh"

#include <algorithm>

#include "heddle/base/text.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/scope.hh"
#include "names/name.hh"

namespace heddle::names::detail {
namespace {

constexpr std::size_t shown_bytes_max = 100;  // bytes of a host that an error shows

bool fits_family(const address& a, address_family family) noexcept {
  return family == address_family::any || a.is_v4() == (family == address_family::v4);
}

outcome failed(std::string_view host, std::error_code code, std::string_view why) {
  const std::string shown = printable_text(host, shown_bytes_max);
  return std::unexpected(problem{code, "cannot find " + shown + ": " + std::string(why)});
}

answer failed_answer(errc code, std::string why) {
  answer a;
  a.code = code;
  a.why = std::move(why);
  return a;
}

found with_port(const answer& from, std::uint16_t port, bool cached) {
  found out;
  for (const address& a : from.addresses) out.addresses.push_back(a.with_port(port));
  out.name = from.name;
  out.ttl = std::max(span_between(clock::now(), from.until), nanoseconds::zero());
  out.cached = cached;
  return out;
}

/// Whether the servers have said that the name has no address, as opposed to a failure.
bool is_denial(std::error_code code) noexcept {
  return code == errc::no_such_name || code == errc::no_address;
}

/// The answers for version 6 and 4 as one: addresses if there are any, else the failure, else the
/// denial that says more.
answer merge(const std::vector<answer_ref>& all) {
  answer sum;
  sum.until = never;
  for (const answer_ref& each : all) {
    if (each == nullptr || !each->good()) continue;
    sum.addresses.insert(sum.addresses.end(), each->addresses.begin(), each->addresses.end());
    sum.name = each->name;
    sum.until = std::min(sum.until, each->until);
  }
  if (!sum.addresses.empty()) return sum;
  const answer* worst = nullptr;
  for (const answer_ref& each : all) {
    if (each == nullptr) continue;
    const bool says_more = worst == nullptr || (is_denial(worst->code) && !is_denial(each->code)) ||
                           (worst->code == errc::no_such_name && each->code == errc::no_address);
    if (says_more) worst = each.get();
  }
  return *worst;
}

/// An answer for a failure of the system's resolver, with the text of its error code.
answer system_failure(std::error_code code, const resolver_cache& keep) {
  const bool none = code == std::errc::address_not_available;
  answer a = failed_answer(none ? errc::no_such_name : errc::server_failed,
                           "the system's resolver: " + code.message());
  a.until =
      add_saturated(clock::now(), none ? std::min(keep.system, keep.negative_max) : keep.failure);
  return a;
}

}  // namespace

resolver_core::resolver_core(resolver_options from)
    : options(std::move(from)),
      cache(options.cache.entries_max),
      files_(options),
      sockets_(std::max<std::uint32_t>(options.sockets_max, 1)) {
  const auto refuse = [](const std::string& what) {
    throw failure(std::make_error_code(std::errc::invalid_argument), "resolver_options: " + what);
  };
  for (const std::string& each : options.search.value_or(std::vector<std::string>()))
    if (const std::string why = name_problem(each); !why.empty())
      refuse("search has '" + printable_text(each, shown_bytes_max) + "': " + why);
  for (const address& a : options.servers)
    if (!a) refuse("servers has an empty address");
  if (options.udp_bytes != 0 && (options.udp_bytes < 512 || options.udp_bytes > 65535))
    refuse("udp_bytes has to be 0, or 512 to 65535");
  if (!options.servers.empty() && options.from == answers::system)
    refuse("servers are given, but from says that the system is asked");
}

task<outcome> resolver_core::lookup(std::shared_ptr<resolver_core> self, std::string host,
                                    lookup_options want) {
  ++self->counters.lookups;
  const auto numeric = address::parse(host);
  if (numeric && numeric->with_port(0).host() == host) {
    if (!fits_family(*numeric, want.family))
      co_return failed(host, errc::no_address, "it is an address of the other version");
    found itself;
    itself.addresses.push_back(numeric->with_port(want.port));
    itself.name = host;
    itself.ttl = nanoseconds::max();
    itself.cached = true;
    co_return itself;
  }
  if (const std::string why = name_problem(host); !why.empty())
    co_return failed(host, errc::bad_name, why);
  if (!asks_servers() && (!self->options.servers.empty() || self->options.from == answers::servers))
    co_return failed(host, errc::not_built,
                     "this build cannot ask name servers itself; install c-ares (scripts/setup) "
                     "and build again");
  if (self->files_.stale(clock::now())) {
    std::vector<ticket> reading;
    reading.push_back(self->begin(work::files, std::string()));
    co_await until_ended(reading, nanoseconds::zero());
    const answer_ref read = reading.front().take();
    if (!read->good()) co_return failed(host, read->code, read->why);
  }
  co_return co_await self->search(host, want);
}

task<outcome> resolver_core::search(const std::string& host, lookup_options want) {
  const std::string plain = plain_name(host);
  bool cached = true;
  if (files_.system) {
    const work kind = want.family == address_family::any  ? work::system
                      : want.family == address_family::v4 ? work::system_v4
                                                          : work::system_v6;
    std::vector<ticket> asked;
    asked.push_back(begin(kind, host));
    cached = asked.front().at_once();
    co_await until_ended(asked, nanoseconds::zero());
    const answer_ref a = asked.front().take();
    if (!a->good()) co_return failed(host, a->code, a->why);
    co_return with_port(*a, want.port, cached);
  }
  answer local;
  local.name = plain;
  local.until = add_saturated(clock::now(), options.files.every);
  if (const auto listed = files_.hosts.find(plain); listed != files_.hosts.end())
    local.addresses = listed->second;
  else if (lies_in(plain, "localhost"))  // RFC 6761 section 6.3
    local.addresses = {address::loopback_v6(0), address::loopback(0)};
  std::erase_if(local.addresses, [&](const address& a) { return !fits_family(a, want.family); });
  if (!local.addresses.empty()) co_return with_port(local, want.port, true);
  if (lies_in(plain, "localhost"))
    co_return failed(host, errc::no_address, "it has no address of this version");
  if (lies_in(plain, "invalid") || lies_in(plain, "onion"))  // RFC 6761 section 6.4, RFC 7686
    co_return failed(host, errc::no_such_name, "no name server has names of this domain");
  if (files_.servers == nullptr)
    co_return failed(host, errc::no_server, files_.reason + " names no name server");

  // A copy, because the files may be read again while the servers are asked.
  const std::vector<std::string> full = candidates(host, files_.search, files_.ndots);
  if (full.empty())
    co_return failed(host, errc::bad_name, "its last label is a number, and it is no address");
  answer denied;
  for (const std::string& name : full) {
    const answer a = co_await ask_full(name, want.family, cached);
    if (a.good()) co_return with_port(a, want.port, cached);
    // A failure ends the search: the next domain could have a name that was not meant.
    if (!is_denial(a.code)) co_return failed(host, a.code, a.why);
    if (!denied.code || a.code == errc::no_address) denied = a;
  }
  co_return failed(host, denied.code, denied.why);
}

task<answer> resolver_core::ask_full(const std::string& name, address_family family, bool& cached) {
  std::vector<ticket> asked;
  if (family != address_family::v4) asked.push_back(begin(work::aaaa, name));
  if (family != address_family::v6) asked.push_back(begin(work::a, name));
  for (const ticket& t : asked) cached = cached && t.at_once();
  co_await until_ended(asked, options.family_delay);
  std::vector<answer_ref> got;
  for (const ticket& t : asked) got.push_back(t.ended() ? t.take() : nullptr);
  co_return merge(got);
}

task<> resolver_core::until_ended(const std::vector<ticket>& all, nanoseconds patience) {
  rendezvous<> ends;
  std::size_t left = 0;
  for (const ticket& t : all) {
    if (t.ended()) continue;
    t.notify(ends.make_event());
    ++left;
  }
  for (; left > 0; --left) {
    if (std::ranges::none_of(all, &ticket::good)) {
      co_await ends;
      continue;
    }
    const auto told = co_await as_expected(with_timeout(ends, patience));
    if (told) continue;
    if (told.error() != std::errc::timed_out) throw failure(told.error());
    for (const ticket& t : all)  // a late answer goes into the cache
      if (!t.ended()) t.keep();
    co_return;
  }
}

ticket resolver_core::begin(work what, const std::string& name) {
  const std::string key =
      static_cast<char>(what) + plain_name(name) + (name.ends_with('.') ? "." : "");
  if (answer_ref known = cache.find(key, clock::now())) {
    ++counters.hits;
    return ticket(std::move(known));
  }
  const auto running = flights_.find(key);
  if (running != flights_.end() && !running->second->over()) {
    if (what != work::files) ++counters.joined;
    return ticket(running->second);
  }
  if (flights_.size() >= options.questions_max && what != work::files)
    return ticket(std::make_shared<const answer>(failed_answer(
        errc::too_many, std::to_string(flights_.size()) +
                            " questions wait already; see resolver_options::questions_max")));
  if (what != work::files) ++counters.questions;
  auto f = std::make_shared<flight>(key);
  flights_.insert_or_assign(key, f);
  ticket mine(f);
  spawn(run_flight(shared_from_this(), std::move(f), what, name));
  return mine;
}

task<> resolver_core::run_flight(std::shared_ptr<resolver_core> self, std::shared_ptr<flight> f,
                                 work what, std::string name) {
  try {
    auto got = std::make_shared<answer>();
    *got = co_await with_cancel(f->stop, self->perform(what, std::move(name)));
    self->cache.keep(f->key, got, clock::now());
    f->got = std::move(got);
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::operation_canceled) f->error = std::current_exception();
  } catch (...) {
    f->error = std::current_exception();
  }
  const auto mine = self->flights_.find(f->key);
  if (mine != self->flights_.end() && mine->second == f) self->flights_.erase(mine);
  f->end();
}

task<answer> resolver_core::perform(work what, std::string name) {
  switch (what) {
    case work::files: {
      co_await files_.refresh();
      if (!files_.trouble.empty()) co_return failed_answer(errc::bad_file, files_.trouble);
      co_return answer();
    }
    case work::system:
      co_return co_await ask_system(std::move(name), address_family::any);
    case work::system_v4:
      co_return co_await ask_system(std::move(name), address_family::v4);
    case work::system_v6:
      co_return co_await ask_system(std::move(name), address_family::v6);
    default:
      // The files may have been read again since the question began.
      if (files_.servers == nullptr)
        co_return failed_answer(errc::no_server, files_.reason + " names no name server");
      co_return co_await ask_servers(files_.servers, std::move(name),
                                     what == work::a ? record_type::a : record_type::aaaa, options,
                                     sockets_, counters);
  }
}

task<answer> resolver_core::ask_system(std::string host, address_family family) {
  resolve_options with;
  with.family = family;
  auto got = co_await as_expected(resolve(host, "0", with));
  if (!got) {
    if (got.error() == std::errc::operation_canceled) throw failure(got.error());
    co_return system_failure(got.error(), options.cache);
  }
  answer a;
  a.name = plain_name(host);
  a.addresses = std::move(*got);
  if (a.addresses.size() > options.addresses_max)
    a.addresses.resize(std::max<std::size_t>(options.addresses_max, 1));
  a.until = add_saturated(clock::now(), std::min(options.cache.system, options.cache.ttl_max));
  co_return a;
}

void resolver_core::shut() noexcept {
  for (const auto& [key, f] : std::exchange(flights_, {})) f->cancel();
}

std::string resolver_core::describe() const {
  if (!files_.trouble.empty()) return files_.trouble;
  if (files_.stale(time_point::min() + nanoseconds(1))) return "nothing was looked up yet";
  std::string text = "answers come from ";
  if (files_.system) {
    text += "the system's resolver: " + files_.reason;
  } else {
    text += "name servers (" + files_.reason + "):";
    if (files_.servers == nullptr)
      text += " none";
    else
      for (const server& s : files_.servers->all) text += ' ' + s.at.to_string();
  }
  if (files_.ignored.count > 0)
    text += "; ignored lines: " + std::to_string(files_.ignored.count) + ", first " +
            files_.ignored.first;
  return text;
}

}  // namespace heddle::names::detail
