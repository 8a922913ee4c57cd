// SPDX-License-Identifier: MIT
// The load client of suite nfs: one connection with `--depth` calls of NFS version 3 under way,
// made by libnfs' raw calls, so that each operation is one call. Each reply is checked; prints one
// JSON line.
#include <nfsc/libnfs.h>  // before the others
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <nfsc/libnfs-raw.h>
// These need it.
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#include "../load/server_time.hh"

namespace {

using clock_type = std::chrono::steady_clock;

constexpr std::uint64_t file_bytes = 16 << 20;
constexpr char file_name[] = "data.bin";

/// Ends the program. No exception, because the callers may be functions of libnfs.
[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "nfs load: %s\n", why.c_str());
  std::exit(1);
}

struct options {
  std::string host = "127.0.0.1", path = "/", kind = "getattr";
  int port = 2049, mount_port = 2049;
  std::size_t depth = 16;
  std::uint32_t bytes = 4096;  // of a read or a write
  double seconds = 1, warmup = 0.2;
  std::vector<int> servers;

  void read(int argc, char** argv) {
    if (argc % 2 == 0) fail("each option has one value");
    for (int i = 1; i + 1 < argc; i += 2) {
      const std::string_view name = argv[i];
      const char* const value = argv[i + 1];
      if (name == "--host") {
        host = value;
      } else if (name == "--path") {
        path = value;
      } else if (name == "--kind") {
        kind = value;
      } else if (name == "--port") {
        port = std::atoi(value);
      } else if (name == "--mount-port") {
        mount_port = std::atoi(value);
      } else if (name == "--depth") {
        depth = std::strtoul(value, nullptr, 10);
      } else if (name == "--bytes") {
        bytes = static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
      } else if (name == "--seconds") {
        seconds = std::atof(value);
      } else if (name == "--warmup") {
        warmup = std::atof(value);
      } else if (name == "--server") {
        servers.push_back(std::atoi(value));
      } else {
        fail("no such option: " + std::string(name));
      }
    }
  }
};

