// SPDX-License-Identifier: MIT
// Operations that belong to no line of an object: paths, names of hosts, calls. Each takes its time
// and then happens all at once.
#include <fcntl.h>

#include <algorithm>

#include "sim/current_worker.hh"
#include "sim/process.hh"

namespace heddle::sim {

/// How long the request takes, drawn when it is submitted.
nanoseconds process::duration_of(const request& r) {
  if (r.op->code == op_code::resolve) return resolve_delay(r.op->more);
  return chance.chance(options.inline_rate) ? nanoseconds{0} : chance.up_to(options.disk_delay_max);
}

std::int64_t process::perform(request& r) {
  operation& op = *r.op;
  if (op.code == op_code::call) {
    const current_worker back(r.by);  // so that the function finds its files
    return op.function(op.more);
  }
  if (op.code == op_code::resolve) return resolve(op.more);

  const std::shared_ptr<object>& target = r.folder;
  const inode_ptr start = op.fd == AT_FDCWD   ? here.files.root()
                          : target != nullptr ? inode_of(*target)
                                              : nullptr;
  const auto* path = static_cast<const char*>(op.data);
  const bool absolute = path != nullptr && *path == '/' && op.code != op_code::open;
  if (op.code == op_code::stat && (path == nullptr || *path == '\0')) {
    auto& out = *static_cast<struct ::statx*>(op.more);
    out = {};
    if (target != nullptr)
      target->describe(out);
    else if (start != nullptr)
      disk::describe(*start, out);
    else
      return -EBADF;
    return 0;
  }
  if (target == nullptr && op.fd != AT_FDCWD && !absolute) return -EBADF;
  if (start == nullptr && !absolute) return -ENOTDIR;
  const inode_ptr& from = start != nullptr ? start : here.files.root();
  switch (op.code) {
    case op_code::open:
      return here.files.open(*this, from, path, static_cast<const ::open_how*>(op.more));
    case op_code::stat:
      return here.files.stat(from, path, op.flags, *static_cast<struct ::statx*>(op.more));
    case op_code::remove:
      return here.files.remove(from, path, op.flags);
    case op_code::rename:
      return here.files.rename(from, path, static_cast<const char*>(op.more));
    case op_code::make_directory:
      return here.files.make_directory(from, path, op.len);
    case op_code::list:
      return list_directory(*from, *static_cast<std::vector<directory_entry>*>(op.more));
    default:
      return -EINVAL;
  }
}

}  // namespace heddle::sim
