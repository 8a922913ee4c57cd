// SPDX-License-Identifier: MIT
// A server of apps/nfs over a memory_volume, and clients of it: one that calls over a connection,
// and one that repeats each call over a new connection until it has a reply.
#pragma once

#include <optional>

#include "callbacks/callback_procedures.hh"
#include "heddle/io/tcp.hh"
#include "heddle/rpc/client.hh"
#include "heddle/rpc/detail/message.hh"
#include "heddle/rpc/detail/records.hh"
#include "mount.hh"
#include "nfs_world.hh"
#include "procedures.hh"

namespace nfs::test {

namespace rpc = heddle::rpc;
using heddle::address;
using heddle::scope;
using heddle::tcp_stream;
using v3 = nfs3::NFS_V3;
using mount_v3 = mount3::MOUNT_V3;

/// How CREATE, WRITE and READDIRPLUS are written.
enum class style : std::uint8_t { straight, callbacks };

struct server_setup {
  memory_options disk;
  std::vector<std::string> exports = {"/srv no_root_squash"};
  procedure_options procedures;
  rpc::server_options connections;
  style written = style::straight;
};

inline export_list parse_all(const std::vector<std::string>& lines) {
  std::vector<exported> all;
  for (const std::string& line : lines) all.push_back(exported::parse(line));
  return export_list(std::move(all));
}

/// A server, and its address.
struct nfs_server {
  memory_volume disk;
  export_list exports;
  procedures files;
  callbacks::procedures by_callbacks;
  mounts names;
  rpc::server server;
  address at;

  explicit nfs_server(const server_setup& s)
      : disk(s.disk),
        exports(parse_all(s.exports)),
        files(disk, exports, s.procedures),
        by_callbacks(disk, exports, s.procedures),
        names(disk, exports),
        server(s.connections) {
    files.add_to(server);
    names.add_to(server);
    if (s.written == style::callbacks) by_callbacks.add_to(server);
  }
  [[nodiscard]] handle top(std::uint32_t export_number = 0) const {
    return disk.root(export_number);
  }
};

/// Runs body(nfs_server&) beside the server; then the server stops, no connection may be left, and
/// the tree must hold together.
template <class Body>
task<> with_nfs(Body body, server_setup s = {}) {
  nfs_server w(s);
  heddle::tcp_listener door = heddle::tcp_listener::listen(address::loopback(0));
  w.at = door.local();
  scope serving;
  serving.spawn(w.server.serve(std::move(door)));
  std::exception_ptr error;
  try {
    co_await body(w);
  } catch (...) {
    error = std::current_exception();
  }
  w.server.stop();
  co_await serving.join();
  EXPECT_EQ(w.server.counters().open, 0u);
  EXPECT_EQ(w.disk.mistake(), "");
  if (error) std::rethrow_exception(error);
}

/// AUTH_SYS credentials.
inline rpc::credentials as(const identity& who, std::string machine = "box") {
  rpc::credentials c;
  c.none = false;
  c.machine = std::move(machine);
  c.uid = who.uid;
  c.gid = who.gid;
  c.gids = who.gids;
  return c;
}

inline nfs3::diropargs3 entry(handle dir, std::string name) {
  return {std::move(dir), nfs3::filename3(std::move(name))};
}
inline nfs3::WRITE3args writing(handle file, std::uint64_t at, std::string text,
                                stable_how how = stable_how::UNSTABLE) {
  nfs3::WRITE3args a{std::move(file), at, static_cast<std::uint32_t>(text.size()), how, {}};
  a.data.append(std::move(text));
  return a;
}

/// A client over one connection.
class caller {
 public:
  explicit caller(tcp_stream conn, const identity& who = root) : caller(std::move(conn), as(who)) {}
  caller(tcp_stream conn, rpc::credentials who) : client_(std::move(conn), options_of(who)) {}

  /// Calls P with the members of its argument.
  template <class P, class... Parts>
  task<typename P::result> ask(Parts... parts) {
    const typename P::argument a{std::move(parts)...};
    co_return co_await client_.call<P>(a);
  }
  template <class P>
  task<typename P::result> pass(typename P::argument a) {
    co_return co_await client_.call<P>(a);
  }
  template <class P>
  task<typename P::result> get() {
    return client_.call<P>();
  }
  /// The handle of an object that CREATE, MKDIR, SYMLINK or MKNOD makes.
  template <class P, class How>
  task<handle> make(handle dir, std::string name, How how,
                    std::source_location at = std::source_location::current()) {
    const typename P::argument a{entry(std::move(dir), std::move(name)), std::move(how)};
    const auto r = co_await client_.call<P>(a);
    if (r.status != NFS3_OK) {
      ADD_FAILURE_AT(at.file_name(), static_cast<int>(at.line()))
          << "fails: " << heddle::xdr::name_of(r.status);
      throw std::runtime_error("the test cannot go on");
    }
    co_return r.resok().obj.value();
  }
  task<handle> file(handle dir, std::string name) {
    return make<v3::CREATE>(std::move(dir), std::move(name),
                            create_as(createmode3::GUARDED, mode_of(0644)));
  }
  task<handle> directory(handle dir, std::string name) {
    return make<v3::MKDIR>(std::move(dir), std::move(name), mode_of(0755));
  }