/// One connection. Its calls are answered inside of turn().
class connection {
 public:
  connection(const options& o, int port, int program, int version) : rpc_(rpc_init_context()) {
    bool connected = false;
    const auto done = [](rpc_context*, int status, void*, void* of) {
      if (status != RPC_STATUS_SUCCESS) fail("cannot connect");
      *static_cast<bool*>(of) = true;
    };
    if (rpc_connect_port_async(rpc_, o.host.c_str(), port, program, version, done, &connected) != 0)
      fail(rpc_get_error(rpc_));
    while (!connected) turn();
  }
  ~connection() { rpc_destroy_context(rpc_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void turn() {
    pollfd p{rpc_get_fd(rpc_), static_cast<short>(rpc_which_events(rpc_)), 0};
    if (::poll(&p, 1, 10'000) <= 0) fail("no reply within 10 s");
    if (rpc_service(rpc_, p.revents) < 0) fail(rpc_get_error(rpc_));
  }
  [[nodiscard]] rpc_context* get() const noexcept { return rpc_; }

 private:
  rpc_context* rpc_;
};

/// A file handle that outlives the reply it came in.
struct handle {
  std::string bytes;
  nfs_fh3 get() { return {{static_cast<u_int>(bytes.size()), bytes.data()}}; }
};

void check(int status, const char* what) {
  if (status != RPC_STATUS_SUCCESS) fail(std::string(what) + ": no reply");
}
void check_nfs(int status, nfsstat3 code, const char* what) {
  check(status, what);
  if (code != NFS3_OK)
    fail(std::string(what) + ": status " + std::to_string(static_cast<int>(code)));
}

handle mount(const options& o) {
  connection on(o, o.mount_port, MOUNT_PROGRAM, MOUNT_V3);
  handle root;
  const auto done = [](rpc_context*, int status, void* data, void* of) {
    check(status, "MNT");
    const auto& r = *static_cast<mountres3*>(data);
    if (r.fhs_status != MNT3_OK)
      fail("MNT: status " + std::to_string(static_cast<int>(r.fhs_status)));
    const auto& fh = r.mountres3_u.mountinfo.fhandle;
    static_cast<handle*>(of)->bytes.assign(fh.fhandle3_val, fh.fhandle3_len);
  };
  if (rpc_mount3_mnt_async(on.get(), done, const_cast<char*>(o.path.c_str()), &root) != 0)
    fail(rpc_get_error(on.get()));
  while (root.bytes.empty()) on.turn();
  return root;
}

class client {
 public:
  explicit client(const options& o)
      : o_(o), root_(mount(o)), on_(o, o.port, NFS_PROGRAM, NFS_V3), slots_(o.depth) {
    look_up();
    data_.assign(o.bytes, 'w');
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].of = this;
      slots_[i].name = "made-" + std::to_string(i);
      slots_[i].at = file_bytes / slots_.size() * i / o.bytes * o.bytes;
    }
  }

  void run() {
    for (slot& s : slots_) ask(s);
    run_for(o_.warmup);
    const auto begin = clock_type::now();
    const ::load::server_time before = ::load::server_time::of(o_.servers);
    done_ = 0;
    run_for(o_.seconds);
    const std::uint64_t operations = done_;
    const double spent = ::load::server_time::of(o_.servers).total_s - before.total_s;
    const double passed = std::chrono::duration<double>(clock_type::now() - begin).count();
    ends_ = true;
    while (under_way_ != 0) on_.turn();
    std::printf("{\"operations\": %llu, \"seconds\": %.6f, \"server_s\": %.6f}\n",
                static_cast<unsigned long long>(operations), passed, spent);
  }

 private:
  /// A call that is made again when it was answered.
  struct slot {
    client* of = nullptr;
    std::string name;
    std::uint64_t at = 0;
    bool made = false;  // the file is there: REMOVE is next
  };

  void run_for(double seconds) {
    const auto end = clock_type::now() + std::chrono::duration<double>(seconds);
    while (clock_type::now() < end) on_.turn();
  }

  void look_up() {
    LOOKUP3args args{{root_.get(), const_cast<char*>(file_name)}};
    const auto done = [](rpc_context*, int status, void* data, void* of) {
      check(status, "LOOKUP");
      const auto& r = *static_cast<LOOKUP3res*>(data);
      check_nfs(status, r.status, "LOOKUP");
      const auto& fh = r.LOOKUP3res_u.resok.object.data;
      static_cast<handle*>(of)->bytes.assign(fh.data_val, fh.data_len);
    };
    if (rpc_nfs3_lookup_async(on_.get(), done, &args, &file_) != 0) fail(rpc_get_error(on_.get()));
    while (file_.bytes.empty()) on_.turn();
  }

  void ask(slot& s) {
    ++under_way_;
    int failed = 0;
    if (o_.kind == "getattr") {
      GETATTR3args args{file_.get()};
      failed = rpc_nfs3_getattr_async(on_.get(), answered<GETATTR3res>, &args, &s);
    } else if (o_.kind == "lookup") {
      LOOKUP3args args{{root_.get(), const_cast<char*>(file_name)}};
      failed = rpc_nfs3_lookup_async(on_.get(), answered<LOOKUP3res>, &args, &s);
    } else if (o_.kind == "read") {
      READ3args args{file_.get(), next(s), o_.bytes};
      failed = rpc_nfs3_read_async(on_.get(), answered<READ3res>, &args, &s);
    } else if (o_.kind == "write") {
      WRITE3args args{file_.get(), next(s), o_.bytes, UNSTABLE, {o_.bytes, data_.data()}};
      failed = rpc_nfs3_write_async(on_.get(), answered<WRITE3res>, &args, &s);
    } else if (o_.kind == "create" && s.made) {
      REMOVE3args args{{root_.get(), s.name.data()}};
      failed = rpc_nfs3_remove_async(on_.get(), answered<REMOVE3res>, &args, &s);
    } else if (o_.kind == "create") {
      CREATE3args args{};
      args.where = {root_.get(), s.name.data()};
      args.how.mode = UNCHECKED;
      failed = rpc_nfs3_create_async(on_.get(), answered<CREATE3res>, &args, &s);
    } else {
      fail("no such kind: " + o_.kind);
    }
    if (failed != 0) fail(rpc_get_error(on_.get()));
  }

  std::uint64_t next(slot& s) const noexcept {
    const std::uint64_t at = s.at;
    s.at = at + 2 * o_.bytes > file_bytes ? 0 : at + o_.bytes;
    return at;
  }

  void check_bytes(const READ3res& r) const {
    const auto& got = r.READ3res_u.resok;
    if (got.count != o_.bytes || got.data.data_len != o_.bytes)
      fail("READ: " + std::to_string(got.count) + " bytes");
  }
  void check_bytes(const WRITE3res& r) const {
    if (r.WRITE3res_u.resok.count != o_.bytes)
      fail("WRITE: " + std::to_string(r.WRITE3res_u.resok.count) + " bytes");
  }
  template <class Result>
  void check_bytes(const Result&) const {}

  template <class Result>
  static void answered(rpc_context*, int status, void* data, void* of) {
    slot& s = *static_cast<slot*>(of);
    client& self = *s.of;
    check(status, self.o_.kind.c_str());
    const Result& r = *static_cast<Result*>(data);
    check_nfs(status, r.status, self.o_.kind.c_str());
    self.check_bytes(r);
    if (self.o_.kind == "create") s.made = !s.made;
    --self.under_way_;
    ++self.done_;
    if (!self.ends_ || s.made) self.ask(s);  // what was made is removed
  }

  const options& o_;
  handle root_, file_;
  connection on_;
  std::vector<slot> slots_;
  std::string data_;
  std::uint64_t done_ = 0;
  std::size_t under_way_ = 0;
  bool ends_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  options o;
  o.read(argc, argv);
  client(o).run();
}
