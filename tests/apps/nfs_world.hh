// SPDX-License-Identifier: MIT
// Users of a volume, and short forms of NFS values, for the tests of apps/nfs.
#pragma once

#include <ostream>
#include <source_location>
#include <string>

#include "heddle/heddle.hh"
#include "memory_volume.hh"
#include "support/drivers.hh"

namespace nfs3 {
inline void PrintTo(nfsstat3 s, std::ostream* out) { *out << heddle::xdr::name_of(s); }
inline void PrintTo(const nfstime3& t, std::ostream* out) {
  *out << t.seconds << "s " << t.nseconds << "ns";
}
inline bool operator==(const wcc_attr& b, const fattr3& a) {
  return b.size == a.size && b.mtime == a.mtime && b.ctime == a.ctime;
}
}  // namespace nfs3

namespace nfs::test {

using heddle::task;
using nfs3::createmode3;
using nfs3::ftype3;
using nfs3::sattr3;
using nfs3::stable_how;
using nfs3::time_how;
using enum nfs3::nfsstat3;

inline const identity root{0, 0, {}};

/// Attributes of which none is to change. (A new sattr3 sets both times to zero.)
inline sattr3 no_change() {
  sattr3 a;
  a.atime.set(time_how::DONT_CHANGE);
  a.mtime.set(time_how::DONT_CHANGE);
  return a;
}
inline sattr3 mode_of(std::uint32_t mode) {
  sattr3 a = no_change();
  a.mode = mode;
  return a;
}
inline sattr3 size_of(std::uint64_t size) {
  sattr3 a = no_change();
  a.size = size;
  return a;
}
inline nfs3::createhow3 create_as(createmode3 mode, sattr3 with) {
  nfs3::createhow3 how;
  how.set(mode);
  how.obj_attributes() = std::move(with);
  return how;
}
inline nfs3::createhow3 exclusively(std::uint8_t verifier) {
  nfs3::createhow3 how;
  how.set(createmode3::EXCLUSIVE);
  how.verf().fill(std::byte{verifier});
  return how;
}
inline nfs3::mknoddata3 node_of_type(ftype3 type) {
  nfs3::mknoddata3 what;
  what.set(type);
  if (type == ftype3::NF3CHR || type == ftype3::NF3BLK) {
    what.device().dev_attributes = mode_of(0600);
    what.device().spec = {8, 1};
  } else if (type == ftype3::NF3SOCK || type == ftype3::NF3FIFO) {
    what.pipe_attributes() = mode_of(0600);
  }
  return what;
}

/// Somebody who uses a volume as the procedures do: each call opens the object by its handle.
/// Arguments are values, so that a call can be made now and awaited later.
class user {
 public:
  user(volume& v, identity who) : v_(v), who_(std::move(who)) {}

