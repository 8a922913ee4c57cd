// SPDX-License-Identifier: MIT
// The mount protocol (RFC 1813, appendix I): the name of an export, or of a folder below one,
// becomes the handle that a client begins with. It is served at the same port as NFS.
#pragma once

#include <list>

#include "exports.hh"
#include "heddle/rpc/server.hh"
#include "mount3.hh"
#include "volume.hh"

namespace nfs {

struct mount_options {
  std::size_t entries_max = 1024;  ///< of DUMP's list; the oldest is dropped
};

/// Thread: any; add_to() before the servers serve. Owns: the list of mounts, which is only told: a
///   handle needs no entry in it. Volume and exports must outlive it, and it the servers.
class mounts {
 public:
  mounts(volume& of, const export_list& exports, mount_options options = {});

  void add_to(heddle::rpc::server& s);

 private:
  struct entry {
    std::string host;
    std::string path;
    friend bool operator==(const entry&, const entry&) = default;
  };

  heddle::task<mount3::mountres3> mount(const heddle::rpc::call& from, std::string path);
  /// The handle of a path below an export's root, looked up as the caller.
  heddle::task<outcome<handle>> walk(handle root, std::string below, identity who);
  heddle::task<outcome<handle>> step(handle_place place, handle dir, std::string name,
                                     identity who);
  /// Whether the object of a handle is there.
  heddle::task<nfsstat3> check(handle_place place, handle of);
  heddle::task<> note(entry made);
  heddle::task<> forget(std::string host, std::string path);  ///< all of a host: ""
  heddle::task<mount3::mountlist> dump();
  heddle::task<mount3::exports> list() const;

  volume& volume_;
  const export_list& exports_;
  mount_options options_;
  std::list<entry> entries_;  // in the color of mounts
};

}  // namespace nfs
