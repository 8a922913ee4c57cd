// SPDX-License-Identifier: MIT
// memory_volume by itself: handles, permissions, contents, names, limits and faults.
#include "nfs_world.hh"

namespace nfs::test {
namespace {

using body = task<> (*)(memory_volume&);

/// Runs one test in the simulation; the tree must hold together at its end.
void on_volume(body f, memory_options o = {}) {
  heddle::runtime rt(std::make_unique<heddle::sim_driver>(), {});
  memory_volume v(o);
  rt.run(f(v));
  EXPECT_EQ(v.mistake(), "");
}

const identity ann{1000, 100, {200}};
const identity bob{1001, 100, {}};
const identity eve{1002, 300, {}};

/// A directory in which everybody may do everything.
task<handle> open_directory_of(memory_volume& v, std::string name, std::uint32_t mode = 0777) {
  user r(v, root);
  co_return co_await handle_from(r.make_directory(v.root(0), std::move(name), mode));
}

HEDDLE_TEST(nfs_volume,
            "a handle with any bit changed is refused, and one of a removed file is stale") {
  on_volume(+[](memory_volume& v) -> task<> {
    user u(v, root);
    const handle file = co_await handle_from(u.create(v.root(0), "a"));
    EXPECT_TRUE(v.locate(file));
    EXPECT_EQ(v.locate(file)->color, heddle::color(1));
    for (std::size_t bit = 0; bit != file.data.size() * 8; ++bit) {
      handle other = file;
      other.data[bit / 8] = static_cast<char>(other.data[bit / 8] ^ (1 << bit % 8));
      EXPECT_FALSE(v.locate(other)) << "bit " << bit;
      co_await expect(NFS3ERR_BADHANDLE, u.attributes(other));
    }
    handle shorter = file;
    shorter.data.pop_back();
    EXPECT_FALSE(v.locate(shorter));
    handle longer = file;
    longer.data.push_back('\0');
    EXPECT_FALSE(v.locate(longer));
    EXPECT_FALSE(v.locate(handle{}));
    EXPECT_FALSE(v.locate(v.root(1))) << "there is one export";

    co_await expect(NFS3_OK, u.remove(v.root(0), "a"));
    EXPECT_TRUE(v.locate(file));
    co_await expect(NFS3ERR_STALE, u.attributes(file));
    const handle again = co_await handle_from(u.create(v.root(0), "a"));
    EXPECT_NE(again, file);
    co_await expect(NFS3ERR_STALE, u.read(file));
  });
}

HEDDLE_TEST(nfs_volume,
            "an object that was removed while it was open is stale for all that follows") {
  on_volume(+[](memory_volume& v) -> task<> {
    user u(v, root);
    const handle file = co_await handle_from(u.create(v.root(0), "a"));
    const handle dir = co_await handle_from(u.make_directory(v.root(0), "d"));
    const object_ptr f = co_await must(v.open(file));
    const object_ptr d = co_await must(v.open(dir));
    co_await expect(NFS3_OK, u.remove(v.root(0), "a"));
    co_await expect(NFS3_OK, u.remove_directory(v.root(0), "d"));
    const sattr3 to = mode_of(0600);
    const nfs3::createhow3 how = exclusively(1);
    const std::string name = "x";
    const std::optional<nfs3::nfstime3> guard;
    const heddle::chain data(std::string("x"));
    nfs3::wcc_data seen;
    co_await expect(NFS3ERR_STALE, v.attributes(*f));
    co_await expect(NFS3ERR_STALE, v.set(*f, to, guard, root, seen));
    co_await expect(NFS3ERR_STALE, v.access(*f, 1, root));
    co_await expect(NFS3ERR_STALE, v.read_link(*f, root));
    co_await expect(NFS3ERR_STALE, v.read(*f, 0, 1, root));
    co_await expect(NFS3ERR_STALE, v.write(*f, 0, data, stable_how::UNSTABLE, root, seen));
    co_await expect(NFS3ERR_STALE, v.commit(*f, seen));
    const handle top = v.root(0);
    co_await expect(NFS3ERR_STALE, v.lookup(*d, name, root));
    co_await expect(NFS3ERR_STALE, v.create(*d, name, how, root, seen));
    co_await expect(NFS3ERR_STALE, v.remove(*d, name, root, seen));
    co_await expect(NFS3ERR_STALE, v.list(*d, {}, root));
    co_await expect(NFS3ERR_STALE, v.space(*d));
    co_await expect(NFS3ERR_STALE, v.limits(*d));
    EXPECT_FALSE(seen.before);
    EXPECT_FALSE(seen.after);
    co_await expect(NFS3ERR_STALE, v.link(*f, top, name, root, seen));
  });
}

HEDDLE_TEST(nfs_volume, "mode bits decide by exactly one of owner, group and others") {
  on_volume(+[](memory_volume& v) -> task<> {
    const handle dir = co_await open_directory_of(v, "d");
    user a(v, ann);
    user b(v, bob);
    user e(v, eve);
    user r(v, root);
    for (std::uint32_t mode = 0; mode <= 0777; mode += 9) {
      const std::string name = "f" + std::to_string(mode);
      const handle file = co_await handle_from(a.create(dir, name, mode));
      const auto bits = [](std::uint32_t digit) {
        return ((digit & 4) != 0 ? nfs3::ACCESS3_READ : 0u) |
               ((digit & 2) != 0 ? nfs3::ACCESS3_MODIFY | nfs3::ACCESS3_EXTEND : 0u) |
               ((digit & 1) != 0 ? nfs3::ACCESS3_EXECUTE : 0u);
      };
      EXPECT_EQ(co_await must(a.access(file)), bits(mode >> 6)) << mode;
      EXPECT_EQ(co_await must(b.access(file)), bits(mode >> 3)) << mode;
      EXPECT_EQ(co_await must(e.access(file)), bits(mode)) << mode;
      EXPECT_EQ(co_await must(r.access(file)), bits((mode & 0111) != 0 ? 7 : 6)) << mode;
      const bool reads = (mode & 5) != 0;  // what may be executed may be read
      co_await expect(reads ? NFS3_OK : NFS3ERR_ACCES, e.read(file));
      co_await expect((mode & 2) != 0 ? NFS3_OK : NFS3ERR_ACCES, e.write(file, "x"));
      co_await expect(NFS3_OK, a.read(file));
      co_await expect(NFS3_OK, a.write(file, "x"));
      co_await expect(NFS3_OK, r.write(file, "x"));
    }
    const handle group = co_await handle_from(r.create(dir, "group", 0040));
    sattr3 to = no_change();
    to.gid = 200;
    co_await expect(NFS3_OK, r.set(group, to));
    co_await expect(NFS3_OK, a.read(group));  // by one of the further groups
    co_await expect(NFS3ERR_ACCES, b.read(group));
  });
}

HEDDLE_TEST(nfs_volume,
            "directories ask for execution to find, reading to list, both bits to change") {
  on_volume(+[](memory_volume& v) -> task<> {
    user r(v, root);
    user e(v, eve);
    for (std::uint32_t mode = 0; mode != 8; ++mode) {
      const handle dir = co_await open_directory_of(v, "d" + std::to_string(mode), mode);
      co_await expect(NFS3_OK, r.create(dir, "old", 0666));
      const bool finds = (mode & 1) != 0;
      const bool changes = (mode & 3) == 3;
      const nfsstat3 changed = changes ? NFS3_OK : NFS3ERR_ACCES;
      co_await expect(finds ? NFS3_OK : NFS3ERR_ACCES, e.lookup(dir, "old"));
      co_await expect((mode & 4) != 0 ? NFS3_OK : NFS3ERR_ACCES, e.list(dir));
      co_await expect(changed, e.create(dir, "a"));
      co_await expect(changed, e.make_directory(dir, "b"));
      co_await expect(changed, e.make_link(dir, "c", "a"));
      co_await expect(changed, e.make_node(dir, "d", node_of_type(ftype3::NF3FIFO)));
      co_await expect(changed, e.remove(dir, "old"));
      if (changes) co_await expect(NFS3_OK, e.rename(dir, "a", dir, "f"));
      if (changes) co_await expect(NFS3_OK, e.remove_directory(dir, "b"));
      EXPECT_EQ(
          co_await must(e.access(dir)),
          ((mode & 4) != 0 ? nfs3::ACCESS3_READ : 0u) | (finds ? nfs3::ACCESS3_LOOKUP : 0u) |
              (changes ? nfs3::ACCESS3_MODIFY | nfs3::ACCESS3_EXTEND | nfs3::ACCESS3_DELETE : 0u));
    }
  });
}

HEDDLE_TEST(nfs_volume, "in a sticky directory only the owners take entries away") {
  on_volume(+[](memory_volume& v) -> task<> {
    const handle dir = co_await open_directory_of(v, "tmp", 01777);
    user a(v, ann);
    user e(v, eve);
    user r(v, root);
    for (const char* name : {"1", "2", "3"}) co_await expect(NFS3_OK, a.create(dir, name));
    co_await expect(NFS3_OK, e.create(dir, "mine"));
    co_await expect(NFS3ERR_ACCES, e.remove(dir, "1"));
    co_await expect(NFS3ERR_ACCES, e.rename(dir, "1", dir, "4"));
    co_await expect(NFS3ERR_ACCES, e.rename(dir, "mine", dir, "1"));
    co_await expect(NFS3_OK, a.remove(dir, "1"));
    co_await expect(NFS3_OK, r.remove(dir, "2"));
    co_await expect(NFS3_OK, e.rename(dir, "mine", dir, "own"));
  });
}

HEDDLE_TEST(nfs_volume, "only owners change modes and times, and only root gives files away") {
  on_volume(+[](memory_volume& v) -> task<> {
    const handle dir = co_await open_directory_of(v, "d");
    user a(v, ann);
    user b(v, bob);
    user r(v, root);
    const handle file = co_await handle_from(a.create(dir, "f", 0666));
    co_await expect(NFS3ERR_PERM, b.set(file, mode_of(0600)));
    sattr3 to = no_change();
    to.mtime.set(time_how::SET_TO_CLIENT_TIME);
    to.mtime.time() = {7, 8};
    co_await expect(NFS3ERR_PERM, b.set(file, to));
    co_await expect(NFS3_OK, a.set(file, to));
    const nfs3::fattr3 dated = co_await must(a.attributes(file));
    EXPECT_EQ(dated.mtime, (nfs3::nfstime3{7, 8}));
    to.mtime.time().nseconds = 1'000'000'000;
    co_await expect(NFS3ERR_INVAL, a.set(file, to));
    to = no_change();
    to.atime.set(time_how::SET_TO_SERVER_TIME);
    co_await expect(NFS3_OK, b.set(file, to));  // who may write may say "now"
    co_await expect(NFS3_OK, a.set(file, mode_of(0644)));
    co_await expect(NFS3ERR_ACCES, b.set(file, to));
    co_await expect(NFS3ERR_ACCES, b.set(file, size_of(0)));

    to = no_change();
    to.uid = 1001;
    co_await expect(NFS3ERR_PERM, a.set(file, to));
    to.uid = 1000;
    co_await expect(NFS3_OK, a.set(file, to));
    to = no_change();
    to.gid = 200;
    co_await expect(NFS3_OK, a.set(file, to));
    to.gid = 300;
    co_await expect(NFS3ERR_PERM, a.set(file, to));
    co_await expect(NFS3_OK, r.set(file, to));
    co_await expect(NFS3_OK, a.set(file, mode_of(06755)));
    const nfs3::fattr3 now = co_await must(a.attributes(file));
    EXPECT_EQ(now.gid, 300u);
    EXPECT_EQ(now.mode, 04755u) << "the set-group bit is for members of the group";
    co_await expect(NFS3_OK, a.write(file, "x"));
    const nfs3::fattr3 written = co_await must(a.attributes(file));
    EXPECT_EQ(written.mode, 0755u) << "a write takes the set-user bit away";
  });
}

HEDDLE_TEST(nfs_volume,
            "new objects belong to their maker, or to the group of a set-group directory") {
  on_volume(+[](memory_volume& v) -> task<> {
    const handle dir = co_await open_directory_of(v, "d");
    const handle shared = co_await open_directory_of(v, "shared", 02777);
    user a(v, ann);
    user r(v, root);
    const found mine = co_await must(a.create(dir, "f", 0640));
    EXPECT_EQ(mine.attributes->uid, 1000u);
    EXPECT_EQ(mine.attributes->gid, 100u);
    EXPECT_EQ(mine.attributes->mode, 0640u);
    const found below = co_await must(a.make_directory(shared, "d", 0755));
    EXPECT_EQ(below.attributes->gid, 0u);
    EXPECT_EQ(below.attributes->mode, 02755u);
    EXPECT_EQ(below.attributes->nlink, 2u);
    sattr3 others = mode_of(0644);
    others.uid = 5;
    others.gid = 6;
    const found kept = co_await must(a.create(dir, "g", create_as(createmode3::GUARDED, others)));
    EXPECT_EQ(kept.attributes->uid, 1000u);
    const found given = co_await must(r.create(dir, "h", create_as(createmode3::GUARDED, others)));
    EXPECT_EQ(given.attributes->uid, 5u);
    EXPECT_EQ(given.attributes->gid, 6u);
    const found device = co_await must(r.make_node(dir, "dev", node_of_type(ftype3::NF3CHR)));
    EXPECT_EQ(device.attributes->rdev, (nfs3::specdata3{8, 1}));
    EXPECT_EQ(device.attributes->type, ftype3::NF3CHR);
    co_await expect(NFS3ERR_ACCES, a.make_node(dir, "dev2", node_of_type(ftype3::NF3BLK)));
    co_await expect(NFS3ERR_BADTYPE, r.make_node(dir, "x", node_of_type(ftype3::NF3REG)));
    co_await expect(NFS3ERR_INVAL, r.read(device.file));
    co_await expect(NFS3ERR_INVAL, r.write(device.file, "x"));
    co_await expect(NFS3ERR_INVAL, r.commit(device.file));
    co_await expect(NFS3ERR_ISDIR, r.read(dir));
    co_await expect(NFS3ERR_INVAL, r.set(dir, size_of(1)));
  });
}

HEDDLE_TEST(nfs_volume,
            "an exclusive CREATE that is repeated finds its own file, until that is set") {
  on_volume(+[](memory_volume& v) -> task<> {
    user u(v, root);
    const handle top = v.root(0);
    const handle first = co_await handle_from(u.create(top, "a", exclusively(1)));
    const handle again = co_await handle_from(u.create(top, "a", exclusively(1)));
    EXPECT_EQ(first, again);
    co_await expect(NFS3ERR_EXIST, u.create(top, "a", exclusively(2)));
    co_await expect(NFS3ERR_EXIST, u.create(top, "a"));
    co_await expect(NFS3_OK, u.set(first, mode_of(0600)));
    co_await expect(NFS3ERR_EXIST, u.create(top, "a", exclusively(1)));

    co_await expect(NFS3_OK, u.write(first, "hello"));
    const auto unchecked = [](std::optional<std::uint64_t> size) {
      sattr3 a = mode_of(0777);
      a.size = size;
      return create_as(createmode3::UNCHECKED, a);
    };
    const found same = co_await must(u.create(top, "a", unchecked({})));
    EXPECT_EQ(same.attributes->size, 5u);
    EXPECT_EQ(same.attributes->mode, 0600u) << "of an existing file only the size is set";
    const found cut = co_await must(u.create(top, "a", unchecked(2)));
    EXPECT_EQ(cut.attributes->size, 2u);
    co_await expect(NFS3_OK, u.make_directory(top, "d"));
    co_await expect(NFS3ERR_EXIST, u.create(top, "d", unchecked({})));
    co_await expect(NFS3ERR_EXIST, u.create(top, ".", unchecked({})));
  });
}

HEDDLE_TEST(nfs_volume, "each change shows the attributes right before and after it") {
  on_volume(+[](memory_volume& v) -> task<> {
    user u(v, root);
    const handle top = v.root(0);
    nfs3::fattr3 last = co_await must(u.attributes(top));
    const auto check = [&](const nfs3::wcc_data& seen, bool changed) {
      if (!seen.before || !seen.after) {
        ADD_FAILURE() << "attributes are missing";
        return;
      }
      EXPECT_EQ(*seen.before, last);
      EXPECT_EQ(seen.after->ctime != last.ctime, changed);
      last = *seen.after;
    };
    const handle file = co_await handle_from(u.create(top, "a"));
    check(u.seen, true);
    co_await expect(NFS3ERR_EXIST, u.create(top, "a"));
    check(u.seen, false);
    co_await expect(NFS3_OK, u.make_directory(top, "d"));
    check(u.seen, true);
    co_await expect(NFS3_OK, u.make_link(top, "l", "a"));
    check(u.seen, true);
    co_await expect(NFS3_OK, u.link(file, top, "b"));
    check(u.seen, true);
    co_await expect(NFS3_OK, u.rename(top, "a", top, "c"));
    check(u.seen, true);
    EXPECT_EQ(u.to_seen.after, last);
    co_await expect(NFS3ERR_NOENT, u.remove(top, "a"));
    check(u.seen, false);
    co_await expect(NFS3_OK, u.remove(top, "c"));
    check(u.seen, true);
    co_await expect(NFS3_OK, u.remove_directory(top, "d"));
    check(u.seen, true);

    last = co_await must(u.attributes(file));
    co_await expect(NFS3_OK, u.write(file, "hello"));
    check(u.seen, true);
    EXPECT_EQ(last.size, 5u);
    const nfs3::nfstime3 stale_guard = last.ctime;
    co_await expect(NFS3_OK, u.set(file, mode_of(0600), last.ctime));
    check(u.seen, true);
    co_await expect(NFS3ERR_NOT_SYNC, u.set(file, mode_of(0644), stale_guard));
    check(u.seen, false);
    EXPECT_EQ(last.mode, 0600u);
    co_await expect(NFS3_OK, u.commit(file));
    check(u.seen, false);
  });
}

HEDDLE_TEST(nfs_volume,
            "limits of bytes, files, links and sizes give their statuses, and room comes back") {
  on_volume(
      +[](memory_volume& v) -> task<> {
        user u(v, root);
        const handle top = v.root(0);
        const handle file = co_await handle_from(u.create(top, "a"));
        co_await expect(NFS3ERR_NOSPC, u.write(file, std::string(1001, 'x')));
        co_await expect(NFS3_OK, u.write(file, std::string(1000, 'x')));
        co_await expect(NFS3_OK, u.write(file, std::string(10, 'y'), 990));
        co_await expect(NFS3ERR_NOSPC, u.write(file, "x", 1000));
        co_await expect(NFS3ERR_NOSPC, u.set(file, size_of(1001)));
        co_await expect(NFS3ERR_NOSPC, u.make_link(top, "l", "x"));
        co_await expect(NFS3ERR_FBIG, u.write(file, "x", 5000));
        co_await expect(NFS3ERR_FBIG, u.write(file, "xy", ~std::uint64_t{0}));
        co_await expect(NFS3ERR_FBIG, u.set(file, size_of(5001)));
        const object_ptr o = co_await must(v.open(file));
        nfs::space s = co_await must(v.space(*o));
        EXPECT_EQ(s.bytes, 1000u);
        EXPECT_EQ(s.bytes_free, 0u);
        EXPECT_EQ(s.files_free, 3u);
        co_await expect(NFS3_OK, u.set(file, size_of(400)));
        s = co_await must(v.space(*o));
        EXPECT_EQ(s.bytes_available, 600u);

        co_await expect(NFS3_OK, u.link(file, top, "a2"));
        co_await expect(NFS3_OK, u.link(file, top, "a3"));
        co_await expect(NFS3ERR_MLINK, u.link(file, top, "a4"));
        co_await expect(NFS3_OK, u.make_directory(top, "d"));
        co_await expect(NFS3ERR_MLINK, u.make_directory(top, "e"));
        co_await expect(NFS3_OK, u.make_link(top, "l", std::string(600, 'x')));
        co_await expect(NFS3_OK, u.create(top, "f"));
        co_await expect(NFS3ERR_NOSPC, u.create(top, "g"));
        co_await expect(NFS3_OK, u.remove(top, "l"));
        co_await expect(NFS3_OK, u.create(top, "g"));
        s = co_await must(v.space(*o));
        EXPECT_EQ(s.bytes_free, 600u);
      },
      {{.bytes_max = 1000, .files_max = 5, .file_bytes_max = 5000, .links_max = 3}});
}

HEDDLE_TEST(nfs_volume, "a crash takes what was not stable and changes the verifier") {
  on_volume(+[](memory_volume& v) -> task<> {
    user u(v, root);
    const handle file = co_await handle_from(u.create(v.root(0), "a"));
    const auto verifier = v.verifier();
    const auto how = co_await u.write(file, "stable", 0, stable_how::DATA_SYNC);
    EXPECT_EQ(*how, stable_how::FILE_SYNC);
    const auto lazy = co_await u.write(file, " and more", 6);
    EXPECT_EQ(*lazy, stable_how::UNSTABLE);
    EXPECT_EQ(co_await must(u.read(file)), "stable and more");
    EXPECT_EQ(v.verifier(), verifier);
    v.crash();
    EXPECT_NE(v.verifier(), verifier);
    EXPECT_EQ(co_await must(u.read(file)), "stable");
    co_await expect(NFS3_OK, u.write(file, " and more", 6));
    co_await expect(NFS3_OK, u.commit(file));
    co_await expect(NFS3_OK, u.write(file, "lost", 0));
    co_await expect(NFS3_OK, u.set(file, size_of(10)));  // SETATTR is stable
    v.crash();
    EXPECT_EQ(co_await must(u.read(file)), "stable and");
    EXPECT_EQ(v.syncs(), 2u);
  });
}

HEDDLE_TEST(nfs_volume, "a sync that fails loses its file's data and changes the verifier") {
  on_volume(+[](memory_volume& v) -> task<> {
    user u(v, root);
    const handle file = co_await handle_from(u.create(v.root(0), "a"));
    const handle other = co_await handle_from(u.create(v.root(0), "b"));
    co_await expect(NFS3_OK, u.write(file, "one"));
    co_await expect(NFS3_OK, u.write(other, "two"));
    const auto verifier = v.verifier();
    v.fail_syncs(2);
    co_await expect(NFS3ERR_IO, u.commit(file));
    EXPECT_EQ(u.seen.after->size, 0u);
    EXPECT_NE(v.verifier(), verifier);
    EXPECT_EQ(co_await must(u.read(file)), "");
    EXPECT_EQ(co_await must(u.read(other)), "two");
    co_await expect(NFS3ERR_IO, u.write(file, "one", 0, stable_how::FILE_SYNC));
    co_await expect(NFS3_OK, u.write(file, "one", 0, stable_how::FILE_SYNC));
    v.crash();
    EXPECT_EQ(co_await must(u.read(file)), "one");
    EXPECT_EQ(co_await must(u.read(other)), "");

    v.fail_next(NFS3ERR_JUKEBOX);
    co_await expect(NFS3ERR_JUKEBOX, u.read(file));
    co_await expect(NFS3_OK, u.read(file));
  });
}

HEDDLE_TEST(nfs_volume, "reads give what there is, and say where the file ends") {
  on_volume(+[](memory_volume& v) -> task<> {
    user u(v, root);
    const handle file = co_await handle_from(u.create(v.root(0), "a"));
    co_await expect(NFS3_OK, u.write(file, "world", 6));
    EXPECT_EQ(co_await must(u.read(file)), std::string(6, '\0') + "world");
    EXPECT_TRUE(u.end);
    EXPECT_EQ(co_await must(u.read(file, 6, 4)), "worl");
    EXPECT_FALSE(u.end);
    EXPECT_EQ(co_await must(u.read(file, 6, 5)), "world");
    EXPECT_TRUE(u.end);
    EXPECT_EQ(co_await must(u.read(file, ~std::uint64_t{0}, 5)), "");
    EXPECT_TRUE(u.end);
    co_await expect(NFS3_OK, u.write(file, ""));
    const nfs3::fattr3 a = co_await must(u.attributes(file));
    EXPECT_EQ(a.size, 11u);
    const handle link = co_await handle_from(u.make_link(v.root(0), "l", "over/there"));
    EXPECT_EQ(co_await must(u.read_link(link)), "over/there");
    co_await expect(NFS3ERR_INVAL, u.read_link(file));
    co_await expect(NFS3ERR_INVAL, u.make_link(v.root(0), "m", ""));
    co_await expect(NFS3ERR_INVAL, u.make_link(v.root(0), "m", std::string(1, '\0')));
    co_await expect(NFS3ERR_NAMETOOLONG,
                    u.make_link(v.root(0), "m", std::string(link_bytes_max + 1, 'x')));
  });
}

HEDDLE_TEST(nfs_volume, "names move as rename(2) moves them") {
  on_volume(
      +[](memory_volume& v) -> task<> {
        user u(v, root);
        const handle none;
        const handle top = v.root(0);
        const handle a = co_await handle_from(u.make_directory(top, "a"));
        const handle b = co_await handle_from(u.make_directory(a, "b"));
        const handle file = co_await handle_from(u.create(top, "f"));
        co_await expect(NFS3ERR_INVAL, u.rename(top, "a", b, "x"));  // into itself
        co_await expect(NFS3ERR_INVAL, u.rename(top, "a", a, "x"));
        co_await expect(NFS3ERR_INVAL, u.rename(top, "..", a, "x"));
        co_await expect(NFS3ERR_NOENT, u.rename(top, "none", a, "x"));
        co_await expect(NFS3ERR_ISDIR, u.rename(top, "f", top, "a"));
        co_await expect(NFS3ERR_NOTDIR, u.rename(a, "b", top, "f"));
        co_await expect(NFS3ERR_NOTDIR, u.rename(top, "a", file, "x"));
        co_await expect(NFS3ERR_XDEV, u.rename(top, "f", v.root(1), "f"));
        co_await expect(NFS3ERR_XDEV, u.link(file, v.root(1), "f"));
        co_await expect(NFS3ERR_BADHANDLE, u.rename(top, "f", none, "f"));
        co_await expect(NFS3_OK, u.make_directory(top, "c"));
        co_await expect(NFS3ERR_NOTEMPTY, u.rename(top, "c", top, "a"));
        co_await expect(NFS3ERR_NOTEMPTY, u.remove_directory(top, "a"));
        co_await expect(NFS3_OK, u.rename(a, "b", top, "c"));  // over an empty directory
        const found moved = co_await must(u.lookup(b, ".."));
        EXPECT_EQ(moved.file, top);
        co_await expect(NFS3_OK, u.remove_directory(top, "a"));
        co_await expect(NFS3ERR_STALE, u.rename(top, "f", a, "f"));

        co_await expect(NFS3_OK, u.link(file, b, "g"));
        co_await expect(NFS3_OK, u.rename(top, "f", b, "g"));  // two names of one file: both stay
        co_await expect(NFS3_OK, u.lookup(top, "f"));
        co_await expect(NFS3_OK, u.rename(top, "f", top, "f"));
        const handle other = co_await handle_from(u.create(top, "h"));
        co_await expect(NFS3_OK, u.rename(top, "f", top, "h"));
        co_await expect(NFS3ERR_STALE, u.attributes(other));
        const nfs3::fattr3 two = co_await must(u.attributes(file));
        EXPECT_EQ(two.nlink, 2u);
        co_await expect(NFS3ERR_ISDIR, u.remove(top, "c"));
        co_await expect(NFS3ERR_ISDIR, u.remove(top, ".."));
        co_await expect(NFS3ERR_NOTDIR, u.remove_directory(top, "h"));
        co_await expect(NFS3ERR_INVAL, u.remove_directory(top, "."));
        co_await expect(NFS3ERR_EXIST, u.remove_directory(top, ".."));
        co_await expect(NFS3ERR_INVAL, u.link(b, top, "b2"));
        co_await expect(NFS3ERR_EXIST, u.link(file, b, "g"));
        co_await expect(NFS3ERR_NOTDIR, u.lookup(file, "x"));
        const found above = co_await must(u.lookup(top, ".."));
        EXPECT_EQ(above.file, top) << "an export ends at its root";
      },
      {{.exports = 2}});
}

HEDDLE_TEST(nfs_volume,
            "a listing in parts gives each name that stays once, whatever changes meanwhile") {
  on_volume(+[](memory_volume& v) -> task<> {
    user u(v, root);
    const handle top = v.root(0);
    for (int i = 0; i != 100; ++i) co_await expect(NFS3_OK, u.create(top, std::to_string(i)));
    std::map<std::string, int> times;
    list_request what{.bytes_max = 120, .with_handles = false};
    int parts = 0;
    for (bool end = false; !end; ++parts) {
      const listing part = co_await must(u.list(top, what));
      EXPECT_FALSE(part.entries.empty());
      for (const listed& e : part.entries) ++times[e.name];
      end = part.end;
      what.cookie = part.entries.back().cookie;
      const std::string odd = std::to_string(parts * 2 + 1);
      if (parts < 40) co_await expect(NFS3_OK, u.remove(top, odd));
      co_await expect(NFS3_OK, u.create(top, "new" + std::to_string(parts)));
      co_await expect(NFS3_OK, u.rename(top, "new" + std::to_string(parts), top, "0"));
    }
    EXPECT_GT(parts, 20);
    EXPECT_EQ(times["."], 1);
    EXPECT_EQ(times[".."], 1);
    for (int i = 0; i != 100; i += 2) EXPECT_EQ(times[std::to_string(i)], 1) << i;

    co_await expect(NFS3ERR_TOOSMALL, u.list(top, {.bytes_max = 20}));
    co_await expect(NFS3ERR_BAD_COOKIE, u.list(top, {.cookie = ~std::uint64_t{0}}));
    const listing plus = co_await must(u.list(top, {.names_bytes_max = 1, .with_handles = true}));
    EXPECT_EQ(plus.entries.size(), 1u);
    EXPECT_EQ(plus.entries[0].file, top);
    EXPECT_EQ(plus.entries[0].attributes->fileid, plus.entries[0].fileid);
    const handle file = co_await handle_from(u.lookup(top, "0"));
    co_await expect(NFS3ERR_NOTDIR, u.list(file));
  });
}

/// What a run of random operations leaves.
task<> random_user(memory_volume& v, std::uint64_t seed, int operations, std::string& log) {
  std::mt19937_64 draw(seed);
  const auto below = [&draw](std::uint64_t end) { return draw() % end; };
  user u(v, seed % 2 == 0 ? root : ann);
  std::vector<handle> known{v.root(0)};
  for (int i = 0; i != operations; ++i) {
    const handle at = known[below(known.size())];
    const handle other = known[below(known.size())];
    const std::string name(1, static_cast<char>('a' + below(6)));
    const std::string second(1, static_cast<char>('a' + below(6)));
    nfsstat3 s = NFS3_OK;
    std::optional<handle> made;
    const auto take = [&](const outcome<found>& f) {
      s = status_of(f);
      if (f) made = f->file;
    };
    switch (below(12)) {
      case 0:
        take(co_await u.create(at, name, exclusively(static_cast<std::uint8_t>(below(3)))));
        break;
      case 1:
        take(co_await u.create(at, name, 0666));
        break;
      case 2:
        take(co_await u.make_directory(at, name, 0777));
        break;
      case 3:
        take(co_await u.make_link(at, name, "x"));
        break;
      case 4:
        take(co_await u.lookup(at, name));
        break;
      case 5:
        s = status_of(co_await u.remove(at, name));
        break;
      case 6:
        s = status_of(co_await u.remove_directory(at, name));
        break;
      case 7:
        s = status_of(co_await u.rename(at, name, other, second));
        break;
      case 8:
        s = status_of(co_await u.link(at, other, name));
        break;
      case 9:
        s = status_of(co_await u.write(at, name + second, below(300)));
        break;
      case 10:
        s = status_of(co_await u.set(at, size_of(below(300))));
        break;
      default:
        s = status_of(co_await u.commit(at));
    }
    if (made) known.push_back(*made);
    if (below(50) == 0) v.crash();
    log += heddle::xdr::name_of(s);
    const heddle::nanoseconds now = heddle::clock::now().time_since_epoch();
    log += std::to_string(now.count()) + " ";
  }
}

HEDDLE_TEST(nfs_volume,
            "random users leave a tree that holds together, and one seed gives one run") {
  std::map<std::string, int> runs;
  for (std::uint64_t seed = 1; seed != 21; ++seed) {
    std::string logs[2];
    for (std::string& log : logs) {
      heddle::runtime rt(std::make_unique<heddle::sim_driver>(), {});
      memory_volume v({{.exports = 1,
                        .seed = seed,
                        .bytes_max = 2000,
                        .files_max = 40,
                        .links_max = 4,
                        .root_mode = 0777},
                       heddle::color(1),
                       std::chrono::milliseconds(1)});
      rt.run([](memory_volume& volume, std::uint64_t first, std::string& text) -> task<> {
        heddle::scope s;
        for (std::uint64_t i = 0; i != 4; ++i)
          s.spawn(random_user(volume, first * 4 + i, 300, text));
        co_await s.join();
      }(v, seed, log));
      EXPECT_EQ(v.mistake(), "") << "seed " << seed;
    }
    EXPECT_EQ(logs[0], logs[1]);
    ++runs[logs[0]];
  }
  EXPECT_EQ(runs.size(), 20u);
  std::string all;
  for (const auto& [log, times] : runs) all += log;
  for (const char* status : {"NFS3_OK", "NOSPC", "MLINK", "STALE", "NOTDIR", "ISDIR", "INVAL",
                             "NOTEMPTY", "EXIST", "NOENT"})
    EXPECT_NE(all.find(status), all.npos) << status;
}

}  // namespace
}  // namespace nfs::test
