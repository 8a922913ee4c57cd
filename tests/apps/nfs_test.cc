// SPDX-License-Identifier: MIT
// The procedures of NFS over RPC: each procedure and each status of RFC 1813, on every driver.
#include <set>

#include "nfs_server_world.hh"

namespace nfs::test {
namespace {

const identity stranger{1000, 100, {}};

/// Calls each procedure once or more, with success.
task<> call_all(nfs_server& w) {
  caller c(co_await heddle::tcp_connect(w.at));
  const handle top = w.top();
  co_await c.get<v3::NULL_>();
  const handle dir = co_await c.directory(top, "d");
  const handle file = co_await c.file(dir, "f");

  const auto written = co_await c.pass<v3::WRITE>(writing(file, 0, "hello, world"));
  EXPECT_EQ(written.status, NFS3_OK);
  EXPECT_EQ(written.resok().count, 12u);
  EXPECT_EQ(written.resok().committed, stable_how::UNSTABLE);
  EXPECT_EQ(written.resok().verf, w.disk.verifier());
  EXPECT_EQ(written.resok().file_wcc.before->size, 0u);
  EXPECT_EQ(written.resok().file_wcc.after->size, 12u);
  const auto committed = co_await c.ask<v3::COMMIT>(file, std::uint64_t{0}, 0u);
  EXPECT_EQ(committed.status, NFS3_OK);
  EXPECT_EQ(committed.resok().verf, w.disk.verifier());
  const auto read = co_await c.ask<v3::READ>(file, std::uint64_t{7}, 100u);
  EXPECT_EQ(read.status, NFS3_OK);
  EXPECT_EQ(read.resok().data.to_string(), "world");
  EXPECT_EQ(read.resok().count, 5u);
  EXPECT_TRUE(read.resok().eof);
  EXPECT_EQ(read.resok().file_attributes->size, 12u);

  const auto attributes = co_await c.ask<v3::GETATTR>(file);
  EXPECT_EQ(attributes.status, NFS3_OK);
  EXPECT_EQ(attributes.resok().obj_attributes.mode, 0644u);
  const nfs3::nfstime3 ctime = attributes.resok().obj_attributes.ctime;
  const auto set =
      co_await c.ask<v3::SETATTR>(file, mode_of(0600), std::optional<nfs3::nfstime3>(ctime));
  EXPECT_EQ(set.status, NFS3_OK);
  EXPECT_EQ(set.resok().obj_wcc.before->ctime, ctime);
  EXPECT_EQ(set.resok().obj_wcc.after->mode, 0600u);
  const auto looked = co_await c.ask<v3::LOOKUP>(entry(dir, "f"));
  EXPECT_EQ(looked.status, NFS3_OK);
  EXPECT_EQ(looked.resok().object, file);
  EXPECT_EQ(looked.resok().obj_attributes->size, 12u);
  EXPECT_EQ(looked.resok().dir_attributes->type, ftype3::NF3DIR);
  const auto access = co_await c.ask<v3::ACCESS>(file, 0xffffu);
  EXPECT_EQ(access.status, NFS3_OK);
  EXPECT_EQ(access.resok().access,
            nfs3::ACCESS3_READ | nfs3::ACCESS3_MODIFY | nfs3::ACCESS3_EXTEND);

  const nfs3::symlinkdata3 text{no_change(), nfs3::nfspath3("over/there")};
  const handle link = co_await c.make<v3::SYMLINK>(dir, "l", text);
  const auto link_text = co_await c.ask<v3::READLINK>(link);
  EXPECT_EQ(link_text.status, NFS3_OK);
  EXPECT_EQ(link_text.resok().data, "over/there");
  EXPECT_EQ(link_text.resok().symlink_attributes->type, ftype3::NF3LNK);
  const handle pipe = co_await c.make<v3::MKNOD>(dir, "p", node_of_type(ftype3::NF3FIFO));
  const auto hard = co_await c.ask<v3::LINK>(file, entry(dir, "f2"));
  EXPECT_EQ(hard.status, NFS3_OK);
  EXPECT_EQ(hard.resok().file_attributes->nlink, 2u);
  EXPECT_EQ(hard.resok().linkdir_wcc.after->type, ftype3::NF3DIR);
  const auto moved = co_await c.ask<v3::RENAME>(entry(dir, "p"), entry(top, "pipe"));
  EXPECT_EQ(moved.status, NFS3_OK);
  EXPECT_TRUE(moved.resok().fromdir_wcc.before && moved.resok().todir_wcc.before);
  EXPECT_TRUE(moved.resok().fromdir_wcc.after && moved.resok().todir_wcc.after);
  const auto removed = co_await c.ask<v3::REMOVE>(entry(top, "pipe"));
  EXPECT_EQ(removed.status, NFS3_OK);
  EXPECT_EQ(removed.resok().dir_wcc.before->mtime, moved.resok().todir_wcc.after->mtime);
  co_await expect_reply(NFS3ERR_STALE, c.ask<v3::GETATTR>(pipe));
  co_await c.directory(top, "empty");
  co_await expect_reply(NFS3_OK, c.ask<v3::RMDIR>(entry(top, "empty")));

  const auto names = co_await c.ask<v3::READDIR>(dir, std::uint64_t{0}, nfs3::cookieverf3{}, 4096u);
  EXPECT_EQ(names.status, NFS3_OK);
  std::vector<std::string> all;
  for (const auto* e = names.resok().reply.entries.get(); e != nullptr; e = e->nextentry.get())
    all.push_back(e->name);
  EXPECT_EQ(all, (std::vector<std::string>{".", "..", "f", "l", "f2"}));
  EXPECT_TRUE(names.resok().reply.eof);
  const auto plus =
      co_await c.ask<v3::READDIRPLUS>(dir, std::uint64_t{0}, nfs3::cookieverf3{}, 4096u, 8192u);
  EXPECT_EQ(plus.status, NFS3_OK);
  EXPECT_TRUE(plus.resok().reply.eof);
  const auto* third = plus.resok().reply.entries->nextentry->nextentry.get();
  EXPECT_EQ(third->name, "f");
  EXPECT_EQ(third->name_handle, file);
  EXPECT_EQ(third->name_attributes->nlink, 2u);

  const auto space = co_await c.ask<v3::FSSTAT>(top);
  EXPECT_EQ(space.status, NFS3_OK);
  EXPECT_EQ(space.resok().tbytes - space.resok().fbytes, 12u + 10u);
  const auto info = co_await c.ask<v3::FSINFO>(top);
  EXPECT_EQ(info.status, NFS3_OK);
  EXPECT_EQ(info.resok().rtmax, transfer_bytes_max);
  EXPECT_EQ(info.resok().properties,
            nfs3::FSF3_LINK | nfs3::FSF3_SYMLINK | nfs3::FSF3_HOMOGENEOUS | nfs3::FSF3_CANSETTIME);
  const auto conf = co_await c.ask<v3::PATHCONF>(top);
  EXPECT_EQ(conf.status, NFS3_OK);
  EXPECT_EQ(conf.resok().name_max, 255u);
  EXPECT_TRUE(conf.resok().no_trunc && conf.resok().case_preserving);
  EXPECT_FALSE(conf.resok().case_insensitive);
}

DRIVER_TEST(nfs, "each procedure does its work") {
  heddle::runtime rt(make());
  rt.run(with_nfs(call_all));
}

DRIVER_TEST(nfs, "each procedure does its work, three of them by callbacks") {
  heddle::runtime rt(make());
  server_setup s;
  s.written = style::callbacks;
  rt.run(with_nfs(call_all, s));
}

/// Each cause of a failure that a client can bring about.
task<> fail_all(nfs_server& w) {
  caller c(co_await heddle::tcp_connect(w.at));
  caller a(co_await heddle::tcp_connect(w.at), stranger);
  const handle top = w.top();
  const handle dir = co_await c.directory(top, "d");
  const handle file = co_await c.file(dir, "f");
  const handle gone = co_await c.file(dir, "gone");
  co_await expect_reply(NFS3_OK, c.ask<v3::REMOVE>(entry(dir, "gone")));
  handle bad = file;
  bad.data[3] = static_cast<char>(bad.data[3] ^ 1);
  const std::string long_name(name_bytes_max + 1, 'n');
  const auto guarded = create_as(createmode3::GUARDED, mode_of(0644));
  const std::optional<nfs3::nfstime3> no_guard;
  const nfs3::symlinkdata3 text{no_change(), nfs3::nfspath3("x")};
  const nfs3::mknoddata3 pipe = node_of_type(ftype3::NF3FIFO);
  const nfs3::cookieverf3 v0{};
  const std::uint64_t start = 0;

  // Handles that are no handles, and handles of what is gone.
  for (const auto& [h, wanted] : {std::pair(bad, NFS3ERR_BADHANDLE), std::pair(gone, NFS3ERR_STALE),
                                  std::pair(handle{}, NFS3ERR_BADHANDLE)}) {
    co_await expect_reply(wanted, c.ask<v3::GETATTR>(h));
    co_await expect_reply(wanted, c.ask<v3::SETATTR>(h, no_change(), no_guard));
    co_await expect_reply(wanted, c.ask<v3::LOOKUP>(entry(h, "f")));
    co_await expect_reply(wanted, c.ask<v3::ACCESS>(h, 1u));
    co_await expect_reply(wanted, c.ask<v3::READLINK>(h));
    co_await expect_reply(wanted, c.ask<v3::READ>(h, start, 1u));
    co_await expect_reply(wanted, c.pass<v3::WRITE>(writing(h, 0, "x")));
    co_await expect_reply(wanted, c.ask<v3::CREATE>(entry(h, "x"), guarded));
    co_await expect_reply(wanted, c.ask<v3::MKDIR>(entry(h, "x"), no_change()));
    co_await expect_reply(wanted, c.ask<v3::SYMLINK>(entry(h, "x"), text));
    co_await expect_reply(wanted, c.ask<v3::MKNOD>(entry(h, "x"), pipe));
    co_await expect_reply(wanted, c.ask<v3::REMOVE>(entry(h, "f")));
    co_await expect_reply(wanted, c.ask<v3::RMDIR>(entry(h, "f")));
    co_await expect_reply(wanted, c.ask<v3::RENAME>(entry(h, "f"), entry(dir, "x")));
    co_await expect_reply(wanted, c.ask<v3::RENAME>(entry(dir, "f"), entry(h, "x")));
    co_await expect_reply(wanted, c.ask<v3::LINK>(h, entry(dir, "x")));
    co_await expect_reply(wanted, c.ask<v3::LINK>(file, entry(h, "x")));
    co_await expect_reply(wanted, c.ask<v3::READDIR>(h, start, v0, 4096u));
    co_await expect_reply(wanted, c.ask<v3::READDIRPLUS>(h, start, v0, 4096u, 4096u));
    co_await expect_reply(wanted, c.ask<v3::FSSTAT>(h));
    co_await expect_reply(wanted, c.ask<v3::FSINFO>(h));
    co_await expect_reply(wanted, c.ask<v3::PATHCONF>(h));
    co_await expect_reply(wanted, c.ask<v3::COMMIT>(h, start, 0u));
  }

  // Names that are none.
  for (const auto& [name, wanted] :
       {std::pair(long_name, NFS3ERR_NAMETOOLONG), std::pair(std::string(), NFS3ERR_INVAL),
        std::pair(std::string("a/b"), NFS3ERR_INVAL),
        std::pair(std::string(1, '\0'), NFS3ERR_INVAL)}) {
    co_await expect_reply(wanted, c.ask<v3::LOOKUP>(entry(dir, name)));
    co_await expect_reply(wanted, c.ask<v3::CREATE>(entry(dir, name), guarded));
    co_await expect_reply(wanted, c.ask<v3::MKDIR>(entry(dir, name), no_change()));
    co_await expect_reply(wanted, c.ask<v3::SYMLINK>(entry(dir, name), text));
    co_await expect_reply(wanted, c.ask<v3::MKNOD>(entry(dir, name), pipe));
    co_await expect_reply(wanted, c.ask<v3::REMOVE>(entry(dir, name)));
    co_await expect_reply(wanted, c.ask<v3::RMDIR>(entry(dir, name)));
    co_await expect_reply(wanted, c.ask<v3::RENAME>(entry(dir, name), entry(dir, "x")));
    co_await expect_reply(wanted, c.ask<v3::RENAME>(entry(dir, "f"), entry(dir, name)));
    co_await expect_reply(wanted, c.ask<v3::LINK>(file, entry(dir, name)));
  }
  for (const char* dot : {".", ".."}) {
    co_await expect_reply(NFS3_OK, c.ask<v3::LOOKUP>(entry(dir, dot)));
    co_await expect_reply(NFS3ERR_EXIST, c.ask<v3::CREATE>(entry(dir, dot), guarded));
    co_await expect_reply(NFS3ERR_EXIST, c.ask<v3::MKDIR>(entry(dir, dot), no_change()));
    co_await expect_reply(NFS3ERR_INVAL, c.ask<v3::RENAME>(entry(dir, dot), entry(dir, "x")));
    co_await expect_reply(NFS3ERR_EXIST, c.ask<v3::LINK>(file, entry(dir, dot)));
  }
  co_await expect_reply(NFS3ERR_INVAL, c.ask<v3::RMDIR>(entry(dir, ".")));
  co_await expect_reply(NFS3ERR_EXIST, c.ask<v3::RMDIR>(entry(dir, "..")));

  // What is not there, is there already, or is something else.
  co_await expect_reply(NFS3ERR_NOENT, c.ask<v3::LOOKUP>(entry(dir, "none")));
  co_await expect_reply(NFS3ERR_NOENT, c.ask<v3::REMOVE>(entry(dir, "none")));
  co_await expect_reply(NFS3ERR_NOENT, c.ask<v3::RMDIR>(entry(dir, "none")));
  co_await expect_reply(NFS3ERR_NOENT, c.ask<v3::RENAME>(entry(dir, "none"), entry(dir, "x")));
  co_await expect_reply(NFS3ERR_EXIST, c.ask<v3::CREATE>(entry(dir, "f"), guarded));
  co_await expect_reply(NFS3ERR_EXIST, c.ask<v3::MKDIR>(entry(dir, "f"), no_change()));
  co_await expect_reply(NFS3ERR_EXIST, c.ask<v3::SYMLINK>(entry(dir, "f"), text));
  co_await expect_reply(NFS3ERR_EXIST, c.ask<v3::MKNOD>(entry(dir, "f"), pipe));
  co_await expect_reply(NFS3ERR_EXIST, c.ask<v3::LINK>(file, entry(dir, "f")));
  co_await expect_reply(NFS3ERR_NOTDIR, c.ask<v3::LOOKUP>(entry(file, "x")));
  co_await expect_reply(NFS3ERR_NOTDIR, c.ask<v3::CREATE>(entry(file, "x"), guarded));
  co_await expect_reply(NFS3ERR_NOTDIR, c.ask<v3::REMOVE>(entry(file, "x")));
  co_await expect_reply(NFS3ERR_NOTDIR, c.ask<v3::RMDIR>(entry(dir, "f")));
  co_await expect_reply(NFS3ERR_NOTDIR, c.ask<v3::LINK>(file, entry(file, "x")));
  co_await expect_reply(NFS3ERR_NOTDIR, c.ask<v3::READDIR>(file, start, v0, 4096u));
  co_await expect_reply(NFS3ERR_NOTDIR, c.ask<v3::READDIRPLUS>(file, start, v0, 4096u, 4096u));
  co_await expect_reply(NFS3ERR_NOTEMPTY, c.ask<v3::RMDIR>(entry(top, "d")));
  const handle other = co_await c.directory(top, "other");
  co_await expect_reply(NFS3ERR_NOTDIR, c.ask<v3::RENAME>(entry(top, "other"), entry(dir, "f")));
  co_await expect_reply(NFS3ERR_NOTEMPTY, c.ask<v3::RENAME>(entry(top, "other"), entry(top, "d")));
  co_await expect_reply(NFS3ERR_ISDIR, c.ask<v3::RENAME>(entry(dir, "f"), entry(top, "other")));
  co_await expect_reply(NFS3ERR_ISDIR, c.ask<v3::REMOVE>(entry(top, "other")));
  co_await expect_reply(NFS3ERR_INVAL, c.ask<v3::RENAME>(entry(top, "d"), entry(dir, "x")));
  co_await expect_reply(NFS3ERR_INVAL, c.ask<v3::READLINK>(file));
  co_await expect_reply(NFS3ERR_INVAL, c.ask<v3::READ>(dir, start, 1u));
  co_await expect_reply(NFS3ERR_INVAL, c.pass<v3::WRITE>(writing(dir, 0, "x")));
  co_await expect_reply(NFS3ERR_INVAL, c.ask<v3::SETATTR>(dir, size_of(1), no_guard));
  co_await expect_reply(NFS3ERR_BADTYPE,
                        c.ask<v3::MKNOD>(entry(dir, "x"), node_of_type(ftype3::NF3DIR)));
  nfs3::WRITE3args short_data = writing(file, 0, "xy");
  short_data.count = 3;
  co_await expect_reply(NFS3ERR_INVAL, c.pass<v3::WRITE>(std::move(short_data)));

  // Other exports, guards, cookies and sizes.
  co_await expect_reply(NFS3ERR_XDEV, c.ask<v3::RENAME>(entry(dir, "f"), entry(w.top(1), "f")));
  co_await expect_reply(NFS3ERR_XDEV, c.ask<v3::LINK>(file, entry(w.top(1), "f")));
  co_await expect_reply(
      NFS3ERR_NOT_SYNC,
      c.ask<v3::SETATTR>(file, mode_of(0), std::optional<nfs3::nfstime3>(nfs3::nfstime3{1, 2})));
  nfs3::cookieverf3 v1{};
  v1.fill(std::byte{1});
  co_await expect_reply(NFS3ERR_BAD_COOKIE, c.ask<v3::READDIR>(dir, std::uint64_t{1}, v1, 4096u));
  co_await expect_reply(NFS3ERR_BAD_COOKIE, c.ask<v3::READDIRPLUS>(dir, ~start, v0, 4096u, 4096u));
  co_await expect_reply(NFS3ERR_TOOSMALL, c.ask<v3::READDIR>(dir, start, v0, 100u));
  co_await expect_reply(NFS3ERR_TOOSMALL, c.ask<v3::READDIRPLUS>(dir, start, v0, 4096u, 150u));
  co_await expect_reply(NFS3ERR_FBIG, c.pass<v3::WRITE>(writing(file, 9000, "x")));
  co_await expect_reply(NFS3ERR_NOSPC, c.pass<v3::WRITE>(writing(file, 2000, "x")));
  co_await expect_reply(NFS3ERR_NOSPC, c.ask<v3::SETATTR>(file, size_of(2000), no_guard));
  for (const char* name : {"f2", "f3", "f4"})
    co_await expect_reply(NFS3_OK, c.ask<v3::LINK>(file, entry(dir, name)));
  co_await expect_reply(NFS3ERR_MLINK, c.ask<v3::LINK>(file, entry(dir, "f5")));

  // What a stranger, who owns nothing here, may not.
  co_await expect_reply(NFS3ERR_PERM, a.ask<v3::SETATTR>(file, mode_of(0777), no_guard));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::SETATTR>(file, size_of(0), no_guard));
  co_await expect_reply(NFS3ERR_ACCES, a.pass<v3::WRITE>(writing(file, 0, "x")));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::CREATE>(entry(dir, "x"), guarded));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::MKDIR>(entry(dir, "x"), no_change()));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::SYMLINK>(entry(dir, "x"), text));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::MKNOD>(entry(dir, "x"), pipe));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::REMOVE>(entry(dir, "f")));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::RMDIR>(entry(top, "other")));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::RENAME>(entry(dir, "f"), entry(dir, "x")));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::LINK>(file, entry(dir, "x")));
  co_await expect_reply(NFS3_OK, c.ask<v3::SETATTR>(other, mode_of(0), no_guard));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::LOOKUP>(entry(other, "x")));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::READDIR>(other, start, v0, 4096u));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::READDIRPLUS>(other, start, v0, 4096u, 4096u));
  const handle secret = co_await c.file(dir, "secret");
  co_await expect_reply(NFS3_OK, c.ask<v3::SETATTR>(secret, mode_of(0), no_guard));
  co_await expect_reply(NFS3ERR_ACCES, a.ask<v3::READ>(secret, start, 1u));

  // The volume is full.
  co_await expect_reply(NFS3ERR_NOSPC, c.ask<v3::CREATE>(entry(dir, "x"), guarded));
  co_await expect_reply(NFS3ERR_NOSPC, c.ask<v3::MKDIR>(entry(dir, "x"), no_change()));
  co_await expect_reply(NFS3ERR_NOSPC, c.ask<v3::SYMLINK>(entry(dir, "x"), text));
  co_await expect_reply(NFS3ERR_NOSPC, c.ask<v3::MKNOD>(entry(dir, "x"), pipe));
}