  [[nodiscard]] rpc::client& client() noexcept { return client_; }

 private:
  static rpc::client_options options_of(const rpc::credentials& who) {
    rpc::client_options o;
    o.who = who;
    o.record_bytes_max = std::size_t{2} << 20;
    return o;
  }
  rpc::client client_;
};

/// Checks the status of a reply.
template <class R>
task<> expect_reply(nfsstat3 wanted, task<R> call,
                    std::source_location at = std::source_location::current()) {
  const R got = co_await std::move(call);
  if (got.status != wanted)
    ADD_FAILURE_AT(at.file_name(), static_cast<int>(at.line()))
        << "is " << heddle::xdr::name_of(got.status) << ", not " << heddle::xdr::name_of(wanted);
}

/// A client that sends each call again, with the same number, over a new connection until there is
/// a reply, as clients of NFS do. The first connection of a call can be cut on purpose.
class persistent {
 public:
  persistent(address to, rpc::credentials who, std::uint32_t first_number = 1)
      : to_(to), who_(std::move(who)), number_(first_number) {}

  template <class P>
  task<typename P::result> call(typename P::argument a) {
    heddle::xdr::writer out;
    rpc::detail::write_call(out, {number_, 2, P::program, P::version, P::number}, who_);
    std::string message = out.take().to_string() + heddle::xdr::encode(a).to_string();
    const auto size = static_cast<std::uint32_t>(message.size()) | 0x8000'0000u;
    std::string record;
    for (int shift = 24; shift >= 0; shift -= 8) record += static_cast<char>(size >> shift);
    record += message;
    record_bytes = record.size();
    heddle::chain reply;
    while (reply.empty()) {
      reply = co_await attempt(record);
      if (!reply.empty()) break;
      ++repeats;
      conn_.reset();
      co_await heddle::sleep_for(std::chrono::milliseconds(1));
    }
    ++number_;
    heddle::xdr::reader in(reply);
    rpc::detail::reply_head head;
    typename P::result r{};
    if (!rpc::detail::read_reply(in, head) || head.refusal || !in.read(r) || in.left() != 0)
      throw std::runtime_error("a bad reply to " + std::string(P::name) + ": " + head.text + " " +
                               in.error());
    co_return r;
  }
  template <class P, class... Parts>
  task<typename P::result> ask(Parts... parts) {
    typename P::argument a{std::move(parts)...};
    return call<P>(std::move(a));
  }

  std::optional<std::size_t> cut_at;             ///< cuts the next call after these bytes
  std::optional<heddle::nanoseconds> cut_after;  ///< cuts the next call so long after it was sent
  std::size_t record_bytes = 0;                  ///< of the last call
  int repeats = 0;

 private:
  /// The reply, or nothing if the connection broke.
  task<heddle::chain> attempt(const std::string& record) {
    heddle::chain reply;
    try {
      if (!conn_) {
        tcp_stream made = co_await heddle::tcp_connect(to_);
        conn_ = std::move(made);
        in_.emplace(std::size_t{2} << 20);
      }
      const std::optional<std::size_t> bytes = std::exchange(cut_at, {});
      const std::optional<heddle::nanoseconds> time = std::exchange(cut_after, {});
      const std::string sent = record.substr(0, bytes.value_or(record.size()));
      co_await conn_->write(sent);
      if (time) co_await heddle::sleep_for(*time);
      if (time || bytes) {
        conn_->reset_on_close();
        co_return reply;
      }
      for (;;) {
        std::optional<heddle::chain> record_in = in_->next();
        if (record_in) {
          reply = std::move(*record_in);
          co_return reply;
        }
        heddle::received block = co_await conn_->receive();
        if (block.empty()) co_return reply;
        in_->feed(std::move(block));
      }
    } catch (const std::system_error&) {
    }
    co_return reply;
  }

  address to_;
  rpc::credentials who_;
  std::uint32_t number_;
  std::optional<tcp_stream> conn_;
  std::optional<rpc::detail::record_input> in_;
};

/// The handle that a reply of CREATE, MKDIR, SYMLINK or MKNOD gives.
inline handle handle_in(const nfs3::CREATE3res& r) {
  return r.status == NFS3_OK && r.resok().obj ? *r.resok().obj : handle{};
}

}  // namespace nfs::test
