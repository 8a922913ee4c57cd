// SPDX-License-Identifier: MIT
// Reading the files again when they change, and choosing the source of answers.
#include "names/settings.hh"

#include "heddle/core/expected.hh"
#include "names/name.hh"

namespace heddle::names::detail {
namespace {

bool same_file(const file_status& a, const file_status& b) noexcept {
  return a.size == b.size && a.modified == b.modified && a.inode == b.inode && a.device == b.device;
}

task<std::string> read_open_file(const file& from, std::size_t limit, file_status& seen) {
  seen = co_await from.status();
  co_return co_await from.read_all(limit);
}

bool counts_as_absent(std::error_code code) noexcept {
  return code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory ||
         code == std::errc::permission_denied;
}

std::vector<std::string> plain_names(const std::vector<std::string>& all) {
  std::vector<std::string> plain;
  for (const std::string& each : all)
    if (name_problem(each).empty()) plain.push_back(plain_name(each));
  return plain;
}

}  // namespace

task<bool> settings::reread(const std::string& path, watched& at) {
  if (path.empty()) co_return !std::exchange(at.known, true);
  std::error_code code;
  auto opened = co_await as_expected(open_file(path));
  if (opened) {
    auto seen = co_await as_expected(opened->status());
    if (seen && at.known && at.present && same_file(*seen, at.seen)) co_return false;
    file_status status;
    auto text = co_await as_expected(read_open_file(*opened, options_.files.bytes_max, status));
    if (text) {
      at.seen = status;
      at.text = std::move(*text);
      at.known = at.present = true;
      co_return true;
    }
    code = text.error();
  } else {
    code = opened.error();
  }
  if (code == std::errc::operation_canceled) throw failure(code);
  if (counts_as_absent(code)) {
    const bool changed = !at.known || at.present;
    at.known = true;
    at.present = false;
    at.text.clear();
    co_return changed;
  }
  if (!at.known)
    trouble = "cannot read " + path + ": " +
              (code == std::errc::file_too_large
                   ? "it has more than " + std::to_string(options_.files.bytes_max) +
                         " bytes; see resolver_files::bytes_max"
                   : code.message());
  co_return false;
}

task<> settings::refresh() {
  trouble.clear();
  bool changed = fresh_until_ == time_point::min();
  const auto text_of = [](const watched& at) { return at.present ? &at.text : nullptr; };
  if (options_.from != answers::system && options_.servers.empty()) {
    if (options_.from == answers::automatic && asks_servers())
      changed |= co_await reread(options_.files.nsswitch, nsswitch_);
    if (asks_servers()) changed |= co_await reread(options_.files.resolv_conf, resolv_conf_);
  }
  if (changed && trouble.empty()) decide_source(text_of(nsswitch_), text_of(resolv_conf_));
  if (!system && trouble.empty()) changed |= co_await reread(options_.files.hosts, hosts_);
  if (!trouble.empty()) co_return;  // the next look-up tries again
  if (changed) decide(text_of(nsswitch_), text_of(resolv_conf_), text_of(hosts_));
  fresh_until_ = add_saturated(clock::now(), options_.files.every);
}

void settings::decide(const std::string* nsswitch, const std::string* resolv_conf,
                      const std::string* hosts_text) {
  decide_source(nsswitch, resolv_conf);
  hosts.clear();
  if (!system && hosts_text != nullptr)
    hosts = read_hosts(*hosts_text, options_.files.hosts, ignored);
}

void settings::decide_source(const std::string* nsswitch, const std::string* resolv_conf_text) {
  ignored = {};
  system = true;
  servers.reset();
  if (options_.from == answers::system) {
    reason = "the options say so";
    return;
  }
  if (!asks_servers()) {
    reason = "this build has no c-ares";
    return;
  }
  resolv_conf said;
  said.servers = options_.servers;
  if (said.servers.empty() && resolv_conf_text != nullptr)
    said = read_resolv_conf(*resolv_conf_text, options_.files.resolv_conf, options_.servers_max,
                            options_.search_max, ignored);
  search = options_.search ? plain_names(*options_.search) : said.search;
  ndots = options_.ndots.value_or(said.ndots.value_or(1));
  if (options_.from == answers::automatic && options_.servers.empty()) {
    const std::string foreign = nsswitch == nullptr ? std::string() : foreign_source(*nsswitch);
    if (!foreign.empty()) {
      reason = options_.files.nsswitch + " names the source " + foreign;
      return;
    }
    if (said.servers.empty()) {
      reason = options_.files.resolv_conf + " names no server";
      return;
    }
  }
  system = false;
  reason = options_.servers.empty() ? options_.files.resolv_conf : "the options";
  if (said.servers.empty()) return;
  servers = std::make_shared<server_set>();
  for (const address& a : said.servers)
    servers->all.push_back({.at = a.port() == 0 ? a.with_port(53) : a});
  servers->tries = options_.tries.value_or(said.tries.value_or(2));
  servers->timeout = options_.timeout.value_or(said.timeout.value_or(std::chrono::seconds(2)));
  servers->rotate = options_.rotate || said.rotate;
  servers->tcp_only = options_.tcp_only || said.tcp_only;
}

}  // namespace heddle::names::detail
