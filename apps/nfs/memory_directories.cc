// SPDX-License-Identifier: MIT
// Directories of a memory_tree: finding, adding, taking away and listing names.
#include <algorithm>

#include "memory_change.hh"
#include "names.hh"

namespace nfs {

namespace {

using nfs3::createmode3;
using nfs3::ftype3;
using node_ptr = std::shared_ptr<memory_node>;

std::unexpected<nfsstat3> failed(nfsstat3 s) { return std::unexpected(s); }

/// Whether the directory lies in `top` or below it.
bool is_below(const memory_node* dir, const memory_node& top) noexcept {
  for (;; dir = dir->parent) {
    if (dir == &top) return true;
    if (dir == dir->parent) return false;
  }
}

/// OK if entries of the object can be looked at.
nfsstat3 directory_status(const memory_node& dir) noexcept {
  if (dir.links == 0) return nfsstat3::NFS3ERR_STALE;
  return dir.is_directory() ? nfsstat3::NFS3_OK : nfsstat3::NFS3ERR_NOTDIR;
}

}  // namespace

found memory_tree::found_at(const memory_node& n) const {
  return {handle_of(n.id, n.export_number), describe(n)};
}

outcome<found> memory_tree::lookup(memory_node& dir, const std::string& name,
                                   const identity& who) const {
  if (const nfsstat3 s = directory_status(dir); s != nfsstat3::NFS3_OK) return failed(s);
  if (!is_allowed(dir.owner(), who, may_execute)) return failed(nfsstat3::NFS3ERR_ACCES);
  if (name == ".") return found_at(dir);
  if (name == "..") return found_at(*dir.parent);
  const auto at = dir.names.find(name);
  if (at == dir.names.end()) return failed(nfsstat3::NFS3ERR_NOENT);
  return found_at(*at->second.node);
}

nfsstat3 memory_tree::may_change(const memory_node& dir, const identity& who) noexcept {
  if (const nfsstat3 s = directory_status(dir); s != nfsstat3::NFS3_OK) return s;
  return is_allowed(dir.owner(), who, may_write | may_execute) ? nfsstat3::NFS3_OK
                                                               : nfsstat3::NFS3ERR_ACCES;
}

nfsstat3 memory_tree::may_add(const memory_node& dir, const std::string& name,
                              const identity& who) {
  if (const nfsstat3 s = directory_status(dir); s != nfsstat3::NFS3_OK) return s;
  if (!is_allowed(dir.owner(), who, may_execute)) return nfsstat3::NFS3ERR_ACCES;
  if (is_dot_name(name) || dir.names.contains(name)) return nfsstat3::NFS3ERR_EXIST;
  return may_change(dir, who);
}

outcome<node_ptr> memory_tree::removable(const memory_node& dir, const std::string& name,
                                         const identity& who) {
  if (const nfsstat3 s = directory_status(dir); s != nfsstat3::NFS3_OK) return failed(s);
  if (!is_allowed(dir.owner(), who, may_execute)) return failed(nfsstat3::NFS3ERR_ACCES);
  const auto at = dir.names.find(name);
  if (at == dir.names.end()) return failed(nfsstat3::NFS3ERR_NOENT);
  if (const nfsstat3 s = may_change(dir, who); s != nfsstat3::NFS3_OK) return failed(s);
  // Linux says EPERM here, which REMOVE, RMDIR and RENAME do not have in RFC 1813.
  if (!is_removal_allowed(dir.owner(), at->second.node->owner(), who))
    return failed(nfsstat3::NFS3ERR_ACCES);
  return at->second.node;
}

void memory_tree::enter_name(memory_node& dir, const std::string& name, node_ptr n,
                             std::uint64_t cookie) {
  if (n->is_directory()) {
    n->parent = &dir;
    ++dir.links;
  }
  if (cookie == 0) cookie = ++dir.last_cookie;
  const auto at = dir.names.emplace(name, memory_entry{std::move(n), cookie}).first;
  dir.by_cookie.emplace(cookie, at);
  touch(dir);
}

memory_entry memory_tree::take_name(memory_node& dir, const std::string& name) {
  const auto at = dir.names.find(name);
  memory_entry taken = std::move(at->second);
  dir.by_cookie.erase(taken.cookie);
  dir.names.erase(at);
  if (taken.node->is_directory()) --dir.links;
  touch(dir);
  return taken;
}

void memory_tree::drop_link(memory_node& n) {
  n.links -= n.is_directory() ? n.links : 1;
  if (n.links != 0) {
    n.ctime = now();
    return;
  }
  bytes_ -= n.bytes.size();
  nodes_.erase(n.id);
}

outcome<node_ptr> memory_tree::make(memory_node& dir, const std::string& name, ftype3 type,
                                    std::uint32_t mode, const nfs3::sattr3* with,
                                    const identity& who) {
  if (nodes_.size() >= options_.files_max) return failed(nfsstat3::NFS3ERR_NOSPC);
  if (type == ftype3::NF3DIR && dir.links >= options_.links_max)
    return failed(nfsstat3::NFS3ERR_MLINK);
  auto n = std::make_shared<memory_node>();
  n->id = ++last_id_;
  n->export_number = dir.export_number;
  n->type = type;
  n->mode = mode;
  n->uid = who.uid;
  n->gid = (dir.mode & set_group_bit) != 0 ? dir.gid : who.gid;
  if (type == ftype3::NF3DIR) n->mode |= dir.mode & set_group_bit;
  n->links = type == ftype3::NF3DIR ? 2 : 1;
  n->atime = n->mtime = n->ctime = now();
  if (with != nullptr) {
    // A new object gets the attributes that its maker may set, and not the others, as with Linux.
    nfs3::sattr3 to;
    to.atime = with->atime;
    to.mtime = with->mtime;
    if (type != ftype3::NF3LNK) to.mode = with->mode;
    if (type == ftype3::NF3REG) to.size = with->size;
    if (who.uid == 0) to.uid = with->uid;
    if (with->gid && (who.uid == 0 || is_in_group(who, *with->gid))) to.gid = with->gid;
    nfs3::wcc_data unseen;
    if (const auto set_all = set(*n, to, std::nullopt, who, unseen); !set_all) {
      bytes_ -= n->bytes.size();
      return failed(set_all.error());
    }
    if (type == ftype3::NF3DIR) n->mode |= dir.mode & set_group_bit;
  }
  nodes_.emplace(n->id, n);
  enter_name(dir, name, n);
  return n;
}

outcome<node_ptr> memory_tree::existing_for_create(const memory_node& dir, const std::string& name,
                                                   const nfs3::createhow3& how,
                                                   const identity& who) {
  const auto at = dir.names.find(name);
  if (at == dir.names.end()) return failed(nfsstat3::NFS3ERR_EXIST);
  node_ptr n = at->second.node;
  if (!n->is_file() || how.mode == createmode3::GUARDED) return failed(nfsstat3::NFS3ERR_EXIST);
  if (how.mode == createmode3::EXCLUSIVE) {
    if (n->made_by != how.verf()) return failed(nfsstat3::NFS3ERR_EXIST);
    return n;
  }
  if (how.obj_attributes().size) {  // of an existing file, only the size is set
    nfs3::sattr3 to;
    to.atime.set(nfs3::time_how::DONT_CHANGE);
    to.mtime.set(nfs3::time_how::DONT_CHANGE);
    to.size = how.obj_attributes().size;
    nfs3::wcc_data unseen;
    if (const auto done = set(*n, to, std::nullopt, who, unseen); !done)
      return failed(done.error());
  }
  return n;
}

outcome<found> memory_tree::create(memory_node& dir, const std::string& name,
                                   const nfs3::createhow3& how, const identity& who,
                                   nfs3::wcc_data& seen) {
  const change c(*this, dir, seen);
  const nfsstat3 s = may_add(dir, name, who);
  if (s == nfsstat3::NFS3ERR_EXIST) {
    const auto n = existing_for_create(dir, name, how, who);
    if (!n) return failed(n.error());
    return found_at(**n);
  }
  if (s != nfsstat3::NFS3_OK) return failed(s);
  const bool exclusive = how.mode == createmode3::EXCLUSIVE;
  const auto n = make(dir, name, ftype3::NF3REG, exclusive ? 0600 : 0644,
                      exclusive ? nullptr : &how.obj_attributes(), who);
  if (!n) return failed(n.error());
  if (exclusive) (*n)->made_by = how.verf();
  return found_at(**n);
}

outcome<found> memory_tree::make_directory(memory_node& dir, const std::string& name,
                                           const nfs3::sattr3& with, const identity& who,
                                           nfs3::wcc_data& seen) {
  const change c(*this, dir, seen);
  if (const nfsstat3 s = may_add(dir, name, who); s != nfsstat3::NFS3_OK) return failed(s);
  const auto n = make(dir, name, ftype3::NF3DIR, 0755, &with, who);
  if (!n) return failed(n.error());
  return found_at(**n);
}

outcome<found> memory_tree::make_link(memory_node& dir, const std::string& name,
                                      const nfs3::symlinkdata3& link, const identity& who,
                                      nfs3::wcc_data& seen) {
  const change c(*this, dir, seen);
  const std::string& text = link.symlink_data;
  if (text.size() > link_bytes_max) return failed(nfsstat3::NFS3ERR_NAMETOOLONG);
  if (text.empty() || text.find('\0') != text.npos) return failed(nfsstat3::NFS3ERR_INVAL);
  if (const nfsstat3 s = may_add(dir, name, who); s != nfsstat3::NFS3_OK) return failed(s);
  if (text.size() > space().bytes_free) return failed(nfsstat3::NFS3ERR_NOSPC);
  const auto n = make(dir, name, ftype3::NF3LNK, 0777, &link.symlink_attributes, who);
  if (!n) return failed(n.error());
  (*n)->bytes = text;
  bytes_ += text.size();
  return found_at(**n);
}

outcome<found> memory_tree::make_node(memory_node& dir, const std::string& name,
                                      const nfs3::mknoddata3& what, const identity& who,
                                      nfs3::wcc_data& seen) {
  const change c(*this, dir, seen);
  const bool device = what.type == ftype3::NF3CHR || what.type == ftype3::NF3BLK;
  if (!device && what.type != ftype3::NF3SOCK && what.type != ftype3::NF3FIFO)
    return failed(nfsstat3::NFS3ERR_BADTYPE);
  if (const nfsstat3 s = may_add(dir, name, who); s != nfsstat3::NFS3_OK) return failed(s);
  // Linux says EPERM here, which MKNOD does not have in RFC 1813.
  if (device && who.uid != 0) return failed(nfsstat3::NFS3ERR_ACCES);
  const auto n = make(dir, name, what.type, 0644,
                      device ? &what.device().dev_attributes : &what.pipe_attributes(), who);
  if (!n) return failed(n.error());
  if (device) (*n)->rdev = what.device().spec;
  return found_at(**n);
}

outcome<void> memory_tree::remove(memory_node& dir, const std::string& name, const identity& who,
                                  nfs3::wcc_data& seen) {
  const change c(*this, dir, seen);
  if (is_dot_name(name)) return failed(nfsstat3::NFS3ERR_ISDIR);
  const auto n = removable(dir, name, who);
  if (!n) return failed(n.error());
  if ((*n)->is_directory()) return failed(nfsstat3::NFS3ERR_ISDIR);
  take_name(dir, name);
  drop_link(**n);
  return {};
}

outcome<void> memory_tree::remove_directory(memory_node& dir, const std::string& name,
                                            const identity& who, nfs3::wcc_data& seen) {
  const change c(*this, dir, seen);
  if (name == ".") return failed(nfsstat3::NFS3ERR_INVAL);
  if (name == "..") return failed(nfsstat3::NFS3ERR_EXIST);
  const auto n = removable(dir, name, who);
  if (!n) return failed(n.error());
  if (!(*n)->is_directory()) return failed(nfsstat3::NFS3ERR_NOTDIR);
  if (!(*n)->names.empty()) return failed(nfsstat3::NFS3ERR_NOTEMPTY);
  take_name(dir, name);
  drop_link(**n);
  return {};
}

outcome<void> memory_tree::rename(memory_node& from, const std::string& name, const handle& to,
                                  const std::string& to_name, const identity& who,
                                  nfs3::wcc_data& from_seen, nfs3::wcc_data& to_seen) {
  const change of_from(*this, from, from_seen);
  const auto opened = open(to);
  if (!opened) return failed(opened.error());
  memory_node& target = **opened;
  const change of_to(*this, target, to_seen);
  if (const nfsstat3 s = directory_status(target); s != nfsstat3::NFS3_OK) return failed(s);
  if (from.links != 0 && from.export_number != target.export_number)
    return failed(nfsstat3::NFS3ERR_XDEV);
  if (is_dot_name(name) || is_dot_name(to_name)) return failed(nfsstat3::NFS3ERR_INVAL);
  const auto source = removable(from, name, who);
  if (!source) return failed(source.error());
  node_ptr n = *source;
  if (const nfsstat3 s = may_change(target, who); s != nfsstat3::NFS3_OK) return failed(s);
  const bool moves = &from != &target;
  if (n->is_directory()) {
    if (is_below(&target, *n)) return failed(nfsstat3::NFS3ERR_INVAL);
    // The directory's ".." changes.
    if (moves && !is_allowed(n->owner(), who, may_write)) return failed(nfsstat3::NFS3ERR_ACCES);
  }
  std::uint64_t cookie = 0;
  const auto old = target.names.find(to_name);
  if (old != target.names.end()) {
    const node_ptr there = old->second.node;
    if (there == n) return {};  // two names of one file: both stay, as POSIX says
    if (const auto can = removable(target, to_name, who); !can) return failed(can.error());
    if (there->is_directory() && !n->is_directory()) return failed(nfsstat3::NFS3ERR_ISDIR);
    if (!there->is_directory() && n->is_directory()) return failed(nfsstat3::NFS3ERR_NOTDIR);
    if (!there->names.empty()) return failed(nfsstat3::NFS3ERR_NOTEMPTY);
    cookie =
        take_name(target, to_name).cookie;  // the name stays, so it keeps its place in listings
    drop_link(*there);
  } else if (moves && n->is_directory() && target.links >= options_.links_max) {
    return failed(nfsstat3::NFS3ERR_MLINK);
  }
  take_name(from, name);
  enter_name(target, to_name, n, cookie);
  n->ctime = now();
  return {};
}

outcome<void> memory_tree::link(memory_node& of, const handle& dir, const std::string& name,
                                const identity& who, nfs3::wcc_data& dir_seen) {
  const auto opened = open(dir);
  if (!opened) return failed(opened.error());
  memory_node& in = **opened;
  const change c(*this, in, dir_seen);
  if (of.links == 0) return failed(nfsstat3::NFS3ERR_STALE);
  if (of.export_number != in.export_number) return failed(nfsstat3::NFS3ERR_XDEV);
  if (const nfsstat3 s = may_add(in, name, who); s != nfsstat3::NFS3_OK) return failed(s);
  if (of.is_directory()) return failed(nfsstat3::NFS3ERR_INVAL);
  if (of.links >= options_.links_max) return failed(nfsstat3::NFS3ERR_MLINK);
  ++of.links;
  of.ctime = now();
  enter_name(in, name, nodes_.at(of.id));
  return {};
}

outcome<listing> memory_tree::list(memory_node& dir, const list_request& what,
                                   const identity& who) const {
  if (const nfsstat3 s = directory_status(dir); s != nfsstat3::NFS3_OK) return failed(s);
  if (!is_allowed(dir.owner(), who, may_read)) return failed(nfsstat3::NFS3ERR_ACCES);
  if (what.cookie > dir.last_cookie) return failed(nfsstat3::NFS3ERR_BAD_COOKIE);
  const bool with_handles = what.with_handles && is_allowed(dir.owner(), who, may_execute);
  listing out;
  std::size_t bytes = 0;
  std::size_t names_bytes = 0;
  const auto add = [&](const std::string& name, std::uint64_t cookie, const memory_node& n) {
    listed e;
    e.fileid = n.id;
    e.name = name;
    e.cookie = cookie;
    if (with_handles) {
      e.file = handle_of(n.id, n.export_number);
      e.attributes = describe(n);
    }
    bytes += listed_bytes(e, what.with_handles);
    names_bytes += listed_bytes(e, false) - 4;  // without the word that says that an entry follows
    if (bytes > what.bytes_max || (names_bytes > what.names_bytes_max && !out.entries.empty()))
      return false;
    out.entries.push_back(std::move(e));
    return true;
  };
  bool all =
      (what.cookie >= 1 || add(".", 1, dir)) && (what.cookie >= 2 || add("..", 2, *dir.parent));
  for (auto at = dir.by_cookie.upper_bound(what.cookie); all && at != dir.by_cookie.end(); ++at)
    all = add(at->second->first, at->first, *at->second->second.node);
  if (!all && out.entries.empty()) return failed(nfsstat3::NFS3ERR_TOOSMALL);
  out.end = all;
  return out;
}

std::string memory_tree::mistake_below(const memory_node& dir,
                                       std::map<const memory_node*, std::uint32_t>& links) const {
  std::uint32_t directories = 0;
  if (dir.names.size() != dir.by_cookie.size()) return "names and cookies differ in number";
  for (const auto& [name, entry] : dir.names) {
    const memory_node& n = *entry.node;
    const auto known = nodes_.find(n.id);
    if (known == nodes_.end() || known->second != entry.node) return name + " has no handle";
    const auto listed = dir.by_cookie.find(entry.cookie);
    if (listed == dir.by_cookie.end() || listed->second->first != name)
      return name + " is not listed by its cookie";
    if (n.export_number != dir.export_number) return name + " is of another export";
    if (name_status(name) != nfsstat3::NFS3_OK || is_dot_name(name)) return name + " is no name";
    if (!n.is_directory()) {
      ++links[&n];
      continue;
    }
    ++directories;
    if (n.parent != &dir) return name + " has another parent";
    links[&n] = n.links;
    if (std::string below = mistake_below(n, links); !below.empty()) return name + "/" + below;
  }
  if (dir.links != directories + 2) return "the directory has a wrong number of links";
  return {};
}

std::string memory_tree::mistake() const {
  std::map<const memory_node*, std::uint32_t> links;
  for (std::uint32_t i = 0; i != options_.exports; ++i) {
    const memory_node& top = *nodes_.at(i + std::uint64_t{1});
    links[&top] = top.links;
    if (std::string below = mistake_below(top, links); !below.empty()) return below;
  }
  std::uint64_t bytes = 0;
  for (const auto& [id, n] : nodes_) {
    const auto at = links.find(n.get());
    if (at == links.end()) return "object " + std::to_string(id) + " has no name";
    if (at->second != n->links) return "object " + std::to_string(id) + " has wrong links";
    bytes += n->bytes.size();
  }
  return bytes == bytes_ ? std::string() : "the number of bytes is wrong";
}

}  // namespace nfs
