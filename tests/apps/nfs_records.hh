// SPDX-License-Identifier: MIT
// Records for a server of apps/nfs, made from seeds: calls of every procedure with random arguments
// and real handles, some of them cut, lengthened, or with bits flipped; and a check of what the
// server answers. Used by a test and by the fuzzer, so nothing here needs a test framework.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/core/scope.hh"
#include "heddle/io/tcp.hh"
#include "heddle/rpc/detail/message.hh"
#include "heddle/rpc/detail/records.hh"
#include "heddle/rpc/server.hh"
#include "heddle/xdr/generator.hh"
#include "memory_volume.hh"
#include "mount.hh"
#include "procedures.hh"

namespace nfs::test {

using nfs_v3 = nfs3::NFS_V3;
using mnt_v3 = mount3::MOUNT_V3;

/// Visits all handles and names in a described value, to replace them (in arguments) or to collect
/// them (from results).
template <class OnHandle, class OnName>
class handle_visitor {
 public:
  handle_visitor(OnHandle on_handle, OnName on_name) : on_handle_(on_handle), on_name_(on_name) {}

  template <class V>
  bool operator()(const char*, V& value) {
    visit(value);
    return true;
  }
  template <class D, class Variant, class ArmOf>
  bool choice(const char*, D&, Variant& body, ArmOf) {
    std::visit([this](auto& v) { this->visit(v); }, body);
    return true;
  }

 private:
  void visit(nfs3::nfs_fh3& h) { on_handle_(h); }
  void visit(heddle::xdr::text<>& name) { on_name_(name); }
  template <class T>
  void visit(std::optional<T>& v) {
    if (v) visit(*v);
  }
  template <class T>
  void visit(heddle::xdr::link<T>& v) {
    if (v) visit(*v);
  }
  template <class T>
  void visit(T& v) {
    if constexpr (requires { describe(*this, v); }) static_cast<void>(describe(*this, v));
  }

  OnHandle on_handle_;
  OnName on_name_;
};

class record_world {
 public:
  explicit record_world(std::uint64_t seed)
      : disk_({{.exports = 2,
                .seed = 1,
                .bytes_max = 1 << 16,
                .files_max = 64,
                .file_bytes_max = 1 << 20,
                .links_max = 8,
                .root_mode = 0777},
               heddle::color(1),
               heddle::nanoseconds(0)}),
        exports_(two_exports()),
        files_(disk_, exports_),
        mounts_(disk_, exports_),
        draw_(seed) {
    files_.add_to(server_);
    mounts_.add_to(server_);
    known_ = {disk_.root(0), disk_.root(1)};
  }

  /// A record with a call, or what is left of it.
  std::string make() {
    std::string message = make_message();
    if (below(2) == 0) damage(message);
    std::string record = mark(message.size(), true) + message;
    switch (below(40)) {
      case 0:  // two fragments
        record = mark(message.size() / 2, false) + message.substr(0, message.size() / 2) +
                 mark(message.size() - message.size() / 2, true) +
                 message.substr(message.size() / 2);
        break;
      case 1:  // a length that is not the record's
        record[below(4)] ^= static_cast<char>(1 + below(255));
        break;
      default:
        break;
    }
    return record;
  }

  /// Sends these bytes over a new connection, and reads until the server ends it. Gives what is
  /// wrong with the answers, or with the tree afterwards; empty if nothing is.
  heddle::task<std::string> feed(std::string bytes) {
    heddle::tcp_listener door = heddle::tcp_listener::listen(heddle::address::loopback(0));
    heddle::scope both;
    heddle::tcp_stream near = co_await heddle::tcp_connect(door.local());
    heddle::tcp_stream far = co_await door.accept();
    both.spawn(serve(std::move(far)));
    std::string answer;
    both.spawn(talk(std::move(near), bytes, answer));
    co_await both.join();
    std::string wrong = check(bytes, answer);
    if (wrong.empty() && !disk_.mistake().empty()) wrong = "the tree: " + disk_.mistake();
    if (below(20) == 0) disk_.crash();
    co_return wrong;
  }

  // Numbers since the start.
  std::uint64_t calls = 0;                         ///< calls that can be read
  std::map<std::uint32_t, std::uint64_t> results;  ///< results, by procedure of NFS
  std::map<std::uint32_t, std::map<nfsstat3, std::uint64_t>> statuses;
  std::map<std::string, std::uint64_t> refusals;

 private:
  static export_list two_exports() {
    std::vector<exported> all;
    all.push_back(exported::parse("/srv -rw 127.0.0.0/8 no_root_squash"));
    all.push_back(exported::parse("/fixed -ro 127.0.0.0/8"));
    return export_list(std::move(all));
  }
  std::uint64_t below(std::uint64_t end) { return draw_.below(end); }

