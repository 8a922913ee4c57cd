// SPDX-License-Identifier: MIT
// Exports and MOUNT over RPC: who may use which export as whom, how names become handles; and the
// limits of the server, which shares one port between several workers.
#include "heddle/rpc/port_mapper.hh"
#include "nfs_server_world.hh"
#include "service.hh"

namespace nfs::test {
namespace {

using enum mount3::mountstat3;

const identity clerk{1000, 100, {}};

server_setup five_exports() {
  server_setup s;
  s.disk.exports = 5;
  s.disk.root_mode = 0777;
  s.exports = {"/srv -rw 127.0.0.0/8", "/all -rw 127.0.0.0/8 all_squash anonuid=77 anongid=88",
               "/fixed -ro 127.0.0.0/8 no_root_squash", "/far -rw 10.0.0.0/8",
               "/secure -rw 127.0.0.0/8 secure"};
  return s;
}

/// The owner of a new file.
task<std::pair<std::uint32_t, std::uint32_t>> maker_of_files(nfs_server& w, std::uint32_t number,
                                                             rpc::credentials who) {
  static int made = 0;
  const std::string name = "f" + std::to_string(++made);
  caller c(co_await heddle::tcp_connect(w.at), std::move(who));
  const handle file = co_await c.file(w.top(number), name);
  const auto a = co_await c.ask<v3::GETATTR>(file);
  co_return std::pair(a.resok().obj_attributes.uid, a.resok().obj_attributes.gid);
}

DRIVER_TEST(nfs, "an export's rules decide who may use it, and as whom") {
  heddle::runtime rt(make());
  rt.run(with_nfs(
      [](nfs_server& w) -> task<> {
        using ids = std::pair<std::uint32_t, std::uint32_t>;
        const rpc::credentials by_clerk = as(clerk);
        const rpc::credentials by_root = as(root);
        const rpc::credentials by_nobody;
        EXPECT_EQ(co_await maker_of_files(w, 0, by_clerk), ids(1000, 100));
        EXPECT_EQ(co_await maker_of_files(w, 0, by_root), ids(65534, 65534));
        EXPECT_EQ(co_await maker_of_files(w, 0, by_nobody), ids(65534, 65534));
        EXPECT_EQ(co_await maker_of_files(w, 1, by_clerk), ids(77, 88));
        EXPECT_EQ(co_await maker_of_files(w, 1, by_root), ids(77, 88));

        caller c(co_await heddle::tcp_connect(w.at));
        const handle fixed = w.top(2);
        const std::optional<nfs3::nfstime3> no_guard;
        const auto how = create_as(createmode3::GUARDED, no_change());
        const nfs3::symlinkdata3 text{no_change(), nfs3::nfspath3("x")};
        const auto pipe = node_of_type(ftype3::NF3FIFO);
        co_await expect_reply(NFS3_OK, c.ask<v3::GETATTR>(fixed));
        co_await expect_reply(NFS3ERR_ROFS, c.ask<v3::SETATTR>(fixed, no_change(), no_guard));
        co_await expect_reply(NFS3ERR_ROFS, c.pass<v3::WRITE>(writing(fixed, 0, "x")));
        co_await expect_reply(NFS3ERR_ROFS, c.ask<v3::CREATE>(entry(fixed, "x"), how));
        co_await expect_reply(NFS3ERR_ROFS, c.ask<v3::MKDIR>(entry(fixed, "x"), no_change()));
        co_await expect_reply(NFS3ERR_ROFS, c.ask<v3::SYMLINK>(entry(fixed, "x"), text));
        co_await expect_reply(NFS3ERR_ROFS, c.ask<v3::MKNOD>(entry(fixed, "x"), pipe));
        co_await expect_reply(NFS3ERR_ROFS, c.ask<v3::REMOVE>(entry(fixed, "x")));
        co_await expect_reply(NFS3ERR_ROFS, c.ask<v3::RMDIR>(entry(fixed, "x")));
        co_await expect_reply(NFS3ERR_ROFS,
                              c.ask<v3::RENAME>(entry(fixed, "x"), entry(fixed, "y")));
        co_await expect_reply(NFS3ERR_ROFS, c.ask<v3::LINK>(fixed, entry(fixed, "x")));
        const auto access = co_await c.ask<v3::ACCESS>(fixed, 0x3fu);
        EXPECT_EQ(access.resok().access, nfs3::ACCESS3_READ | nfs3::ACCESS3_LOOKUP);
        for (const std::uint32_t number : {3u, 4u}) {
          co_await expect_reply(NFS3ERR_ACCES, c.ask<v3::GETATTR>(w.top(number)));
          co_await expect_reply(NFS3ERR_ACCES,
                                c.ask<v3::MKDIR>(entry(w.top(number), "x"), no_change()));
        }
        // The second handle of a call does not get around the rules of its export.
        co_await expect_reply(NFS3_OK, c.ask<v3::MKDIR>(entry(w.top(0), "d"), no_change()));
        for (const std::uint32_t number : {1u, 2u, 3u, 4u})
          co_await expect_reply(NFS3ERR_XDEV,
                                c.ask<v3::RENAME>(entry(w.top(0), "d"), entry(w.top(number), "d")));
      },
      five_exports()));
}

DRIVER_TEST(nfs, "MOUNT gives handles of exports and of folders below, and tells who has them") {
  heddle::runtime rt(make());
  rt.run(with_nfs(
      [](nfs_server& w) -> task<> {
        caller c(co_await heddle::tcp_connect(w.at), clerk);
        const handle dir = co_await c.directory(w.top(0), "d");
        const handle below = co_await c.directory(dir, "e");
        co_await c.file(dir, "f");
        const auto mounted = [&](std::string path) {
          return c.pass<mount_v3::MNT>(mount3::dirpath(std::move(path)));
        };
        co_await c.get<mount_v3::NULL_>();
        for (const auto& [path, at] :
             {std::pair("/srv", w.top(0)), std::pair("/srv/", w.top(0)),
              std::pair("/all", w.top(1)), std::pair("/srv/d", dir), std::pair("/srv/d/e", below),
              std::pair("/srv//d/./e/", below)}) {
          const auto r = co_await mounted(path);
          EXPECT_EQ(r.fhs_status, MNT3_OK) << path;
          if (r.fhs_status != MNT3_OK) continue;
          EXPECT_EQ(r.mountinfo().fhandle, at.data) << path;
          EXPECT_EQ(r.mountinfo().auth_flavors, (heddle::xdr::list<std::int32_t>{1}));
        }
        for (const auto& [path, wanted] :
             {std::pair("/none", MNT3ERR_NOENT), std::pair("", MNT3ERR_NOENT),
              std::pair("/srvx", MNT3ERR_NOENT), std::pair("/srv/none", MNT3ERR_NOENT),
              std::pair("/srv/d/f", MNT3ERR_NOTDIR), std::pair("/srv/../all", MNT3ERR_INVAL),
              std::pair("/far", MNT3ERR_ACCES), std::pair("/secure", MNT3ERR_ACCES)}) {
          const auto r = co_await mounted(path);
          EXPECT_EQ(r.fhs_status, wanted) << path;
        }
        const auto long_name = co_await mounted("/srv/" + std::string(300, 'x'));
        EXPECT_EQ(long_name.fhs_status, MNT3ERR_NAMETOOLONG);

        const auto paths = [&]() -> task<std::vector<std::string>> {
          std::vector<std::string> all;
          const mount3::mountlist first = co_await c.get<mount_v3::DUMP>();
          for (const auto* m = first.get(); m != nullptr; m = m->ml_next.get())
            all.push_back(m->ml_directory);
          std::sort(all.begin(), all.end());
          co_return all;
        };
        const std::vector<std::string> told = co_await paths();
        EXPECT_EQ(told, (std::vector<std::string>{"/all", "/srv", "/srv/", "/srv//d/./e/", "/srv/d",
                                                  "/srv/d/e"}));
        co_await c.pass<mount_v3::UMNT>(mount3::dirpath("/srv/d"));
        const std::vector<std::string> fewer = co_await paths();
        EXPECT_EQ(fewer.size(), 5u);
        co_await c.get<mount_v3::UMNTALL>();
        const std::vector<std::string> none = co_await paths();
        EXPECT_TRUE(none.empty());
        co_await expect_reply(NFS3_OK, c.ask<v3::GETATTR>(dir));  // a handle needs no entry

        std::string exported;
        const mount3::exports first = co_await c.get<mount_v3::EXPORT>();
        for (const auto* e = first.get(); e != nullptr; e = e->ex_next.get()) {
          exported += e->ex_dir;
          for (const auto* g = e->ex_groups.get(); g != nullptr; g = g->gr_next.get())
            exported += " " + g->gr_name;
          exported += ";";
        }
        EXPECT_EQ(exported,
                  "/srv 127.0.0.0/8;/all 127.0.0.0/8;/fixed 127.0.0.0/8;/far 10.0.0.0/8;"
                  "/secure 127.0.0.0/8;");
      },
      five_exports()));
}

HEDDLE_TEST(nfs, "the list of mounts has a limit, and drops the oldest") {
  heddle::runtime rt(std::make_unique<heddle::sim_driver>(), {});
  rt.run(with_nfs([](nfs_server& w) -> task<> {
    caller c(co_await heddle::tcp_connect(w.at));
    co_await c.directory(w.top(), "d");
    std::string path = "/srv/d";
    int made = 0;
    for (; path.size() < 1000; path += '/') {  // another text for the same folder each time
      const auto r = co_await c.pass<mount_v3::MNT>(mount3::dirpath(path));
      EXPECT_EQ(r.fhs_status, MNT3_OK);
      ++made;
    }
    for (; made < 1030; ++made) {
      path = "/srv/./" + std::string(static_cast<std::size_t>(made - 990), '/') + "d";
      static_cast<void>(co_await c.pass<mount_v3::MNT>(mount3::dirpath(path)));
    }
    const mount3::mountlist first = co_await c.get<mount_v3::DUMP>();
    std::size_t count = 0;
    for (const auto* m = first.get(); m != nullptr; m = m->ml_next.get()) ++count;
    EXPECT_EQ(count, 1024u);
  }));
}

DRIVER_TEST(nfs, "transfers of a megabyte pass, and longer ones are refused or cut") {
  heddle::runtime rt(make());
  rt.run(with_nfs([](nfs_server& w) -> task<> {
    caller c(co_await heddle::tcp_connect(w.at));
    const handle file = co_await c.file(w.top(), "f");
    std::string big(transfer_bytes_max, '\0');
    for (std::size_t i = 0; i != big.size(); ++i) big[i] = static_cast<char>(i * 2654435761u >> 11);
    co_await expect_reply(NFS3_OK, c.pass<v3::WRITE>(writing(file, 0, big, stable_how::FILE_SYNC)));
    co_await expect_reply(NFS3_OK, c.pass<v3::WRITE>(writing(file, big.size(), big)));
    const auto all = co_await c.ask<v3::READ>(file, std::uint64_t{0}, transfer_bytes_max);
    EXPECT_TRUE(all.resok().data.to_string() == big);
    EXPECT_FALSE(all.resok().eof);
    const auto more = co_await c.ask<v3::READ>(file, std::uint64_t{5}, transfer_bytes_max + 1000);
    EXPECT_EQ(more.resok().count, transfer_bytes_max) << "a longer READ is cut";
    const auto longer = co_await c.pass<v3::WRITE>(writing(file, 0, big + "x"));
    EXPECT_EQ(longer.status, NFS3ERR_INVAL);
    // A record that is longer than the server takes ends the connection.
    const std::string too_long(big.size() + 8192, 'x');
    bool ended = false;
    try {
      static_cast<void>(co_await c.pass<v3::WRITE>(writing(file, 0, too_long)));
    } catch (const std::system_error&) {
      ended = true;
    }
    EXPECT_TRUE(ended);
    EXPECT_EQ(w.server.counters().broken, 1u);
    caller again(co_await heddle::tcp_connect(w.at));
    const auto size = co_await again.ask<v3::GETATTR>(file);
    EXPECT_EQ(size.resok().obj_attributes.size, 2 * big.size());
  }));
}

HEDDLE_TEST(nfs, "a listing over RPC fits the bytes that the client allows, whatever they are") {
  heddle::runtime rt(std::make_unique<heddle::sim_driver>(), {});
  rt.run(with_nfs([](nfs_server& w) -> task<> {
    caller c(co_await heddle::tcp_connect(w.at));
    for (int i = 0; i != 60; ++i)
      co_await c.file(w.top(), std::string(static_cast<std::size_t>(1 + i * 4), 'n') + "!");
    for (std::uint32_t bytes = 0; bytes != 1200; bytes += 20) {
      const auto names =
          co_await c.ask<v3::READDIR>(w.top(), std::uint64_t{0}, nfs3::cookieverf3{}, bytes);
      if (names.status == NFS3_OK)
        EXPECT_LE(heddle::xdr::encode(names.resok()).size(), bytes);
      else
        EXPECT_EQ(names.status, NFS3ERR_TOOSMALL);
      const auto plus = co_await c.ask<v3::READDIRPLUS>(w.top(), std::uint64_t{0},
                                                        nfs3::cookieverf3{}, 4096u, bytes);
      if (plus.status == NFS3_OK)
        EXPECT_LE(heddle::xdr::encode(plus.resok()).size(), bytes);
      else
        EXPECT_EQ(plus.status, NFS3ERR_TOOSMALL);
      if (bytes >= 400) {
        EXPECT_EQ(names.status, NFS3_OK);
        EXPECT_EQ(plus.status, NFS3_OK);
      }
    }
  }));
}

task<> use_service(memory_volume& disk, const export_list& exports, unsigned servers) {
  service_options o;
  o.servers = servers;
  service files(disk, exports, o);
  const address at = co_await files.listen(address::loopback(0));
  co_await files.listen_as_port_mapper(address::loopback(0));
  scope serving;
  serving.spawn(files.serve());
  std::vector<handle> made;
  for (int i = 0; i != 8; ++i) {
    caller c(co_await heddle::tcp_connect(at));
    const auto r = co_await c.pass<mount_v3::MNT>(mount3::dirpath("/srv"));
    const handle top{r.mountinfo().fhandle};
    made.push_back(co_await c.file(top, "f" + std::to_string(i)));
    co_await expect_reply(NFS3_OK, c.pass<v3::WRITE>(writing(made.back(), 0, "data")));
  }
  caller c(co_await heddle::tcp_connect(at));
  for (const handle& h : made) {
    const auto read = co_await c.ask<v3::READ>(h, std::uint64_t{0}, 100u);
    EXPECT_EQ(read.resok().data.to_string(), "data");
  }
  c.client().close();
  co_await files.stop();
  co_await serving.join();
  EXPECT_EQ(files.counters().connections, 9u);
  EXPECT_EQ(files.counters().open, 0u);
  EXPECT_EQ(files.files().counters().calls.load(), 8u * 2 + 8);
  EXPECT_EQ(files.files().counters().bytes_written.load(), 32u);
  EXPECT_EQ(files.files().counters().bytes_read.load(), 32u);
}

DRIVER_TEST(nfs, "a service of several servers answers at one address, on one worker and on two") {
  for (const unsigned workers : {1u, 2u}) {
    if (workers > 1 && !make.real()) continue;
    heddle::runtime_options o;
    o.workers = workers;
    heddle::runtime rt(make(), o);
    memory_volume disk;
    const export_list exports = parse_all({"/srv no_root_squash"});
    rt.run(use_service(disk, exports, workers));
    EXPECT_EQ(disk.mistake(), "");
  }
}

}  // namespace
}  // namespace nfs::test
