// SPDX-License-Identifier: MIT
// Objects of a memory_tree: handles, attributes and contents. Directories are in
// memory_directories.cc.
#include "memory_tree.hh"

#include <algorithm>
#include <cstring>

#include "heddle/base/clock.hh"
#include "memory_change.hh"

namespace nfs {

namespace {

using nfs3::ftype3;
using nfs3::time_how;

constexpr char handle_version = 1;
constexpr std::size_t handle_bytes = 1 + 4 + 8 + 8;
constexpr std::uint32_t mode_bits = 07777;
constexpr std::uint32_t nanoseconds_a_second = 1'000'000'000;

/// A number that changes in about half of its bits with each bit of `x`. It is no secret: a memory
/// volume is for tests.
std::uint64_t scatter(std::uint64_t x) noexcept {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93;
  return x ^ (x >> 32);
}
std::uint64_t checksum(std::uint64_t seed, std::uint64_t id, std::uint32_t export_number) noexcept {
  return scatter(scatter(scatter(seed) ^ id) ^ export_number);
}
template <class T>
T number_at(const std::string& bytes, std::size_t at) noexcept {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
template <class T>
void append_number(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

bool is_time_given(const nfs3::set_time& t) noexcept {
  return t.set_it == time_how::SET_TO_CLIENT_TIME;
}
bool is_time_now(const nfs3::set_time& t) noexcept {
  return t.set_it == time_how::SET_TO_SERVER_TIME;
}
bool is_time_bad(const nfs3::set_time& t) noexcept {
  return is_time_given(t) && t.time().nseconds >= nanoseconds_a_second;
}
void set_time_of(nfs3::nfstime3& to, const nfs3::set_time& from, nfs3::nfstime3 now) noexcept {
  if (is_time_given(from)) to = from.time();
  if (is_time_now(from)) to = now;
}
bool is_before(const nfs3::nfstime3& a, const nfs3::nfstime3& b) noexcept {
  return a.seconds != b.seconds ? a.seconds < b.seconds : a.nseconds < b.nseconds;
}

/// A file loses its set-user bit, and the set-group bit if it means that, with a change by somebody
/// who is not root.
void drop_set_bits(memory_node& of) noexcept {
  of.mode &= ~set_user_bit;
  if ((of.mode & 010) != 0) of.mode &= ~set_group_bit;
}

}  // namespace

memory_tree::memory_tree(const memory_tree_options& options) : options_(options) {
  for (std::uint32_t i = 0; i != options.exports; ++i) {
    auto n = std::make_shared<memory_node>();
    n->id = ++last_id_;
    n->export_number = i;
    n->type = ftype3::NF3DIR;
    n->mode = options.root_mode & mode_bits;
    n->uid = options.root_uid;
    n->gid = options.root_gid;
    n->links = 2;
    n->parent = n.get();
    nodes_.emplace(n->id, std::move(n));
  }
}

memory_tree::~memory_tree() {
  // Each directory lets go of its entries alone, so that a deep tree needs no deep recursion.
  for (auto& [id, n] : nodes_) {
    n->by_cookie.clear();
    n->names.clear();
  }
}

handle memory_tree::handle_of(std::uint64_t id, std::uint32_t export_number) const {
  handle h;
  h.data.push_back(handle_version);
  append_number(h.data, export_number);
  append_number(h.data, id);
  append_number(h.data, checksum(options_.seed, id, export_number));
  return h;
}

std::optional<std::uint32_t> memory_tree::locate(const handle& of) const noexcept {
  if (of.data.size() != handle_bytes || of.data[0] != handle_version) return std::nullopt;
  const auto export_number = number_at<std::uint32_t>(of.data, 1);
  const auto id = number_at<std::uint64_t>(of.data, 5);
  if (number_at<std::uint64_t>(of.data, 13) != checksum(options_.seed, id, export_number) ||
      export_number >= options_.exports)
    return std::nullopt;
  return export_number;
}

handle memory_tree::root(std::uint32_t export_number) const {
  return handle_of(export_number + std::uint64_t{1}, export_number);
}

outcome<std::shared_ptr<memory_node>> memory_tree::open(const handle& of) const {
  if (!locate(of)) return std::unexpected(nfsstat3::NFS3ERR_BADHANDLE);
  const auto at = nodes_.find(number_at<std::uint64_t>(of.data, 5));
  if (at == nodes_.end()) return std::unexpected(nfsstat3::NFS3ERR_STALE);
  return at->second;
}

nfs3::nfstime3 memory_tree::now() {
  // Two changes never have the same time, so that a client's guard sees each of them.
  last_time_ =
      std::max(heddle::clock::now(), heddle::add_saturated(last_time_, heddle::nanoseconds(1)));
  const auto since = static_cast<std::uint64_t>(last_time_.time_since_epoch().count());
  return {static_cast<std::uint32_t>(since / nanoseconds_a_second),
          static_cast<std::uint32_t>(since % nanoseconds_a_second)};
}

void memory_tree::touch(memory_node& n) { n.mtime = n.ctime = now(); }

nfs3::fattr3 memory_tree::describe(const memory_node& n) const noexcept {
  nfs3::fattr3 a;
  a.type = n.type;
  a.mode = n.mode;
  a.nlink = n.links;
  a.uid = n.uid;
  a.gid = n.gid;
  a.size = n.is_directory() ? 4096 : n.bytes.size();
  a.used = a.size;
  a.rdev = n.rdev;
  a.fsid = n.export_number + std::uint64_t{1};
  a.fileid = n.id;
  a.atime = n.atime;
  a.mtime = n.mtime;
  a.ctime = n.ctime;
  return a;
}

memory_tree::change::change(const memory_tree& tree, const memory_node& n, nfs3::wcc_data& seen)
    : tree_(tree), node_(n), seen_(seen) {
  if (n.links == 0) return;
  const nfs3::fattr3 a = tree.describe(n);
  seen.before = nfs3::wcc_attr{a.size, a.mtime, a.ctime};
}
memory_tree::change::~change() {
  if (node_.links != 0) seen_.after = tree_.describe(node_);
}

outcome<nfs3::fattr3> memory_tree::attributes(const memory_node& of) const {
  if (of.links == 0) return std::unexpected(nfsstat3::NFS3ERR_STALE);
  return describe(of);
}

nfsstat3 memory_tree::may_set(const memory_node& of, const nfs3::sattr3& to,
                              const identity& who) const {
  const bool root = who.uid == 0;
  const bool owner = root || who.uid == of.uid;
  if (is_time_bad(to.atime) || is_time_bad(to.mtime)) return nfsstat3::NFS3ERR_INVAL;
  if (to.mode && !owner) return nfsstat3::NFS3ERR_PERM;
  if (to.uid && !root && (*to.uid != of.uid || !owner)) return nfsstat3::NFS3ERR_PERM;
  if (to.gid && !root && !(owner && (*to.gid == of.gid || is_in_group(who, *to.gid))))
    return nfsstat3::NFS3ERR_PERM;
  if ((is_time_given(to.atime) || is_time_given(to.mtime)) && !owner) return nfsstat3::NFS3ERR_PERM;
  if ((is_time_now(to.atime) || is_time_now(to.mtime)) && !owner &&
      !is_allowed(of.owner(), who, may_write))
    return nfsstat3::NFS3ERR_ACCES;
  if (to.size) {
    if (!of.is_file()) return nfsstat3::NFS3ERR_INVAL;
    if (!is_transfer_allowed(of.owner(), who, true)) return nfsstat3::NFS3ERR_ACCES;
  }
  return nfsstat3::NFS3_OK;
}

outcome<void> memory_tree::set(memory_node& of, const nfs3::sattr3& to,
                               const std::optional<nfs3::nfstime3>& guard, const identity& who,
                               nfs3::wcc_data& seen) {
  const change c(*this, of, seen);
  if (of.links == 0) return std::unexpected(nfsstat3::NFS3ERR_STALE);
  if (guard && *guard != of.ctime) return std::unexpected(nfsstat3::NFS3ERR_NOT_SYNC);
  if (const nfsstat3 s = may_set(of, to, who); s != nfsstat3::NFS3_OK) return std::unexpected(s);
  if (to.size) {
    // SETATTR is stable when it is answered (RFC 1813, 3.3.2), also for bytes that were not.
    if (const nfsstat3 s = resize(of, *to.size); s != nfsstat3::NFS3_OK) return std::unexpected(s);
    if (of.stable) of.stable->resize(*to.size);
    if (who.uid != 0) drop_set_bits(of);
  }
  if ((to.uid || to.gid) && !of.is_directory()) drop_set_bits(of);
  if (to.uid) of.uid = *to.uid;
  if (to.gid) of.gid = *to.gid;
  if (to.mode) {
    of.mode = *to.mode & mode_bits;
    if (who.uid != 0 && !is_in_group(who, of.gid)) of.mode &= ~set_group_bit;
  }
  const nfs3::nfstime3 at = now();
  if (to.size) of.mtime = at;
  set_time_of(of.atime, to.atime, at);
  set_time_of(of.mtime, to.mtime, at);
  of.ctime = at;
  of.made_by.reset();  // what the client has set is in the place of the verifier (RFC 1813, 3.3.8)
  return {};
}

outcome<std::uint32_t> memory_tree::access(const memory_node& of, std::uint32_t wanted,
                                           const identity& who) const {
  if (of.links == 0) return std::unexpected(nfsstat3::NFS3ERR_STALE);
  const auto can = [&](std::uint32_t what) { return is_allowed(of.owner(), who, what); };
  std::uint32_t bits = 0;
  if (can(may_read)) bits |= nfs3::ACCESS3_READ;
  if (of.is_directory()) {
    if (can(may_execute)) bits |= nfs3::ACCESS3_LOOKUP;
    if (can(may_write | may_execute))
      bits |= nfs3::ACCESS3_MODIFY | nfs3::ACCESS3_EXTEND | nfs3::ACCESS3_DELETE;
  } else {
    if (can(may_execute)) bits |= nfs3::ACCESS3_EXECUTE;
    if (can(may_write)) bits |= nfs3::ACCESS3_MODIFY | nfs3::ACCESS3_EXTEND;
  }
  return bits & wanted;
}

outcome<std::string> memory_tree::read_link(const memory_node& of) const {
  if (of.links == 0) return std::unexpected(nfsstat3::NFS3ERR_STALE);
  if (of.type != ftype3::NF3LNK) return std::unexpected(nfsstat3::NFS3ERR_INVAL);
  return of.bytes;
}

outcome<read_data> memory_tree::read(memory_node& of, std::uint64_t at, std::uint32_t count,
                                     const identity& who) {
  if (of.links == 0) return std::unexpected(nfsstat3::NFS3ERR_STALE);
  if (of.is_directory()) return std::unexpected(nfsstat3::NFS3ERR_ISDIR);
  if (!of.is_file()) return std::unexpected(nfsstat3::NFS3ERR_INVAL);
  if (!is_transfer_allowed(of.owner(), who, false)) return std::unexpected(nfsstat3::NFS3ERR_ACCES);
  read_data r;
  const std::uint64_t size = of.bytes.size();
  const std::uint64_t from = std::min(at, size);
  const std::uint64_t given = std::min<std::uint64_t>(count, size - from);
  if (given != 0)
    r.bytes.append(heddle::piece::copy_of(std::string_view(of.bytes).substr(from, given)));
  r.end = from + given == size;
  // The time of reading is noted once after each change, as Linux does (relatime).
  if (!is_before(of.mtime, of.atime)) of.atime = now();
  return r;
}

nfsstat3 memory_tree::resize(memory_node& of, std::uint64_t size) {
  if (size > options_.file_bytes_max) return nfsstat3::NFS3ERR_FBIG;
  const std::uint64_t others = bytes_ - of.bytes.size();
  if (size > of.bytes.size() && size > options_.bytes_max - std::min(others, options_.bytes_max))
    return nfsstat3::NFS3ERR_NOSPC;
  of.bytes.resize(size);
  bytes_ = others + size;
  return nfsstat3::NFS3_OK;
}

outcome<void> memory_tree::write(memory_node& of, std::uint64_t at, const heddle::chain& data,
                                 const identity& who, nfs3::wcc_data& seen) {
  const change c(*this, of, seen);
  if (of.links == 0) return std::unexpected(nfsstat3::NFS3ERR_STALE);
  if (!of.is_file()) return std::unexpected(nfsstat3::NFS3ERR_INVAL);
  if (!is_transfer_allowed(of.owner(), who, true)) return std::unexpected(nfsstat3::NFS3ERR_ACCES);
  if (data.empty()) return {};
  std::uint64_t end = 0;
  if (__builtin_add_overflow(at, std::uint64_t{data.size()}, &end))
    return std::unexpected(nfsstat3::NFS3ERR_FBIG);
  std::optional<std::string> before;
  if (!of.stable) before = of.bytes;
  const nfsstat3 s = resize(of, std::max<std::uint64_t>(end, of.bytes.size()));
  if (s != nfsstat3::NFS3_OK) return std::unexpected(s);
  if (before) of.stable = std::move(before);
  for (std::size_t i = 0; i != data.piece_count(); ++i) {
    const std::string_view part = data.piece_at(i).bytes().text();
    of.bytes.replace(at, part.size(), part);
    at += part.size();
  }
  if (who.uid != 0) drop_set_bits(of);
  of.made_by.reset();
  touch(of);
  return {};
}

outcome<void> memory_tree::sync(memory_node& of) {
  if (of.links == 0) return std::unexpected(nfsstat3::NFS3ERR_STALE);
  if (!of.is_file()) return std::unexpected(nfsstat3::NFS3ERR_INVAL);
  of.stable.reset();
  return {};
}

void memory_tree::lose_unstable(memory_node& of) {
  if (!of.stable) return;
  bytes_ -= of.bytes.size();
  of.bytes = std::move(*of.stable);
  bytes_ += of.bytes.size();
  of.stable.reset();
}
void memory_tree::lose_unstable() {
  for (auto& [id, n] : nodes_) lose_unstable(*n);
}

space memory_tree::space() const noexcept {
  const std::uint64_t bytes_free = options_.bytes_max - std::min(bytes_, options_.bytes_max);
  const std::uint64_t files_free =
      options_.files_max - std::min<std::uint64_t>(nodes_.size(), options_.files_max);
  return {.bytes = options_.bytes_max,
          .bytes_free = bytes_free,
          .bytes_available = bytes_free,
          .files = options_.files_max,
          .files_free = files_free,
          .files_available = files_free};
}

limits memory_tree::limits() const noexcept {
  nfs::limits l;
  l.file_bytes_max = options_.file_bytes_max;
  l.links_max = options_.links_max;
  return l;
}

}  // namespace nfs