  static std::string big_endian(std::uint32_t n) {
    std::string all;
    for (int shift = 24; shift >= 0; shift -= 8) all += static_cast<char>(n >> shift);
    return all;
  }
  static std::string mark(std::size_t size, bool last) {
    return big_endian(static_cast<std::uint32_t>(size) | (last ? 0x8000'0000u : 0u));
  }

  void damage(std::string& message) {
    switch (below(4)) {
      case 0:
        message.resize(below(message.size() + 1));
        break;
      case 1:
        message.append(1 + below(40), static_cast<char>(below(256)));
        break;
      case 2:
        for (std::uint64_t n = 1 + below(6); n != 0 && !message.empty(); --n)
          message[below(message.size())] ^= static_cast<char>(1 << below(8));
        break;
      default: {  // a run of bytes comes twice
        const std::size_t at = below(message.size());
        message.insert(at, message.substr(at, below(60)));
      }
    }
  }

  void use_known(nfs3::nfs_fh3& h) {
    if (below(16) != 0) h = known_[below(3) == 0 ? 0 : below(known_.size())];
  }
  void use_known(heddle::xdr::text<>& name) {
    if (below(8) == 0) return;
    name = below(16) == 0 ? std::string("..") : std::string(1, static_cast<char>('a' + below(5)));
  }
  void keep(const nfs3::nfs_fh3& h) {
    if (h.data.empty()) return;
    if (known_.size() < 40)
      known_.push_back(h);
    else
      known_[2 + below(38)] = h;
  }

  template <class P>
  std::string arguments() {
    if constexpr (std::is_void_v<typename P::argument>) {
      return {};
    } else {
      typename P::argument a = heddle::xdr::generate<typename P::argument>(below(~std::uint64_t{0}),
                                                                           {.length_max = 300});
      if constexpr (requires { describe(draw_, a); }) {
        handle_visitor v([this](nfs3::nfs_fh3& h) { use_known(h); },
                         [this](heddle::xdr::text<>& n) { use_known(n); });
        static_cast<void>(describe(v, a));
      } else if (below(2) == 0) {
        if constexpr (std::is_same_v<typename P::argument, mount3::dirpath>)
          a = below(2) == 0 ? "/srv" : "/srv/a";
      }
      if constexpr (std::is_same_v<P, nfs_v3::WRITE>) {
        if (below(8) != 0) a.count = static_cast<std::uint32_t>(a.data.size());
        if (below(4) != 0) a.offset %= 5000;
      }
      if constexpr (requires { a.cookieverf; })
        if (below(8) != 0) a.cookieverf = {};
      if constexpr (requires { a.maxcount; })
        if (below(4) != 0) a.maxcount = a.dircount = static_cast<std::uint32_t>(below(5000));
      return heddle::xdr::encode(a).to_string();
    }
  }

  /// Calls f<P>() for a procedure of NFS; false if there is none of this number.
  template <class F>
  static bool with_procedure(std::uint32_t number, F f) {
    const auto try_all = [&]<class... Ps>(std::tuple<Ps...>*) {
      return ((number == Ps::number && (f.template operator()<Ps>(), true)) || ...);
    };
    using all =
        std::tuple<nfs_v3::NULL_, nfs_v3::GETATTR, nfs_v3::SETATTR, nfs_v3::LOOKUP, nfs_v3::ACCESS,
                   nfs_v3::READLINK, nfs_v3::READ, nfs_v3::WRITE, nfs_v3::CREATE, nfs_v3::MKDIR,
                   nfs_v3::SYMLINK, nfs_v3::MKNOD, nfs_v3::REMOVE, nfs_v3::RMDIR, nfs_v3::RENAME,
                   nfs_v3::LINK, nfs_v3::READDIR, nfs_v3::READDIRPLUS, nfs_v3::FSSTAT,
                   nfs_v3::FSINFO, nfs_v3::PATHCONF, nfs_v3::COMMIT>;
    return try_all(static_cast<all*>(nullptr));
  }
  template <class F>
  static bool with_mount_procedure(std::uint32_t number, F f) {
    const auto try_all = [&]<class... Ps>(std::tuple<Ps...>*) {
      return ((number == Ps::number && (f.template operator()<Ps>(), true)) || ...);
    };
    using all = std::tuple<mnt_v3::NULL_, mnt_v3::MNT, mnt_v3::DUMP, mnt_v3::UMNT, mnt_v3::UMNTALL,
                           mnt_v3::EXPORT>;
    return try_all(static_cast<all*>(nullptr));
  }

  std::string make_message() {
    const bool mount = below(12) == 0;
    const auto number = static_cast<std::uint32_t>(mount ? below(7) : below(23));
    std::string body;
    const auto write = [&]<class P>() { body = arguments<P>(); };
    if (mount)
      with_mount_procedure(number, write);
    else
      with_procedure(number, write);
    heddle::rpc::credentials who;
    who.none = below(8) == 0;
    if (!who.none) {
      who.machine = below(2) == 0 ? "a" : "b";
      who.uid = below(2) == 0 ? 0 : 1000;
      who.gid = 100;
    }
    if (below(50) != 0) ++xid_;  // otherwise the number comes twice
    heddle::xdr::writer head;
    heddle::rpc::detail::write_call(
        head, {xid_, 2, mount ? mnt_v3::MNT::program : nfs_v3::GETATTR::program, 3, number}, who);
    return head.take().to_string() + body;
  }

  /// Serves a connection; a record that is no call ends it.
  heddle::task<> serve(heddle::tcp_stream conn) {
    try {
      co_await server_.serve_stream(std::move(conn));
    } catch (const std::system_error&) {
    }
  }
  static heddle::task<> talk(heddle::tcp_stream conn, const std::string& bytes,
                             std::string& answer) {
    heddle::scope both;
    both.spawn(send(conn, bytes));
    try {
      for (;;) {
        const heddle::received in = co_await conn.receive();
        if (in.empty()) break;
        answer += in.text();
      }
    } catch (const std::system_error&) {
    }
    co_await both.join();
  }
  static heddle::task<> send(heddle::tcp_stream conn, const std::string& bytes) {
    try {
      co_await conn.write(bytes);
      conn.shutdown_write();
    } catch (const std::system_error&) {
    }
  }

  /// The records in these bytes, until the end or a mistake, which `bad` tells: one that is too
  /// long or not complete.
  static std::vector<heddle::chain> records_in(const std::string& bytes, bool& bad) {
    std::vector<heddle::chain> all;
    bad = false;
    heddle::rpc::detail::record_input in((std::size_t{1} << 20) + 4096);
    try {
      if (!bytes.empty()) in.feed(heddle::received::copy_of(heddle::byte_view(bytes)));
      while (auto record = in.next()) all.push_back(std::move(*record));
      bad = in.inside();
    } catch (const std::system_error&) {
      bad = true;
    }
    return all;
  }

  struct pending {
    std::uint32_t program;
    std::uint32_t version;
    std::uint32_t procedure;
  };

  /// What is wrong with an answer to these bytes.
  std::string check(const std::string& bytes, const std::string& answer) {
    bool bad = false;
    std::multimap<std::uint32_t, pending> waiting;
    for (const heddle::chain& message : records_in(bytes, bad)) {
      heddle::xdr::reader in(message);
      heddle::rpc::detail::call_head head;
      heddle::rpc::credentials who;
      heddle::rpc::detail::credential_state state{};
      if (!read_call(in, head, who, state)) {
        bad = true;
        break;
      }
      ++calls;
      waiting.emplace(head.xid, pending{head.program, head.version, head.procedure});
    }
    bool bad_answer = false;
    std::size_t replies = 0;
    std::map<std::uint32_t, std::size_t> replies_of;
    for (const heddle::chain& message : records_in(answer, bad_answer)) {
      heddle::xdr::reader in(message);
      heddle::rpc::detail::reply_head head;
      if (!read_reply(in, head)) return "an answer is no reply";
      ++replies;
      if (++replies_of[head.xid] > waiting.count(head.xid)) return "a reply to no call";
      // Calls with the same number are answered in any order, so one of them must fit.
      std::string why;
      const auto [from, to] = waiting.equal_range(head.xid);
      for (auto at = from; at != to; ++at)
        if (why = check_reply(message, at->second); why.empty()) break;
      if (!why.empty()) return why;
    }
    if (bad_answer) return "the answer is no row of records";
    if (!bad && replies != waiting.size())
      return std::to_string(waiting.size() - replies) + " calls have no reply";
    return {};
  }

  std::string check_reply(const heddle::chain& message, const pending& call) {
    heddle::xdr::reader in(message);
    heddle::rpc::detail::reply_head head;
    static_cast<void>(read_reply(in, head));
    if (head.refusal) {
      ++refusals[head.refusal.message()];
      if (head.refusal == heddle::rpc::errc::system_error)
        return "a procedure failed: " + head.text;
      return {};
    }
    std::string wrong;
    const auto read = [&]<class P>() { wrong = check_result<P>(in); };
    const bool known = call.program == mnt_v3::MNT::program
                           ? with_mount_procedure(call.procedure, read)
                           : with_procedure(call.procedure, read);
    return known ? wrong : "success of a procedure that does not exist";
  }

  template <class P>
  std::string check_result(heddle::xdr::reader& in) {
    if constexpr (!std::is_void_v<typename P::result>) {
      typename P::result r{};
      const std::size_t bytes = in.left();
      if (!in.read(r)) return std::string(P::name) + ": " + in.error();
      if (heddle::xdr::encode(r).size() != bytes) return std::string(P::name) + " reads otherwise";
      if constexpr (requires { r.status; }) {
        ++statuses[P::number][r.status];
        handle_visitor v([this](nfs3::nfs_fh3& h) { keep(h); }, [](heddle::xdr::text<>&) {});
        static_cast<void>(describe(v, r));
      }
    }
    if (in.left() != 0) return std::string(P::name) + ": bytes are left after the result";
    if constexpr (P::program == nfs_v3::GETATTR::program) ++results[P::number];
    return {};
  }

  memory_volume disk_;
  export_list exports_;
  procedures files_;
  mounts mounts_;
  heddle::rpc::server server_;
  heddle::xdr::generator draw_;
  std::vector<handle> known_;
  std::uint32_t xid_ = 0;
};

}  // namespace nfs::test
