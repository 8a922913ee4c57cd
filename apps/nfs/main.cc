// SPDX-License-Identifier: MIT
// nfs: a file server for NFS version 3 (RFC 1813) over TCP.
//
//   nfs --state /var/lib/heddle-nfs --export "/srv -rw 10.0.0.0/8 -ro 0.0.0.0/0"
//
// Clients find NFS and MOUNT at port 2049; --portmapper answers at port 111 for those that ask.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "disk_identity.hh"
#include "disk_volume.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/io/signal.hh"
#include "heddle/sched/runtime.hh"
#include "service.hh"

namespace nfs {
namespace {

constexpr std::uint16_t nfs_port = 2049;
constexpr heddle::nanoseconds end_time = std::chrono::seconds(10);  // for calls under way

struct settings {
  std::vector<std::string> exports;
  std::string exports_file;
  std::string state = "/var/lib/heddle-nfs";
  std::string at = "0.0.0.0:2049";
  bool portmapper = false;
  bool check = false;
  heddle::runtime_options runtime;
  disk_options disk;
  service_options service;
  double idle_s = 360;
  std::optional<std::uint32_t> per_address;
};

heddle::address parse_address(const std::string& text) {
  const auto found = heddle::address::parse(text, nfs_port);
  if (!found)
    throw std::invalid_argument("'" + text + "' is no address: write 10.0.0.1:2049 or [::]:2049");
  return *found;
}

export_list exports_of(const settings& s) {
  std::vector<exported> all;
  for (const std::string& line : s.exports) {
    try {
      all.push_back(exported::parse(line));
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument("--export: " + std::string(e.what()));
    }
  }
  if (!s.exports_file.empty()) {
    std::ifstream in(s.exports_file, std::ios::binary);
    std::stringstream text;
    // Reading a folder fails at its first byte, and an empty file has none.
    if (!in || (in.peek() != in.eof() && !(text << in.rdbuf())) || in.bad())
      throw std::invalid_argument(s.exports_file + ": cannot be read as a file of exports");
    for (exported& e : parse_exports(text.str(), s.exports_file)) all.push_back(std::move(e));
    if (all.empty()) throw std::invalid_argument(s.exports_file + ": has no export");
  }
  if (all.empty())
    throw std::invalid_argument(
        "nothing is exported: name a folder, --export \"/srv -rw 10.0.0.0/8\", or --exports FILE");
  return export_list(std::move(all));
}

/// Refuses a state folder below an exported one, where clients could read the key.
void check_state_place(const export_list& exports, const std::string& state) {
  const std::string place = std::filesystem::weakly_canonical(state).string();
  for (const exported& e : exports.all()) {
    const std::string folder = std::filesystem::weakly_canonical(e.path).string();
    if (place == folder || folder == "/" || place.starts_with(folder + "/"))
      throw std::invalid_argument("--state " + state + " is in the export " + e.path +
                                  ", and has the key of all handles: name another folder");
  }
}

/// Raises the limit of descriptors as far as it may be, and gives it.
std::uint64_t raise_descriptors() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 1024;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  ::getrlimit(RLIMIT_NOFILE, &files);
  return files.rlim_cur;
}

/// Leaves so many connections that files can still be opened, and says if these are fewer than
/// asked for.
void bound_connections(settings& s, std::uint64_t descriptors) {
  const std::uint64_t servers = s.service.servers;
  const std::uint64_t files = std::min<std::uint64_t>(s.disk.open_max, descriptors / 4);
  const std::uint64_t others = 64 + 8 * servers + files;  // files, and what the runtime opens
  const std::uint64_t most = descriptors > others + servers ? (descriptors - others) / servers : 1;
  if (s.service.connections.connections_max <= most) return;
  std::fprintf(stderr,
               "nfs: %llu connections for each worker, not %u: a process may have %llu "
               "descriptors (ulimit -n)\n",
               static_cast<unsigned long long>(most), s.service.connections.connections_max,
               static_cast<unsigned long long>(descriptors));
  s.service.connections.connections_max = static_cast<std::uint32_t>(most);
}

heddle::task<int> serve(const settings& s, disk_volume& disk, const export_list& exports) {
  service files(disk, exports, s.service);
  const heddle::address at = co_await files.listen(parse_address(s.at));
  if (s.portmapper)
    co_await files.listen_as_port_mapper(at.with_port(heddle::rpc::port_mapper_port));
  // Before anybody is told that we are here: a signal must find somebody who listens.
  heddle::signal_set stop{SIGINT, SIGTERM};
  std::string folders;
  for (const exported& e : exports.all()) folders += (folders.empty() ? "" : ", ") + e.path;
  std::fprintf(stderr, "serving %s on %s\n", folders.c_str(), at.to_string().c_str());
  heddle::scope serving;
  serving.spawn(files.serve());
  heddle::scope upkeep;
  upkeep.spawn(disk.close_idle());
  co_await stop.next();
  upkeep.cancel();
  co_await upkeep.settled();
  co_await files.stop();
  const auto ended = co_await heddle::as_expected(heddle::with_timeout(serving.join(), end_time));
  if (!ended) {
    serving.cancel();
    co_await serving.settled();
  }
  const heddle::rpc::server_counters n = files.counters();
  const procedure_counters& p = files.files().counters();
  const auto shown = [](std::uint64_t v) { return static_cast<unsigned long long>(v); };
  std::fprintf(stderr,
               "%llu connections, %llu calls, %llu refused, %llu bytes read, %llu written\n",
               shown(n.connections), shown(n.calls), shown(n.refused + p.refused.load()),
               shown(p.bytes_read.load()), shown(p.bytes_written.load()));
  co_return 0;
}

int run(int argc, char** argv) {
  CLI::App app("A file server for NFS version 3.", "nfs");
  settings s;
  s.runtime.workers = 1;
  heddle::rpc::server_options& c = s.service.connections;
  app.add_option("-e,--export", s.exports,
                 "A folder and its rules: \"/srv -rw 10.0.0.0/8 -ro 0.0.0.0/0 root_squash\"");
  app.add_option("--exports", s.exports_file, "A file of exports, a line each");
  app.add_option("--state", s.state, "Folder of the key and the exports' numbers")
      ->capture_default_str();
  app.add_option("-l,--listen", s.at, "Address and port; port 0: any")->capture_default_str();
  app.add_flag("--portmapper", s.portmapper, "Answer as a port mapper at port 111");
  app.add_option("-w,--workers", s.runtime.workers, "Threads that serve")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_flag("!--async", s.disk.sync_changes,
               "Reply before a directory's changes are on the disk");
  app.add_flag("--check", s.check, "Only say whether the exports can be served");
  const std::string limits = "Limits";
  app.add_option("--connections", c.connections_max, "Connections at once, for each worker")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str()
      ->group(limits);
  app.add_option(
         "--connections-per-address", s.per_address,
         "Connections of one IPv4 address or IPv6 /64, for each worker; 0: no limit (default "
         "three quarters of all)")
      ->check(CLI::Range(0, 1'000'000))
      ->group(limits);
  app.add_option("--calls", c.calls_max, "Calls under way on a connection")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str()
      ->group(limits);
  app.add_option("--connection-bytes", c.bytes_max, "Bytes of a connection's calls and replies")
      ->check(CLI::Range(std::uint64_t{64} << 10, std::uint64_t{1} << 40))
      ->capture_default_str()
      ->group(limits);
  app.add_option("--idle", s.idle_s, "Seconds without a call, until a connection is closed")
      ->check(CLI::Range(1.0, 1e9))
      ->capture_default_str()
      ->group(limits);
  app.add_option("--open-files", s.disk.open_max, "Files that stay open between calls")
      ->check(CLI::Range(64, 1'000'000))
      ->capture_default_str()
      ->group(limits);
  app.add_option("--read-buffer-bytes", s.disk.read_buffer_bytes,
                 "Memory of READs that is kept for later ones")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40))
      ->capture_default_str()
      ->group(limits);
  CLI11_PARSE(app, argc, argv);

  c.idle = std::chrono::duration_cast<heddle::nanoseconds>(std::chrono::duration<double>(s.idle_s));
  if (s.per_address)
    c.connections_per_address_max =
        *s.per_address == 0 ? std::numeric_limits<std::uint32_t>::max() : *s.per_address;
  s.service.servers = s.runtime.workers;
  parse_address(s.at);
  const export_list exports = exports_of(s);
  check_state_place(exports, s.state);
  const std::uint64_t descriptors = raise_descriptors();
  keep_no_reserves();
  std::vector<disk_export> folders;
  if (s.check) {  // without the state, which it would change
    if (exports.all().size() > 256) throw std::invalid_argument("there are more than 256 exports");
    for (const exported& e : exports.all())
      folders.push_back({e.path, static_cast<std::uint8_t>(folders.size())});
    const disk_volume disk(folders, heddle::siphash_key{}, s.disk);
    std::printf("%zu exports can be served\n", folders.size());
    return 0;
  }
  server_state state(s.state);
  for (const exported& e : exports.all()) folders.push_back({e.path, state.number_of(e.path)});
  disk_volume disk(folders, state.key(), s.disk);
  bound_connections(s, descriptors);
  heddle::runtime rt(s.runtime);
  return rt.run(serve(s, disk, exports));
}

}  // namespace
}  // namespace nfs

int main(int argc, char** argv) {
  try {
    return nfs::run(argc, argv);
  } catch (const std::exception& e) {
    const std::string_view text = e.what();
    std::fprintf(stderr, "%s%s\n", text.starts_with("nfs: ") ? "" : "nfs: ", e.what());
    return 1;
  }
}
