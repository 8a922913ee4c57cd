// SPDX-License-Identifier: MIT
// What each procedure of RFC 1813, section 3.3 does. Each fills in the successful form of its
// result as it goes; if it gives a failure, run_inside() keeps of it what a failure may say.
#include <algorithm>
#include <concepts>

#include "names.hh"
#include "procedures.hh"

namespace nfs {

using heddle::task;
using namespace nfs3;
using enum nfsstat3;

namespace {

template <class Result>
nfsstat3 take_made(outcome<found>&& made, Result& ok) {
  if (!made) return made.error();
  ok.obj = std::move(made->file);
  ok.obj_attributes = std::move(made->attributes);
  return NFS3_OK;
}

/// NFS3_OK, or why no entry of this name can be made with these attributes.
nfsstat3 new_entry_status(const std::string& name, const sattr3* with = nullptr) {
  if (is_dot_name(name)) return NFS3ERR_EXIST;
  const nfsstat3 bad = name_status(name);
  return bad == NFS3_OK && with != nullptr ? attributes_status(*with) : bad;
}

/// The attributes that a MKNOD gives; none for a type that it cannot make.
const sattr3* attributes_of_node(const mknoddata3& what) {
  switch (what.type) {
    case ftype3::NF3CHR:
    case ftype3::NF3BLK:
      return &what.device().dev_attributes;
    case ftype3::NF3SOCK:
    case ftype3::NF3FIFO:
      return &what.pipe_attributes();
    default:
      return nullptr;
  }
}

/// NFS3_OK, or why no entry of this name can be taken away.
nfsstat3 old_name_status(const std::string& name) {
  return is_dot_name(name) ? NFS3ERR_INVAL : name_status(name);
}

}  // namespace

task<nfsstat3> procedures::answer(v3::GETATTR, subject& s, const GETATTR3args&, GETATTR3res& r) {
  outcome<fattr3> now = co_await volume_.attributes(*s.at);
  if (!now) co_return now.error();
  r.resok().obj_attributes = *now;
  co_return NFS3_OK;
}

task<nfsstat3> procedures::answer(v3::SETATTR, subject& s, const SETATTR3args& a, SETATTR3res& r) {
  const nfsstat3 bad = attributes_status(a.new_attributes);
  if (bad != NFS3_OK) co_return bad;
  const outcome<void> set =
      co_await volume_.set(*s.at, a.new_attributes, a.guard, s.who, r.resok().obj_wcc);
  co_return set ? NFS3_OK : set.error();
}

task<nfsstat3> procedures::answer(v3::LOOKUP, subject& s, const LOOKUP3args& a, LOOKUP3res& r) {
  const nfsstat3 bad = name_status(a.what.name);
  if (bad != NFS3_OK) co_return bad;
  outcome<found> it = co_await volume_.lookup(*s.at, a.what.name, s.who);
  r.resok().dir_attributes = co_await attributes_after(*s.at);
  if (!it) co_return it.error();
  r.resok().object = std::move(it->file);
  r.resok().obj_attributes = std::move(it->attributes);
  co_return NFS3_OK;
}

task<nfsstat3> procedures::answer(v3::ACCESS, subject& s, const ACCESS3args& a, ACCESS3res& r) {
  constexpr std::uint32_t all = ACCESS3_READ | ACCESS3_LOOKUP | ACCESS3_MODIFY | ACCESS3_EXTEND |
                                ACCESS3_DELETE | ACCESS3_EXECUTE;
  constexpr std::uint32_t changing = ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_DELETE;
  const std::uint32_t asked = a.access & (s.may_write ? all : all & ~changing);
  const outcome<std::uint32_t> allowed = co_await volume_.access(*s.at, asked, s.who);
  r.resok().obj_attributes = co_await attributes_after(*s.at);
  if (!allowed) co_return allowed.error();
  r.resok().access = *allowed;
  co_return NFS3_OK;
}

task<nfsstat3> procedures::answer(v3::READLINK, subject& s, const READLINK3args&, READLINK3res& r) {
  outcome<std::string> text = co_await volume_.read_link(*s.at, s.who);
  r.resok().symlink_attributes = co_await attributes_after(*s.at);
  if (!text) co_return text.error();
  r.resok().data = std::move(*text);
  co_return NFS3_OK;
}

task<nfsstat3> procedures::answer(v3::READ, subject& s, const READ3args& a, READ3res& r) {
  const std::uint32_t count = std::min(a.count, transfer_bytes_max);
  outcome<read_data> got = co_await volume_.read(*s.at, a.offset, count, s.who);
  READ3resok& ok = r.resok();
  ok.file_attributes = co_await attributes_after(*s.at);
  if (!got) co_return got.error();
  ok.count = static_cast<std::uint32_t>(got->bytes.size());
  ok.eof = got->end;
  ok.data = std::move(got->bytes);
  counters_.bytes_read.fetch_add(ok.count, std::memory_order_relaxed);
  co_return NFS3_OK;
}

task<nfsstat3> procedures::answer(v3::WRITE, subject& s, const WRITE3args& a, WRITE3res& r) {
  WRITE3resok& ok = r.resok();
  if (a.count != a.data.size() || a.count > transfer_bytes_max) co_return NFS3ERR_INVAL;
  // The verifier is read first: data that are lost while they are written change it.
  ok.verf = volume_.verifier();
  const outcome<stable_how> how =
      co_await volume_.write(*s.at, a.offset, a.data, a.stable, s.who, ok.file_wcc);
  if (!how) co_return how.error();
  ok.count = a.count;
  ok.committed = *how;
  counters_.bytes_written.fetch_add(ok.count, std::memory_order_relaxed);
  co_return NFS3_OK;
}

task<nfsstat3> procedures::answer(v3::CREATE, subject& s, const CREATE3args& a, CREATE3res& r) {
  const sattr3* const with =
      a.how.mode == createmode3::EXCLUSIVE ? nullptr : &a.how.obj_attributes();
  const nfsstat3 bad = new_entry_status(a.where.name, with);
  if (bad != NFS3_OK) co_return bad;
  outcome<found> made =
      co_await volume_.create(*s.at, a.where.name, a.how, s.who, r.resok().dir_wcc);
  co_return take_made(std::move(made), r.resok());
}

task<nfsstat3> procedures::answer(v3::MKDIR, subject& s, const MKDIR3args& a, CREATE3res& r) {
  const nfsstat3 bad = new_entry_status(a.where.name, &a.attributes);
  if (bad != NFS3_OK) co_return bad;
  outcome<found> made =
      co_await volume_.make_directory(*s.at, a.where.name, a.attributes, s.who, r.resok().dir_wcc);
  co_return take_made(std::move(made), r.resok());
}

task<nfsstat3> procedures::answer(v3::SYMLINK, subject& s, const SYMLINK3args& a, CREATE3res& r) {
  const std::string& text = a.symlink.symlink_data;
  const nfsstat3 bad = new_entry_status(a.where.name, &a.symlink.symlink_attributes);
  if (bad != NFS3_OK) co_return bad;
  if (text.size() > link_bytes_max) co_return NFS3ERR_NAMETOOLONG;
  if (text.empty() || text.find('\0') != text.npos) co_return NFS3ERR_INVAL;
  outcome<found> made =
      co_await volume_.make_link(*s.at, a.where.name, a.symlink, s.who, r.resok().dir_wcc);
  co_return take_made(std::move(made), r.resok());
}

task<nfsstat3> procedures::answer(v3::MKNOD, subject& s, const MKNOD3args& a, CREATE3res& r) {
  const sattr3* const with = attributes_of_node(a.what);
  const nfsstat3 bad = new_entry_status(a.where.name, with);
  if (bad != NFS3_OK) co_return bad;
  outcome<found> made =
      co_await volume_.make_node(*s.at, a.where.name, a.what, s.who, r.resok().dir_wcc);
  co_return take_made(std::move(made), r.resok());
}

task<nfsstat3> procedures::answer(v3::REMOVE, subject& s, const REMOVE3args& a, REMOVE3res& r) {
  const nfsstat3 bad = old_name_status(a.object.name);
  if (bad != NFS3_OK) co_return bad;
  const outcome<void> gone =
      co_await volume_.remove(*s.at, a.object.name, s.who, r.resok().dir_wcc);
  co_return gone ? NFS3_OK : gone.error();
}

task<nfsstat3> procedures::answer(v3::RMDIR, subject& s, const REMOVE3args& a, REMOVE3res& r) {
  if (a.object.name == "..") co_return NFS3ERR_EXIST;  // RFC 1813, 3.3.13
  const nfsstat3 bad = old_name_status(a.object.name);
  if (bad != NFS3_OK) co_return bad;
  const outcome<void> gone =
      co_await volume_.remove_directory(*s.at, a.object.name, s.who, r.resok().dir_wcc);
  co_return gone ? NFS3_OK : gone.error();
}

task<nfsstat3> procedures::answer(v3::RENAME, subject& s, const RENAME3args& a, RENAME3res& r) {
  for (const std::string* name : {&a.from.name, &a.to.name}) {
    const nfsstat3 bad = old_name_status(*name);
    if (bad != NFS3_OK) co_return bad;
  }
  const nfsstat3 second = second_status(volume_, s, a.to.dir);
  if (second != NFS3_OK) co_return second;
  const outcome<void> moved = co_await volume_.rename(
      *s.at, a.from.name, a.to.dir, a.to.name, s.who, r.resok().fromdir_wcc, r.resok().todir_wcc);
  co_return moved ? NFS3_OK : moved.error();
}

task<nfsstat3> procedures::answer(v3::LINK, subject& s, const LINK3args& a, LINK3res& r) {
  const nfsstat3 bad = new_entry_status(a.link.name);
  if (bad != NFS3_OK) co_return bad;
  const nfsstat3 second = second_status(volume_, s, a.link.dir);
  if (second != NFS3_OK) co_return second;
  const outcome<void> made =
      co_await volume_.link(*s.at, a.link.dir, a.link.name, s.who, r.resok().linkdir_wcc);
  r.resok().file_attributes = co_await attributes_after(*s.at);
  co_return made ? NFS3_OK : made.error();
}

template <class Entry, class Args, class Ok>
task<nfsstat3> procedures::list_into(subject& s, const Args& a, list_request what, Ok& ok) {
  outcome<listing> part = std::unexpected(NFS3ERR_TOOSMALL);
  const std::size_t count = std::min<std::size_t>(what.bytes_max, options_.list_bytes_max);
  if (a.cookie != 0 && a.cookieverf != list_verifier) {
    part = std::unexpected(NFS3ERR_BAD_COOKIE);
  } else if (count >= list_overhead) {
    what.cookie = a.cookie;
    what.bytes_max = count - list_overhead;
    part = co_await volume_.list(*s.at, what, s.who);
  }
  ok.dir_attributes = co_await attributes_after(*s.at);
  if (!part) co_return part.error();
  heddle::xdr::list_builder<Entry> entries(ok.reply.entries);
  for (listed& e : part->entries) {
    Entry& to = entries.append();
    to.fileid = e.fileid;
    to.name = std::move(e.name);
    to.cookie = e.cookie;
    if constexpr (std::same_as<Entry, entryplus3>) {
      to.name_attributes = std::move(e.attributes);
      to.name_handle = std::move(e.file);
    }
  }
  ok.reply.eof = part->end;
  co_return NFS3_OK;
}

task<nfsstat3> procedures::answer(v3::READDIR, subject& s, const READDIR3args& a, READDIR3res& r) {
  return list_into<entry3>(s, a, {.bytes_max = a.count}, r.resok());
}

task<nfsstat3> procedures::answer(v3::READDIRPLUS, subject& s, const READDIRPLUS3args& a,
                                  READDIRPLUS3res& r) {
  return list_into<entryplus3>(
      s, a, {.bytes_max = a.maxcount, .names_bytes_max = a.dircount, .with_handles = true},
      r.resok());
}

task<nfsstat3> procedures::answer(v3::FSSTAT, subject& s, const FSSTAT3args&, FSSTAT3res& r) {
  FSSTAT3resok& ok = r.resok();
  const outcome<nfs::space> now = co_await volume_.space(*s.at);
  ok.obj_attributes = co_await attributes_after(*s.at);
  if (!now) co_return now.error();
  ok.tbytes = now->bytes;
  ok.fbytes = now->bytes_free;
  ok.abytes = now->bytes_available;
  ok.tfiles = now->files;
  ok.ffiles = now->files_free;
  ok.afiles = now->files_available;
  co_return NFS3_OK;
}

task<nfsstat3> procedures::answer(v3::FSINFO, subject& s, const FSINFO3args&, FSINFO3res& r) {
  FSINFO3resok& ok = r.resok();
  const outcome<nfs::limits> of = co_await volume_.limits(*s.at);
  ok.obj_attributes = co_await attributes_after(*s.at);
  if (!of) co_return of.error();
  ok.rtmax = ok.rtpref = ok.wtmax = ok.wtpref = transfer_bytes_max;
  ok.rtmult = ok.wtmult = 4096;
  ok.dtpref = std::min<std::uint32_t>(options_.list_bytes_max, 65536);
  ok.maxfilesize = of->file_bytes_max;
  ok.time_delta = of->time_unit;
  ok.properties = FSF3_LINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME;
  if (of->symbolic_links) ok.properties |= FSF3_SYMLINK;
  co_return NFS3_OK;
}

task<nfsstat3> procedures::answer(v3::PATHCONF, subject& s, const PATHCONF3args&, PATHCONF3res& r) {
  PATHCONF3resok& ok = r.resok();
  const outcome<nfs::limits> of = co_await volume_.limits(*s.at);
  ok.obj_attributes = co_await attributes_after(*s.at);
  if (!of) co_return of.error();
  ok.linkmax = of->links_max;
  ok.name_max = of->name_bytes_max;
  ok.no_trunc = true;
  ok.chown_restricted = of->chown_restricted;
  ok.case_insensitive = false;
  ok.case_preserving = true;
  co_return NFS3_OK;
}

task<nfsstat3> procedures::answer(v3::COMMIT, subject& s, const COMMIT3args&, COMMIT3res& r) {
  COMMIT3resok& ok = r.resok();
  const outcome<void> done = co_await volume_.commit(*s.at, ok.file_wcc);
  // The verifier is read last: a sync that fails changes it, and then nothing may count as kept.
  ok.verf = volume_.verifier();
  co_return done ? NFS3_OK : done.error();
}

}  // namespace nfs
