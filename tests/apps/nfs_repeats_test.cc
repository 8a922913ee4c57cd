// SPDX-License-Identifier: MIT
// Calls that are sent again: connections are cut at every byte of a call and at any time after it,
// and what was done once is not done twice; what a crash loses is written again.
#include <set>

#include "nfs_server_world.hh"

namespace nfs::test {
namespace {

using namespace std::chrono_literals;

/// The calls that must not be done twice, each for the names "old..." (there) and "new..." (not).
enum class change_call : std::uint8_t {
  create,
  make_directory,
  make_link,
  make_node,
  remove,
  remove_directory,
  rename,
  link,
  set,
  all
};

/// Makes what the call needs.
task<handle> prepare(caller& c, const handle& top, change_call what, const std::string& old) {
  if (what == change_call::remove_directory) co_return co_await c.directory(top, old);
  co_return co_await c.file(top, old);
}

task<nfsstat3> change(persistent& p, const handle& top, change_call what, const std::string& old,
                      const std::string& made, const handle& file, const nfs3::nfstime3& ctime) {
  const auto old_at = entry(top, old);
  const auto new_at = entry(top, made);
  switch (what) {
    case change_call::create: {
      const auto how = create_as(createmode3::GUARDED, mode_of(0600));
      const auto r = co_await p.ask<v3::CREATE>(new_at, how);
      co_return r.status;
    }
    case change_call::make_directory: {
      const auto r = co_await p.ask<v3::MKDIR>(new_at, mode_of(0700));
      co_return r.status;
    }
    case change_call::make_link: {
      const nfs3::symlinkdata3 text{no_change(), nfs3::nfspath3("x")};
      const auto r = co_await p.ask<v3::SYMLINK>(new_at, text);
      co_return r.status;
    }
    case change_call::make_node: {
      const auto pipe = node_of_type(ftype3::NF3FIFO);
      const auto r = co_await p.ask<v3::MKNOD>(new_at, pipe);
      co_return r.status;
    }
    case change_call::remove: {
      const auto r = co_await p.ask<v3::REMOVE>(old_at);
      co_return r.status;
    }
    case change_call::remove_directory: {
      const auto r = co_await p.ask<v3::RMDIR>(old_at);
      co_return r.status;
    }
    case change_call::rename: {
      const auto r = co_await p.ask<v3::RENAME>(old_at, new_at);
      co_return r.status;
    }
    case change_call::link: {
      const auto r = co_await p.ask<v3::LINK>(file, new_at);
      co_return r.status;
    }
    default: {
      const std::optional<nfs3::nfstime3> guard(ctime);
      const auto r = co_await p.ask<v3::SETATTR>(file, mode_of(0700), guard);
      co_return r.status;
    }
  }
}

/// What a run of change() with a cut gives, and how often it was sent again.
struct cut_result {
  nfsstat3 status;
  int repeats;
};

task<cut_result> cut_change(nfs_server& w, caller& c, change_call what, int number,
                            std::optional<std::size_t> at, std::optional<heddle::nanoseconds> after,
                            std::size_t& bytes) {
  const std::string old = "old" + std::to_string(number);
  const std::string made = "new" + std::to_string(number);
  const handle in = w.top();
  const handle file = co_await prepare(c, in, what, old);
  const auto now = co_await c.ask<v3::GETATTR>(file);
  const nfs3::nfstime3 ctime = now.resok().obj_attributes.ctime;
  persistent p(w.at, as(root, "cut" + std::to_string(number)));
  p.cut_at = at;
  p.cut_after = after;
  const handle top = w.top();
  const nfsstat3 status = co_await change(p, top, what, old, made, file, ctime);
  bytes = p.record_bytes;
  co_return cut_result{status, p.repeats};
}

server_setup slow_disk() {
  server_setup s;
  s.disk.delay_max = 1ms;
  return s;
}

HEDDLE_TEST(nfs_repeats, "a change whose connection is cut at any byte of the call is made once") {
  heddle::runtime rt(std::make_unique<heddle::sim_driver>(), {});
  rt.run(with_nfs(
      [](nfs_server& w) -> task<> {
        caller c(co_await heddle::tcp_connect(w.at));
        int number = 0;
        for (int call = 0; call != static_cast<int>(change_call::all); ++call) {
          const auto what = static_cast<change_call>(call);
          std::size_t bytes = 1;
          for (std::size_t at = 0; at <= bytes; ++at) {
            const cut_result r = co_await cut_change(w, c, what, ++number, at, {}, bytes);
            EXPECT_EQ(r.status, NFS3_OK) << "call " << call << " cut at byte " << at;
            EXPECT_EQ(r.repeats, 1);
          }
          EXPECT_GT(bytes, 100u);
        }
      },
      slow_disk()));
}

/// How many calls fail if each is cut at some time after it was sent.
task<> count_failures(nfs_server& w, int& failures) {
  caller c(co_await heddle::tcp_connect(w.at));
  int number = 0;
  std::size_t bytes = 0;
  for (int call = 0; call != static_cast<int>(change_call::all); ++call)
    for (auto after = 0us; after <= 2000us; after += 50us) {
      const auto what = static_cast<change_call>(call);
      const cut_result r = co_await cut_change(w, c, what, ++number, {}, after, bytes);
      if (r.status != NFS3_OK) ++failures;
      EXPECT_EQ(r.repeats, 1);
    }
}

HEDDLE_TEST(nfs_repeats,
            "a change whose connection is cut at any time after the call is made once") {
  for (const style written : {style::straight, style::callbacks}) {
    heddle::runtime rt(std::make_unique<heddle::sim_driver>(), {});
    int failures = 0;
    server_setup s = slow_disk();
    s.written = written;
    rt.run(
        with_nfs([&failures](nfs_server& w) -> task<> { return count_failures(w, failures); }, s));
    EXPECT_EQ(failures, 0);
  }
}

HEDDLE_TEST(nfs_repeats,
            "without kept replies, changes that were made fail when they are sent again") {
  heddle::runtime rt(std::make_unique<heddle::sim_driver>(), {});
  int failures = 0;
  server_setup s = slow_disk();
  s.procedures.repeats.time = 1ns;
  rt.run(with_nfs([&failures](nfs_server& w) -> task<> { return count_failures(w, failures); }, s));
  EXPECT_GT(failures, 50);
}

DRIVER_TEST(nfs_repeats, "a repeat over a new connection gets the first reply") {
  heddle::runtime rt(make());
  rt.run(with_nfs([](nfs_server& w) -> task<> {
    const auto how = create_as(createmode3::GUARDED, mode_of(0600));
    const auto at = entry(w.top(), "f");
    persistent first(w.at, as(root), 77);
    const auto made = co_await first.ask<v3::CREATE>(at, how);
    EXPECT_EQ(made.status, NFS3_OK);
    persistent again(w.at, as(root), 77);
    const auto repeated = co_await again.ask<v3::CREATE>(at, how);
    EXPECT_EQ(repeated, made);
    // Another user, number or machine, and other arguments are no repeats.
    const identity clerk_of_root{1000, 0, {}};
    persistent stranger(w.at, as(clerk_of_root), 77);
    const auto other_user = co_await stranger.ask<v3::CREATE>(at, how);
    EXPECT_NE(other_user.status, NFS3_OK);
    const auto other_number = co_await again.ask<v3::CREATE>(at, how);
    EXPECT_EQ(other_number.status, NFS3ERR_EXIST);
    persistent other(w.at, as(root, "other"), 77);
    const auto other_machine = co_await other.ask<v3::CREATE>(at, how);
    EXPECT_EQ(other_machine.status, NFS3ERR_EXIST);
    persistent third(w.at, as(root), 77);
    const auto at2 = entry(w.top(), "g");
    const auto other_arguments = co_await third.ask<v3::CREATE>(at2, how);
    EXPECT_EQ(other_arguments.status, NFS3_OK);
    EXPECT_NE(other_arguments, made);
    EXPECT_EQ(w.files.kept().kept(), 5u);
  }));
}

HEDDLE_TEST(nfs_repeats, "kept replies have limits of number, bytes and time") {
  heddle::runtime rt(std::make_unique<heddle::sim_driver>(), {});
  server_setup s;
  s.procedures.repeats.calls_max = 10;
  s.procedures.repeats.time = 60s;
  rt.run(with_nfs(
      [](nfs_server& w) -> task<> {
        const auto how = create_as(createmode3::GUARDED, mode_of(0600));
        const auto create = [&](std::uint32_t number) -> task<nfsstat3> {
          persistent p(w.at, as(root), number);
          const auto at = entry(w.top(), "f" + std::to_string(number));
          const auto r = co_await p.ask<v3::CREATE>(at, how);
          co_return r.status;
        };
        for (std::uint32_t i = 0; i != 30; ++i) {
          const nfsstat3 r = co_await create(i);
          EXPECT_EQ(r, NFS3_OK);
        }
        EXPECT_EQ(w.files.kept().kept(), 10u);
        const nfsstat3 kept = co_await create(25);
        EXPECT_EQ(kept, NFS3_OK);
        const nfsstat3 dropped = co_await create(5);
        EXPECT_EQ(dropped, NFS3ERR_EXIST);
        co_await heddle::sleep_for(61s);
        const nfsstat3 too_late = co_await create(26);
        EXPECT_EQ(too_late, NFS3ERR_EXIST);
      },
      s));

  heddle::runtime small_rt(std::make_unique<heddle::sim_driver>(), {});
  s.procedures.repeats = {};
  s.procedures.repeats.bytes_max = 4096;
  small_rt.run(with_nfs(
      [](nfs_server& w) -> task<> {
        persistent p(w.at, as(root));
        for (int i = 0; i != 100; ++i) {
          const auto at = entry(w.top(), "d" + std::to_string(i));
          const auto r = co_await p.ask<v3::MKDIR>(at, no_change());
          EXPECT_EQ(r.status, NFS3_OK);
        }
        EXPECT_GE(w.files.kept().kept(), 2u);
        EXPECT_LE(w.files.kept().kept(), 16u);
      },
      s));

  // One client alone may have as many as the page promises.
  heddle::runtime large_rt(std::make_unique<heddle::sim_driver>(), {});
  s.procedures.repeats = {};
  large_rt.run(with_nfs(
      [](nfs_server& w) -> task<> {
        persistent p(w.at, as(root));
        for (int i = 0; i != 1100; ++i) {
          const auto at = entry(w.top(), "d" + std::to_string(i));
          const auto r = co_await p.ask<v3::MKDIR>(at, no_change());
          EXPECT_EQ(r.status, NFS3_OK);
        }
        EXPECT_EQ(w.files.kept().kept(), 1024u);
      },
      s));
}

HEDDLE_TEST(nfs_repeats, "what a crash loses is written again when the verifier shows it") {
  for (const bool callbacks : {false, true}) {
    heddle::runtime rt(std::make_unique<heddle::sim_driver>(), {});
    server_setup s;
    s.written = callbacks ? style::callbacks : style::straight;
    rt.run(with_nfs(
        [](nfs_server& w) -> task<> {
          caller c(co_await heddle::tcp_connect(w.at));
          const handle file = co_await c.file(w.top(), "f");
          std::string whole;
          std::set<nfs3::writeverf3> verifiers;
          for (int i = 0; i != 10; ++i) {
            const std::string part(1000, static_cast<char>('a' + i));
            const auto r = co_await c.pass<v3::WRITE>(writing(file, whole.size(), part));
            EXPECT_EQ(r.resok().committed, stable_how::UNSTABLE);
            verifiers.insert(r.resok().verf);
            whole += part;
            if (i == 4) w.disk.crash();
          }
          EXPECT_EQ(verifiers.size(), 2u);
          const auto first = co_await c.ask<v3::COMMIT>(file, std::uint64_t{0}, 0u);
          EXPECT_EQ(first.status, NFS3_OK);
          const auto lost = co_await c.ask<v3::READ>(file, std::uint64_t{0}, 10'000u);
          EXPECT_TRUE(lost.resok().data.to_string() != whole);
          co_await expect_reply(NFS3_OK, c.pass<v3::WRITE>(writing(file, 0, whole)));
          w.disk.fail_syncs(1);
          co_await expect_reply(NFS3ERR_IO, c.ask<v3::COMMIT>(file, std::uint64_t{0}, 0u));
          co_await expect_reply(NFS3_OK, c.pass<v3::WRITE>(writing(file, 0, whole)));
          const auto last = co_await c.ask<v3::COMMIT>(file, std::uint64_t{0}, 0u);
          EXPECT_NE(last.resok().verf, first.resok().verf);
          w.disk.crash();
          const auto read = co_await c.ask<v3::READ>(file, std::uint64_t{0}, 10'000u);
          EXPECT_TRUE(read.resok().data.to_string() == whole);
        },
        s));
  }
}

}  // namespace
}  // namespace nfs::test
