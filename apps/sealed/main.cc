// SPDX-License-Identifier: MIT
// sealed: an encrypting file server and its clients.
//
//   sealed key shared.key                       a fresh key for both sides
//   sealed serve public --key shared.key        serve a directory on 127.0.0.1:9443
//   sealed get big.iso --key shared.key         fetch a file
//   sealed load big.iso --key shared.key        measure a server
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "client.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/file.hh"
#include "heddle/io/signal.hh"
#include "heddle/sched/runtime.hh"
#include "load.hh"
#include "server.hh"

namespace sealed {
namespace {

constexpr std::uint16_t default_port = 9443;

heddle::address parse_address(const std::string& text) {
  const auto found = heddle::address::parse(text, default_port);
  if (!found) throw trouble("'" + text + "' is no address: write 127.0.0.1:9443 or [::1]:9443");
  return *found;
}

struct serve_settings {
  std::string directory = ".";
  std::string key;
  std::string at = "127.0.0.1:9443";
  std::string cipher = "aes-256-gcm";
  bool quiet = false;
  heddle::runtime_options runtime;
  server_options options;
};

heddle::task<int> serve(serve_settings s) {
  const auto chosen = cipher_of(s.cipher);
  if (!chosen) throw trouble("no cipher '" + s.cipher + "': aes-256-gcm or chacha20-poly1305");
  s.options.records.algorithm = *chosen;
  if (!s.quiet)
    s.options.note = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  const shared_key key = co_await load_key(s.key);
  server files(co_await heddle::open_directory(s.directory), key, s.options);
  heddle::tcp_listener door = heddle::tcp_listener::listen(parse_address(s.at));
  // Before anybody is told that we are here: a signal must find somebody who listens.
  heddle::signal_set stop{SIGINT, SIGTERM};
  std::fprintf(stderr, "serving %s on %s, %s, records of %zu bytes\n", s.directory.c_str(),
               door.local().to_string().c_str(), s.cipher.c_str(), s.options.records.record_bytes);
  heddle::scope sessions;
  sessions.spawn(files.serve(door));
  co_await stop.next();
  sessions.cancel();
  static_cast<void>(co_await heddle::as_expected(sessions.join()));
  const server_counters& n = files.counters();
  const auto shown = [](std::uint64_t v) { return static_cast<unsigned long long>(v); };
  std::fprintf(stderr, "%llu connections, %llu files, %llu bytes, %llu refused, %llu failed\n",
               shown(n.connections), shown(n.files), shown(n.bytes), shown(n.refusals),
               shown(n.failures));
  co_return 0;
}

heddle::task<int> make_key(std::string path) {
  heddle::file out = co_await heddle::open_file(
      path, {.write = true, .create = true, .exclusive = true, .mode = 0600});
  std::string text = make_key_text();
  co_await out.write_at(0, text);
  wipe(text.data(), text.size());
  co_return 0;
}

heddle::task<int> get(std::string name, std::string target, std::string at, std::string key) {
  if (target.empty()) target = name.substr(name.rfind('/') + 1);
  if (target.empty()) throw trouble("'" + name + "' names no file (--out says where to put it)");
  client from(co_await load_key(key));
  co_await from.connect(parse_address(at));
  const std::uint64_t size = co_await fetch(from, name, target);
  std::fprintf(stderr, "%s: %llu bytes\n", target.c_str(), static_cast<unsigned long long>(size));
  co_return 0;
}

int load(const load_options& o, const std::string& key_path) {
  heddle::runtime rt;
  const shared_key key = rt.run(load_key(key_path));
  const std::uint64_t size = rt.run(verify(o, key));
  std::printf("%s\n", run_load(o, key, size).json().c_str());
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app("Encrypted and authenticated files for who has the key.", "sealed");
  app.require_subcommand(1);
  std::string key;
  std::string name;
  std::string target;
  std::vector<std::string> servers{"127.0.0.1:9443"};
  serve_settings s;
  load_options l;
  const auto key_option = [&key](CLI::App* verb) {
    verb->add_option("-k,--key", key, "The shared key's file")->required();
  };

  CLI::App* key_verb = app.add_subcommand("key", "Write a fresh key to a new file");
  key_verb->add_option("FILE", target, "The key's file; it must not be there")->required();

  CLI::App* serve_verb = app.add_subcommand("serve", "Serve the files of a directory");
  key_option(serve_verb);
  serve_verb->add_option("DIR", s.directory, "The directory")->capture_default_str();
  serve_verb->add_option("-a,--at", s.at, "Address and port; port 0: any")->capture_default_str();
  serve_verb->add_option("--cipher", s.cipher, "aes-256-gcm, chacha20-poly1305")
      ->capture_default_str();
  serve_verb->add_option("--record", s.options.records.record_bytes, "Bytes of data in a record")
      ->capture_default_str();
  serve_verb->add_option("--batch", s.options.batch_bytes, "Bytes sealed and sent in one go")
      ->capture_default_str();
  serve_verb->add_option("--cache", s.options.cache.bytes_max, "Bytes of files in memory")
      ->capture_default_str();
  serve_verb->add_option("--connections", s.options.connections_max, "Connections at once")
      ->capture_default_str();
  serve_verb->add_option("-w,--workers", s.runtime.workers, "Threads that encrypt")
      ->check(CLI::Range(1, 64));
  serve_verb->add_flag("-q,--quiet", s.quiet, "Say nothing about connections that fail");

  CLI::App* get_verb = app.add_subcommand("get", "Fetch a file");
  key_option(get_verb);
  get_verb->add_option("NAME", name, "The file, beneath the server's directory")->required();
  get_verb->add_option("-o,--out", target, "Where to put it");
  get_verb->add_option("-a,--at", servers, "The server")->capture_default_str()->expected(1);

  CLI::App* load_verb = app.add_subcommand("load", "Measure servers");
  key_option(load_verb);
  load_verb->add_option("NAME", l.name, "The file to ask for")->required();
  load_verb->add_option("-a,--at", servers, "Servers, taken in turn")->capture_default_str();
  load_verb->add_option("--expect", l.expected, "A copy to compare the first answer with");
  load_verb->add_option("-c,--connections", l.connections, "Connections")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  load_verb->add_option("-s,--seconds", l.seconds, "Seconds measured")->capture_default_str();
  load_verb->add_option("--warmup", l.warmup_s, "Seconds before")->capture_default_str();
  load_verb->add_option("--pid", l.server_pids, "Servers' processes, for their processor time");

  CLI11_PARSE(app, argc, argv);
  for (const std::string& at : servers) l.servers.push_back(parse_address(at));
  s.key = key;
  if (load_verb->parsed()) return load(l, key);
  heddle::runtime rt(s.runtime);
  if (key_verb->parsed()) return rt.run(make_key(target));
  if (serve_verb->parsed()) return rt.run(serve(s));
  return rt.run(get(name, target, servers.front(), key));
}

}  // namespace
}  // namespace sealed

int main(int argc, char** argv) {
  try {
    return sealed::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
