// SPDX-License-Identifier: MIT
// MOUNT: a path is cut at its export, and the rest is walked down from the export's root with the
// caller's rights. The list of mounts lives in a color of its own.
#include "mount.hh"

#include <algorithm>

#include "heddle/core/enter.hh"
#include "names.hh"

namespace nfs {

using heddle::task;
using mount3::mountres3;
using mount3::mountstat3;
using mount_v3 = mount3::MOUNT_V3;

namespace {

constexpr heddle::color color_of_mounts{0x6e66734d6e740000};  // "nfsMnt"
constexpr std::int32_t auth_sys = 1;

mountstat3 mount_status(nfsstat3 s) noexcept {
  switch (s) {
    case nfsstat3::NFS3_OK:
      return mountstat3::MNT3_OK;
    case nfsstat3::NFS3ERR_NOENT:
    case nfsstat3::NFS3ERR_STALE:
      return mountstat3::MNT3ERR_NOENT;
    case nfsstat3::NFS3ERR_ACCES:
    case nfsstat3::NFS3ERR_PERM:
      return mountstat3::MNT3ERR_ACCES;
    case nfsstat3::NFS3ERR_NOTDIR:
      return mountstat3::MNT3ERR_NOTDIR;
    case nfsstat3::NFS3ERR_INVAL:
      return mountstat3::MNT3ERR_INVAL;
    case nfsstat3::NFS3ERR_NAMETOOLONG:
      return mountstat3::MNT3ERR_NAMETOOLONG;
    default:
      return mountstat3::MNT3ERR_IO;
  }
}

mountres3 refused(mountstat3 why) {
  mountres3 r;
  r.set(why);
  return r;
}

}  // namespace

mounts::mounts(volume& of, const export_list& exports, mount_options options)
    : volume_(of), exports_(exports), options_(options) {}

task<outcome<handle>> mounts::step(handle_place place, handle dir, std::string name, identity who) {
  co_await heddle::enter(place.color);
  outcome<object_ptr> at = co_await volume_.open(dir);
  if (!at) co_return std::unexpected(at.error());
  outcome<found> next = co_await volume_.lookup(**at, name, who);
  at->reset();  // in its own color
  if (!next) co_return std::unexpected(next.error());
  if (!next->attributes || next->attributes->type != nfs3::ftype3::NF3DIR)
    co_return std::unexpected(nfsstat3::NFS3ERR_NOTDIR);
  co_return std::move(next->file);
}

task<nfsstat3> mounts::check(handle_place place, handle of) {
  co_await heddle::enter(place.color);
  outcome<object_ptr> at = co_await volume_.open(of);
  if (!at) co_return at.error();
  const outcome<nfs3::fattr3> now = co_await volume_.attributes(**at);
  at->reset();  // in its own color
  co_return now ? nfsstat3::NFS3_OK : now.error();
}

task<outcome<handle>> mounts::walk(handle at, std::string below, identity who) {
  std::string_view rest = below;
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") co_return std::unexpected(nfsstat3::NFS3ERR_INVAL);
    const nfsstat3 bad = name_status(name);
    if (bad != nfsstat3::NFS3_OK) co_return std::unexpected(bad);
    const std::optional<handle_place> place = volume_.locate(at);
    if (!place) co_return std::unexpected(nfsstat3::NFS3ERR_BADHANDLE);
    outcome<handle> next = co_await step(*place, at, name, who);
    if (!next) co_return std::unexpected(next.error());
    at = std::move(*next);
  }
  const std::optional<handle_place> place = volume_.locate(at);
  if (!place) co_return std::unexpected(nfsstat3::NFS3ERR_BADHANDLE);
  const nfsstat3 there = co_await check(*place, at);
  if (there != nfsstat3::NFS3_OK) co_return std::unexpected(there);
  co_return at;
}

task<mountres3> mounts::mount(const heddle::rpc::call& from, std::string path) {
  const auto place = exports_.find(path);
  if (!place) co_return refused(mountstat3::MNT3ERR_NOENT);
  const exported& e = exports_.all()[place->first];
  if (e.rule_for(from.peer) == nullptr) co_return refused(mountstat3::MNT3ERR_ACCES);
  outcome<handle> at =
      co_await walk(volume_.root(place->first), place->second, e.identity_of(from.who));
  if (!at) co_return refused(mount_status(at.error()));
  entry made{from.peer.host(), std::move(path)};
  co_await note(std::move(made));
  mountres3 r;
  r.mountinfo().fhandle = std::string(at->data);
  r.mountinfo().auth_flavors.push_back(auth_sys);
  co_return r;
}

task<> mounts::note(entry made) {
  co_await heddle::enter(color_of_mounts);
  std::erase(entries_, made);
  entries_.push_back(std::move(made));
  if (entries_.size() > options_.entries_max) entries_.pop_front();
}

task<> mounts::forget(std::string host, std::string path) {
  co_await heddle::enter(color_of_mounts);
  std::erase_if(entries_,
                [&](const entry& e) { return e.host == host && (path.empty() || e.path == path); });
}

task<mount3::mountlist> mounts::dump() {
  co_await heddle::enter(color_of_mounts);
  mount3::mountlist first;
  heddle::xdr::list_builder<mount3::mountbody> to(first);
  for (const entry& e : entries_) {
    mount3::mountbody& m = to.append();
    m.ml_hostname = e.host;
    m.ml_directory = e.path;
  }
  co_return first;
}

task<mount3::exports> mounts::list() const {
  mount3::exports first;
  heddle::xdr::list_builder<mount3::exportnode> to(first);
  for (const exported& e : exports_.all()) {
    mount3::exportnode& node = to.append();
    node.ex_dir = e.path;
    heddle::xdr::list_builder<mount3::groupnode> groups(node.ex_groups);
    for (const exported::rule& r : e.rules) groups.append().gr_name = r.from.to_string();
  }
  co_return first;
}

void mounts::add_to(heddle::rpc::server& s) {
  s.on<mount_v3::MNT>([this](const heddle::rpc::call& from, mount3::dirpath path) {
    return mount(from, std::move(path));
  });
  s.on<mount_v3::UMNT>([this](const heddle::rpc::call& from, mount3::dirpath path) {
    return forget(from.peer.host(), std::move(path));
  });
  s.on<mount_v3::UMNTALL>(
      [this](const heddle::rpc::call& from) { return forget(from.peer.host(), std::string()); });
  s.on<mount_v3::DUMP>([this](const heddle::rpc::call&) { return dump(); });
  s.on<mount_v3::EXPORT>([this](const heddle::rpc::call&) { return list(); });
}

}  // namespace nfs
