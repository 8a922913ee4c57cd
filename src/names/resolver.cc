// SPDX-License-Identifier: MIT
// The public handle: hands everything to the core.
#include "heddle/names/resolver.hh"

#include "names/core.hh"

namespace heddle::names {
namespace {

task<found> found_or_thrown(task<outcome> running) {
  outcome got = co_await std::move(running);
  if (!got) throw failure(got.error().code, got.error().text);
  co_return std::move(*got);
}

}  // namespace

resolver::resolver(resolver_options options)
    : core_(std::make_shared<detail::resolver_core>(std::move(options))) {}
resolver::~resolver() { core_->shut(); }

task<outcome> resolver::try_lookup(std::string host, lookup_options options) {
  return detail::resolver_core::lookup(core_, std::move(host), options);
}
task<found> resolver::lookup(std::string host, lookup_options options) {
  return found_or_thrown(try_lookup(std::move(host), options));
}

void resolver::forget() noexcept { core_->cache.clear(); }
std::size_t resolver::cached() const noexcept { return core_->cache.size(); }
const resolver_counters& resolver::counters() const noexcept { return core_->counters; }
const resolver_options& resolver::options() const noexcept { return core_->options; }
std::string resolver::describe() const { return core_->describe(); }

}  // namespace heddle::names