server_setup small_setup(style written) {
  server_setup s;
  s.disk.exports = 2;
  s.disk.bytes_max = 1000;
  s.disk.file_bytes_max = 5000;
  s.disk.links_max = 4;
  s.disk.files_max = 6;  // two roots, two directories, two files
  s.exports = {"/srv no_root_squash", "/more no_root_squash"};
  s.written = written;
  return s;
}

DRIVER_TEST(nfs, "each procedure gives the statuses of RFC 1813 that a client can cause") {
  heddle::runtime rt(make());
  rt.run(with_nfs(fail_all, small_setup(style::straight)));
}

DRIVER_TEST(nfs, "the procedures by callbacks give the same statuses") {
  heddle::runtime rt(make());
  rt.run(with_nfs(fail_all, small_setup(style::callbacks)));
}

using statuses = std::set<nfsstat3>;

/// Makes the volume fail with each status in turn, and checks that the procedure gives those that
/// the RFC lists for it, and a listed one in place of the others.
template <class P, class Make>
task<> check_statuses(nfs_server& w, caller& c, statuses listed, statuses more, Make make) {
  for (const nfsstat3 each : {NFS3ERR_IO, NFS3ERR_STALE, NFS3ERR_BADHANDLE, NFS3ERR_SERVERFAULT})
    listed.insert(each);
  more.insert(NFS3ERR_JUKEBOX);
  more.insert(NFS3ERR_ACCES);
  for (const heddle::xdr::named_value& v : values_of(NFS3_OK)) {
    const auto status = static_cast<nfsstat3>(v.value);
    if (status == NFS3_OK) continue;
    w.disk.fail_next(status);
    const auto r = co_await c.pass<P>(make());
    if (listed.contains(status)) {
      EXPECT_EQ(r.status, status) << P::name;
    } else {
      EXPECT_TRUE(listed.contains(r.status) || more.contains(r.status))
          << P::name << " gives " << heddle::xdr::name_of(r.status) << " for " << v.name;
    }
  }
}