  task<outcome<found>> lookup(handle dir, std::string name) {
    const auto o = co_await v_.open(dir);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.lookup(**o, name, who_);
  }
  task<outcome<nfs3::fattr3>> attributes(handle of) {
    const auto o = co_await v_.open(of);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.attributes(**o);
  }
  task<outcome<void>> set(handle of, sattr3 to, std::optional<nfs3::nfstime3> guard = {}) {
    const auto o = co_await v_.open(of);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.set(**o, to, guard, who_, seen = {});
  }
  task<outcome<std::uint32_t>> access(handle of, std::uint32_t wanted = 0x3f) {
    const auto o = co_await v_.open(of);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.access(**o, wanted, who_);
  }
  task<outcome<std::string>> read_link(handle of) {
    const auto o = co_await v_.open(of);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.read_link(**o, who_);
  }
  task<outcome<std::string>> read(handle of, std::uint64_t at = 0, std::uint32_t count = 1 << 20) {
    const auto o = co_await v_.open(of);
    if (!o) co_return std::unexpected(o.error());
    const auto r = co_await v_.read(**o, at, count, who_);
    if (!r) co_return std::unexpected(r.error());
    end = r->end;
    co_return r->bytes.to_string();
  }
  task<outcome<stable_how>> write(handle of, std::string text, std::uint64_t at = 0,
                                  stable_how how = stable_how::UNSTABLE) {
    const auto o = co_await v_.open(of);
    if (!o) co_return std::unexpected(o.error());
    heddle::chain data;
    data.append_copy(text.substr(0, text.size() / 2));
    data.append(heddle::piece(text.substr(text.size() / 2)));
    co_return co_await v_.write(**o, at, data, how, who_, seen = {});
  }
  task<outcome<void>> commit(handle of) {
    const auto o = co_await v_.open(of);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.commit(**o, seen = {});
  }
  task<outcome<found>> create(handle dir, std::string name, nfs3::createhow3 how) {
    const auto o = co_await v_.open(dir);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.create(**o, name, how, who_, seen = {});
  }
  task<outcome<found>> create(handle dir, std::string name, std::uint32_t mode = 0644) {
    return create(std::move(dir), std::move(name), create_as(createmode3::GUARDED, mode_of(mode)));
  }
  task<outcome<found>> make_directory(handle dir, std::string name, std::uint32_t mode = 0755) {
    const auto o = co_await v_.open(dir);
    if (!o) co_return std::unexpected(o.error());
    const sattr3 with = mode_of(mode);
    co_return co_await v_.make_directory(**o, name, with, who_, seen = {});
  }
  task<outcome<found>> make_link(handle dir, std::string name, std::string text) {
    const auto o = co_await v_.open(dir);
    if (!o) co_return std::unexpected(o.error());
    const nfs3::symlinkdata3 link{no_change(), std::move(text)};
    co_return co_await v_.make_link(**o, name, link, who_, seen = {});
  }
  task<outcome<found>> make_node(handle dir, std::string name, nfs3::mknoddata3 what) {
    const auto o = co_await v_.open(dir);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.make_node(**o, name, what, who_, seen = {});
  }
  task<outcome<void>> remove(handle dir, std::string name) {
    const auto o = co_await v_.open(dir);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.remove(**o, name, who_, seen = {});
  }
  task<outcome<void>> remove_directory(handle dir, std::string name) {
    const auto o = co_await v_.open(dir);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.remove_directory(**o, name, who_, seen = {});
  }
  task<outcome<void>> rename(handle from, std::string name, handle to, std::string to_name) {
    const auto o = co_await v_.open(from);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.rename(**o, name, to, to_name, who_, seen = {}, to_seen = {});
  }
  task<outcome<void>> link(handle of, handle dir, std::string name) {
    const auto o = co_await v_.open(of);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.link(**o, dir, name, who_, seen = {});
  }
  task<outcome<listing>> list(handle dir, list_request what = {}) {
    const auto o = co_await v_.open(dir);
    if (!o) co_return std::unexpected(o.error());
    co_return co_await v_.list(**o, what, who_);
  }
  /// All names of a directory, read in parts of this size.
  task<std::vector<std::string>> names(handle dir, std::size_t bytes_max = 200) {
    std::vector<std::string> all;
    list_request what{.bytes_max = bytes_max};
    for (;;) {
      const auto part = co_await list(dir, what);
      if (!part) {
        ADD_FAILURE() << "a listing failed: " << heddle::xdr::name_of(part.error());
        break;
      }
      for (const listed& e : part->entries) all.push_back(e.name);
      if (part->end) break;
      what.cookie = part->entries.back().cookie;
    }
    co_return all;
  }

  nfs3::wcc_data seen;     ///< of the last change
  nfs3::wcc_data to_seen;  ///< of the last rename's second directory
  bool end = false;        ///< of the last read

 private:
  volume& v_;
  identity who_;
};

template <class T>
nfsstat3 status_of(const outcome<T>& o) {
  return o ? NFS3_OK : o.error();
}

/// Checks how a call ends.
template <class T>
task<> expect(nfsstat3 wanted, task<outcome<T>> call,
              std::source_location at = std::source_location::current()) {
  const auto got = co_await std::move(call);
  if (status_of(got) != wanted)
    ADD_FAILURE_AT(at.file_name(), static_cast<int>(at.line()))
        << "is " << heddle::xdr::name_of(status_of(got)) << ", not "
        << heddle::xdr::name_of(wanted);
}

/// The value of a call that must succeed.
template <class T>
task<T> must(task<outcome<T>> call, std::source_location at = std::source_location::current()) {
  auto got = co_await std::move(call);
  if (!got) {
    ADD_FAILURE_AT(at.file_name(), static_cast<int>(at.line()))
        << "fails: " << heddle::xdr::name_of(got.error());
    throw std::runtime_error("the test cannot go on");
  }
  co_return std::move(*got);
}
/// The handle of what a call finds or makes.
inline task<handle> handle_from(task<outcome<found>> call,
                                std::source_location at = std::source_location::current()) {
  found f = co_await must(std::move(call), at);
  co_return std::move(f.file);
}

}  // namespace nfs::test
