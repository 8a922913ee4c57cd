// SPDX-License-Identifier: MIT
// The 22 procedures of NFS version 3 (RFC 1813, section 3.3) over a volume. Each is written
// straight down in answer(): open, do, say. A call enters the color of its first handle, so that
// calls about one file never run at once, and goes back to its connection's color with the result.
//
//   procedures files(volume, exports, {});
//   files.add_to(server);          // of each rpc::server: one a worker
#pragma once

#include <atomic>

#include "admission.hh"
#include "heddle/core/enter.hh"
#include "heddle/rpc/server.hh"
#include "repeats.hh"
#include "volume.hh"

namespace nfs {

struct procedure_options {
  repeat_options repeats;
  std::uint32_t list_bytes_max = 1 << 20;  ///< of one reply of READDIR and READDIRPLUS
};

/// Numbers since the start. Thread: any.
struct procedure_counters {
  std::atomic<std::uint64_t> calls = 0;
  std::atomic<std::uint64_t> refused = 0;  ///< replies with another status than NFS3_OK
  std::atomic<std::uint64_t> bytes_read = 0;
  std::atomic<std::uint64_t> bytes_written = 0;
};

/// Thread: any; add_to() before the servers serve. Owns: kept replies; volume and exports must
///   outlive it, and it must outlive the servers.
/// Cancel: a change that has begun is made, and its reply is kept for a repeat.
class procedures {
 public:
  procedures(volume& of, const export_list& exports, procedure_options options = {});

  void add_to(heddle::rpc::server& s);

  [[nodiscard]] const procedure_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const repeats& kept() const noexcept { return repeats_; }

 private:
  using v3 = nfs3::NFS_V3;
  template <class T>
  using task = heddle::task<T>;

  /// Answers one call of P; `once` for what must not be done twice.
  template <class P>
  task<typename P::result> run(const heddle::rpc::call& from, const typename P::argument& a);
  template <class P>
  heddle::task<> run_inside(subject& s, const typename P::argument& a, typename P::result& r);
  template <class P>
  void serve(heddle::rpc::server& s);
  template <class P>
  void serve_once(heddle::rpc::server& s);

  /// The attributes that go with a reply, if they can be had.
  task<nfs3::post_op_attr> attributes_after(object& of);

  // What each procedure does. They fill in the result; a failed one gives its status.
  task<nfsstat3> answer(v3::GETATTR, subject& s, const nfs3::GETATTR3args& a, nfs3::GETATTR3res& r);
  task<nfsstat3> answer(v3::SETATTR, subject& s, const nfs3::SETATTR3args& a, nfs3::SETATTR3res& r);
  task<nfsstat3> answer(v3::LOOKUP, subject& s, const nfs3::LOOKUP3args& a, nfs3::LOOKUP3res& r);
  task<nfsstat3> answer(v3::ACCESS, subject& s, const nfs3::ACCESS3args& a, nfs3::ACCESS3res& r);
  task<nfsstat3> answer(v3::READLINK, subject& s, const nfs3::READLINK3args& a,
                        nfs3::READLINK3res& r);
  task<nfsstat3> answer(v3::READ, subject& s, const nfs3::READ3args& a, nfs3::READ3res& r);
  task<nfsstat3> answer(v3::WRITE, subject& s, const nfs3::WRITE3args& a, nfs3::WRITE3res& r);
  task<nfsstat3> answer(v3::CREATE, subject& s, const nfs3::CREATE3args& a, nfs3::CREATE3res& r);
  task<nfsstat3> answer(v3::MKDIR, subject& s, const nfs3::MKDIR3args& a, nfs3::CREATE3res& r);
  task<nfsstat3> answer(v3::SYMLINK, subject& s, const nfs3::SYMLINK3args& a, nfs3::CREATE3res& r);
  task<nfsstat3> answer(v3::MKNOD, subject& s, const nfs3::MKNOD3args& a, nfs3::CREATE3res& r);
  task<nfsstat3> answer(v3::REMOVE, subject& s, const nfs3::REMOVE3args& a, nfs3::REMOVE3res& r);
  task<nfsstat3> answer(v3::RMDIR, subject& s, const nfs3::REMOVE3args& a, nfs3::REMOVE3res& r);
  task<nfsstat3> answer(v3::RENAME, subject& s, const nfs3::RENAME3args& a, nfs3::RENAME3res& r);
  task<nfsstat3> answer(v3::LINK, subject& s, const nfs3::LINK3args& a, nfs3::LINK3res& r);
  task<nfsstat3> answer(v3::READDIR, subject& s, const nfs3::READDIR3args& a, nfs3::READDIR3res& r);
  task<nfsstat3> answer(v3::READDIRPLUS, subject& s, const nfs3::READDIRPLUS3args& a,
                        nfs3::READDIRPLUS3res& r);
  task<nfsstat3> answer(v3::FSSTAT, subject& s, const nfs3::FSSTAT3args& a, nfs3::FSSTAT3res& r);
  task<nfsstat3> answer(v3::FSINFO, subject& s, const nfs3::FSINFO3args& a, nfs3::FSINFO3res& r);
  task<nfsstat3> answer(v3::PATHCONF, subject& s, const nfs3::PATHCONF3args& a,
                        nfs3::PATHCONF3res& r);
  task<nfsstat3> answer(v3::COMMIT, subject& s, const nfs3::COMMIT3args& a, nfs3::COMMIT3res& r);

  /// READDIR and READDIRPLUS: they differ in the form of an entry. `what` has the client's limits,
  /// of which `bytes_max` is that of the whole result.
  template <class Entry, class Args, class Ok>
  task<nfsstat3> list_into(subject& s, const Args& a, list_request what, Ok& ok);

  volume& volume_;
  const export_list& exports_;
  procedure_options options_;
  procedure_counters counters_;
  repeats repeats_;
};

}  // namespace nfs