HEDDLE_TEST(nfs, "a status that RFC 1813 does not list for a procedure becomes a listed one") {
  heddle::runtime rt(std::make_unique<heddle::sim_driver>(), {});
  rt.run(with_nfs([](nfs_server& w) -> task<> {
    caller c(co_await heddle::tcp_connect(w.at));
    const handle top = w.top();
    const handle file = co_await c.file(top, "f");
    const statuses name_is_none{NFS3ERR_INVAL};
    const statuses makes{NFS3ERR_ACCES, NFS3ERR_EXIST,       NFS3ERR_NOTDIR, NFS3ERR_NOSPC,
                         NFS3ERR_ROFS,  NFS3ERR_NAMETOOLONG, NFS3ERR_DQUOT,  NFS3ERR_NOTSUPP};
    statuses makes_nodes = makes;
    makes_nodes.insert(NFS3ERR_BADTYPE);
    statuses links = makes;
    for (const nfsstat3 each : {NFS3ERR_XDEV, NFS3ERR_INVAL, NFS3ERR_MLINK}) links.insert(each);
    statuses renames = links;
    for (const nfsstat3 each : {NFS3ERR_NOENT, NFS3ERR_ISDIR, NFS3ERR_NOTEMPTY})
      renames.insert(each);
    const statuses lists{NFS3ERR_ACCES, NFS3ERR_NOTDIR, NFS3ERR_BAD_COOKIE, NFS3ERR_TOOSMALL};
    statuses lists_more = lists;
    lists_more.insert(NFS3ERR_NOTSUPP);
    const statuses none;

    const statuses sets{NFS3ERR_PERM, NFS3ERR_ACCES, NFS3ERR_INVAL,    NFS3ERR_NOSPC,
                        NFS3ERR_ROFS, NFS3ERR_DQUOT, NFS3ERR_NOT_SYNC, NFS3ERR_NOTSUPP};
    const statuses too_big{NFS3ERR_FBIG};
    const statuses finds{NFS3ERR_NOENT, NFS3ERR_ACCES, NFS3ERR_NOTDIR, NFS3ERR_NAMETOOLONG};
    const statuses reads_links{NFS3ERR_INVAL, NFS3ERR_ACCES, NFS3ERR_NOTSUPP};
    const statuses reads{NFS3ERR_NXIO, NFS3ERR_ACCES, NFS3ERR_INVAL};
    const statuses writes{NFS3ERR_ACCES, NFS3ERR_FBIG, NFS3ERR_DQUOT,
                          NFS3ERR_NOSPC, NFS3ERR_ROFS, NFS3ERR_INVAL};
    const statuses many_links{NFS3ERR_INVAL, NFS3ERR_MLINK};
    const statuses removes{NFS3ERR_NOENT, NFS3ERR_ACCES, NFS3ERR_NOTDIR, NFS3ERR_NAMETOOLONG,
                           NFS3ERR_ROFS};
    const statuses is_directory{NFS3ERR_INVAL, NFS3ERR_ISDIR};
    const statuses removes_directories{NFS3ERR_NOENT, NFS3ERR_ACCES,    NFS3ERR_INVAL,
                                       NFS3ERR_EXIST, NFS3ERR_NOTDIR,   NFS3ERR_NAMETOOLONG,
                                       NFS3ERR_ROFS,  NFS3ERR_NOTEMPTY, NFS3ERR_NOTSUPP};
    co_await check_statuses<v3::SETATTR>(w, c, sets, too_big,
                                         [&] { return nfs3::SETATTR3args{file, no_change(), {}}; });
    co_await check_statuses<v3::LOOKUP>(w, c, finds, name_is_none,
                                        [&] { return nfs3::LOOKUP3args{entry(top, "f")}; });
    co_await check_statuses<v3::ACCESS>(w, c, none, none,
                                        [&] { return nfs3::ACCESS3args{file, 1}; });
    co_await check_statuses<v3::READLINK>(w, c, reads_links, none,
                                          [&] { return nfs3::READLINK3args{file}; });
    co_await check_statuses<v3::READ>(w, c, reads, none,
                                      [&] { return nfs3::READ3args{file, 0, 1}; });
    co_await check_statuses<v3::WRITE>(w, c, writes, none, [&] { return writing(file, 0, "x"); });
    co_await check_statuses<v3::CREATE>(w, c, makes, name_is_none, [&] {
      return nfs3::CREATE3args{entry(top, "x"), create_as(createmode3::GUARDED, no_change())};
    });
    co_await check_statuses<v3::MKDIR>(
        w, c, makes, many_links, [&] { return nfs3::MKDIR3args{entry(top, "x"), no_change()}; });
    co_await check_statuses<v3::SYMLINK>(w, c, makes, name_is_none, [&] {
      return nfs3::SYMLINK3args{entry(top, "x"), {no_change(), nfs3::nfspath3("y")}};
    });
    co_await check_statuses<v3::MKNOD>(w, c, makes_nodes, name_is_none, [&] {
      return nfs3::MKNOD3args{entry(top, "x"), node_of_type(ftype3::NF3FIFO)};
    });
    co_await check_statuses<v3::REMOVE>(w, c, removes, is_directory,
                                        [&] { return nfs3::REMOVE3args{entry(top, "x")}; });
    co_await check_statuses<v3::RMDIR>(w, c, removes_directories, none,
                                       [&] { return nfs3::REMOVE3args{entry(top, "x")}; });
    co_await check_statuses<v3::RENAME>(
        w, c, renames, none, [&] { return nfs3::RENAME3args{entry(top, "x"), entry(top, "y")}; });
    co_await check_statuses<v3::LINK>(w, c, links, none,
                                      [&] { return nfs3::LINK3args{file, entry(top, "x")}; });
    co_await check_statuses<v3::READDIR>(w, c, lists, none,
                                         [&] { return nfs3::READDIR3args{top, 0, {}, 4096}; });
    co_await check_statuses<v3::READDIRPLUS>(
        w, c, lists_more, none, [&] { return nfs3::READDIRPLUS3args{top, 0, {}, 4096, 4096}; });
    co_await check_statuses<v3::FSSTAT>(w, c, none, none, [&] { return nfs3::FSSTAT3args{top}; });
    co_await check_statuses<v3::FSINFO>(w, c, none, none, [&] { return nfs3::FSINFO3args{top}; });
    co_await check_statuses<v3::PATHCONF>(w, c, none, none,
                                          [&] { return nfs3::PATHCONF3args{top}; });
    co_await check_statuses<v3::COMMIT>(w, c, none, none,
                                        [&] { return nfs3::COMMIT3args{file, 0, 0}; });
    user u(w.disk, root);
    const std::vector<std::string> left = co_await u.names(top);
    EXPECT_EQ(left, (std::vector<std::string>{".", "..", "f"}));
  }));
}

}  // namespace
}  // namespace nfs::test
