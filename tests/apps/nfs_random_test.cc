// SPDX-License-Identifier: MIT
// Random programs of several clients against a model of what each of them has made: connections
// break, the server loses what is not stable, operations of all clients mix. At the end everything
// is listed and read again.
#include <map>

#include "nfs_server_world.hh"

namespace nfs::test {
namespace {

using namespace std::chrono_literals;

/// The content of a file as its client sees it, and the writes that are not known to be stable.
struct model_content {
  handle file;
  std::string bytes;
  struct unstable {
    std::uint64_t at;
    std::string text;
    nfs3::writeverf3 verifier;
  };
  std::vector<unstable> pending;
};

/// What a path leads to: a directory, or a file that other paths may lead to as well.
struct model_item {
  handle at;
  std::shared_ptr<model_content> content;  // none: a directory
};

/// Numbers over all clients and worlds.
struct random_tally {
  std::uint64_t calls = 0;
  std::uint64_t refused = 0;
  std::uint64_t repeats = 0;
  std::uint64_t rewritten = 0;
  std::uint64_t read = 0;
};

class random_client {
 public:
  random_client(nfs_server& w, std::uint64_t seed, int number, random_tally& t)
      : draw_(seed * 100 + static_cast<std::uint64_t>(number)),
        me_("client" + std::to_string(number)),
        rpc_(w.at, as(root, me_), static_cast<std::uint32_t>(seed << 16)),
        tally_(t) {}

  /// `shared` is a directory that all clients use; each has names of its own there.
  task<> run(handle top, handle shared, int operations) {
    const auto own = co_await rpc_.ask<v3::MKDIR>(entry(top, me_), mode_of(0755));
    items_["own"] = {handle_in(own), nullptr};
    items_["shared"] = {shared, nullptr};
    for (int i = 0; i != operations; ++i) co_await one_operation();
    co_await check_all();
    tally_.repeats += static_cast<std::uint64_t>(rpc_.repeats);
  }

 private:
  using items_map = std::map<std::string, model_item>;

  std::uint64_t below(std::uint64_t end) { return draw_() % end; }

  /// A path that exists, of any kind that `fits`; "" if there is none.
  template <class F>
  std::string some_path(F fits) {
    std::vector<std::string> all;
    for (const auto& [path, item] : items_)
      if (fits(path, item)) all.push_back(path);
    return all.empty() ? std::string() : all[below(all.size())];
  }
  std::string some_directory() {
    return some_path([](const std::string&, const model_item& i) { return !i.content; });
  }
  std::string some_file() {
    return some_path([](const std::string&, const model_item& i) { return i.content != nullptr; });
  }
  /// A path below a directory, there or not.
  std::string some_name() {
    const std::string dir = some_directory();
    const std::string name(1, static_cast<char>('a' + below(5)));
    return dir + "/" + (dir == "shared" ? me_ + "-" + name : name);
  }
  static std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }
  nfs3::diropargs3 where(const std::string& path) {
    return entry(items_.at(parent_of(path)).at, path.substr(path.rfind('/') + 1));
  }
  bool is_there(const std::string& path) const { return items_.contains(path); }
  bool is_directory(const std::string& path) const { return !items_.at(path).content; }
  bool has_entries(const std::string& path) const {
    const auto next = items_.lower_bound(path + "/");
    return next != items_.end() && next->first.starts_with(path + "/");
  }

  void check(nfsstat3 got, nfsstat3 wanted, const char* what, const std::string& path) {
    ++tally_.calls;
    if (wanted != NFS3_OK) ++tally_.refused;
    EXPECT_EQ(got, wanted) << me_ << ": " << what << " of " << path;
  }

  task<> one_operation() {
    const std::string path = some_name();
    switch (below(13)) {
      case 0:
      case 1: {
        const auto how = create_as(createmode3::GUARDED, mode_of(0644));
        const auto r = co_await rpc_.ask<v3::CREATE>(where(path), how);
        check(r.status, is_there(path) ? NFS3ERR_EXIST : NFS3_OK, "CREATE", path);
        if (r.status == NFS3_OK) add_file(path, handle_in(r));
        break;
      }
      case 2: {
        const auto how = exclusively(static_cast<std::uint8_t>(++verifier_));
        const auto r = co_await rpc_.ask<v3::CREATE>(where(path), how);
        check(r.status, is_there(path) ? NFS3ERR_EXIST : NFS3_OK, "exclusive CREATE", path);
        if (r.status == NFS3_OK) add_file(path, handle_in(r));
        break;
      }
      case 3: {
        const auto r = co_await rpc_.ask<v3::MKDIR>(where(path), mode_of(0755));
        check(r.status, is_there(path) ? NFS3ERR_EXIST : NFS3_OK, "MKDIR", path);
        if (r.status == NFS3_OK) items_[path] = {handle_in(r), nullptr};
        break;
      }
      case 4: {
        const auto r = co_await rpc_.ask<v3::REMOVE>(where(path));
        check(r.status,
              !is_there(path)      ? NFS3ERR_NOENT
              : is_directory(path) ? NFS3ERR_ISDIR
                                   : NFS3_OK,
              "REMOVE", path);
        if (r.status == NFS3_OK) items_.erase(path);
        break;
      }
      case 5: {
        const auto r = co_await rpc_.ask<v3::RMDIR>(where(path));
        check(r.status,
              !is_there(path)       ? NFS3ERR_NOENT
              : !is_directory(path) ? NFS3ERR_NOTDIR
              : has_entries(path)   ? NFS3ERR_NOTEMPTY
                                    : NFS3_OK,
              "RMDIR", path);
        if (r.status == NFS3_OK) items_.erase(path);
        break;
      }
      case 6: {
        const std::string to = some_name();
        const auto r = co_await rpc_.ask<v3::RENAME>(where(path), where(to));
        check(r.status, rename_status(path, to), "RENAME", path + " to " + to);
        if (r.status == NFS3_OK) move_item(path, to);
        break;
      }
      case 7: {
        const std::string file = some_file();
        if (file.empty()) break;
        const model_item item = items_.at(file);
        const auto r = co_await rpc_.ask<v3::LINK>(item.at, where(path));
        check(r.status, is_there(path) ? NFS3ERR_EXIST : NFS3_OK, "LINK", path);
        if (r.status == NFS3_OK) items_[path] = item;
        break;
      }
      case 8: {
        const std::string file = some_file();
        if (file.empty()) break;
        const auto content = items_.at(file).content;
        const std::uint64_t size = below(3000);
        co_await flush(*content);
        const std::optional<nfs3::nfstime3> no_guard;
        const auto r = co_await rpc_.ask<v3::SETATTR>(content->file, size_of(size), no_guard);
        check(r.status, NFS3_OK, "SETATTR", file);
        content->bytes.resize(size);
        break;
      }
      case 9: {
        const std::string file = some_file();
        if (file.empty()) break;
        const auto content = items_.at(file).content;
        co_await check_content(*content, file);
        break;
      }
      default: {
        const std::string file = some_file();
        if (file.empty()) break;
        const auto content = items_.at(file).content;
        co_await write(*content, file);
      }
    }
  }

  void add_file(const std::string& path, const handle& at) {
    auto content = std::make_shared<model_content>();
    content->file = at;
    items_[path] = {at, std::move(content)};
  }
  nfsstat3 rename_status(const std::string& from, const std::string& to) const {
    if (!is_there(from)) return NFS3ERR_NOENT;
    if (is_directory(from) && (parent_of(to) + "/").starts_with(from + "/")) return NFS3ERR_INVAL;
    if (!is_there(to) || from == to) return NFS3_OK;
    if (items_.at(to).at == items_.at(from).at) return NFS3_OK;
    if (is_directory(to) && !is_directory(from)) return NFS3ERR_ISDIR;
    if (!is_directory(to) && is_directory(from)) return NFS3ERR_NOTDIR;
    return has_entries(to) ? NFS3ERR_NOTEMPTY : NFS3_OK;
  }
  void move_item(const std::string& from, const std::string& to) {
    if (is_there(to) && items_.at(to).at == items_.at(from).at) return;
    items_map moved;
    for (auto at = items_.begin(); at != items_.end();) {
      if (at->first == from || at->first.starts_with(from + "/")) {
        moved[to + at->first.substr(from.size())] = at->second;
        at = items_.erase(at);
      } else {
        ++at;
      }
    }
    items_.erase(to);
    items_.merge(moved);
  }

  task<> write(model_content& c, const std::string& path) {
    const std::uint64_t at = below(c.bytes.size() + 100);
    const std::string text(1 + below(2000), static_cast<char>('a' + below(26)));
    const bool stable = below(4) == 0;
    if (stable) co_await flush(c);
    const stable_how how = stable ? stable_how::FILE_SYNC : stable_how::UNSTABLE;
    for (;;) {
      auto a = writing(c.file, at, text, how);
      const auto r = co_await rpc_.call<v3::WRITE>(std::move(a));
      if (r.status == NFS3ERR_IO && stable) continue;  // the sync failed
      check(r.status, NFS3_OK, "WRITE", path);
      if (r.status == NFS3_OK && !stable) c.pending.push_back({at, text, r.resok().verf});
      break;
    }
    if (c.bytes.size() < at + text.size()) c.bytes.resize(at + text.size());
    c.bytes.replace(at, text.size(), text);
  }

  /// Makes all writes stable: if one may be lost, all are written again, in their order.
  task<> flush(model_content& c) {
    while (!c.pending.empty()) {
      const auto r = co_await rpc_.ask<v3::COMMIT>(c.file, std::uint64_t{0}, 0u);
      bool lost = r.status != NFS3_OK;
      if (!lost)
        for (const auto& each : c.pending) lost = lost || each.verifier != r.resok().verf;
      if (!lost) {
        c.pending.clear();
        co_return;
      }
      for (auto& each : c.pending) {
        ++tally_.rewritten;
        auto a = writing(c.file, each.at, each.text);
        const auto again = co_await rpc_.call<v3::WRITE>(std::move(a));
        check(again.status, NFS3_OK, "WRITE again", "");
        if (again.status == NFS3_OK) each.verifier = again.resok().verf;
      }
    }
  }

  task<> check_content(model_content& c, const std::string& path) {
    co_await flush(c);
    std::string all;
    for (bool end = false; !end;) {
      const auto r = co_await rpc_.ask<v3::READ>(c.file, std::uint64_t{all.size()}, 1500u);
      check(r.status, NFS3_OK, "READ", path);
      if (r.status != NFS3_OK) co_return;
      all += r.resok().data.to_string();
      end = r.resok().eof;
    }
    ++tally_.read;
    EXPECT_TRUE(all == c.bytes) << me_ << ": " << path << " has " << all.size() << " bytes, not "
                                << c.bytes.size() << ", or others";
  }

  /// The names in a directory, without "." and "..", and in "shared" only one's own.
  task<std::vector<std::string>> names_in(handle dir, bool all_clients) {
    std::vector<std::string> names;
    std::uint64_t cookie = 0;
    for (bool end = false; !end;) {
      const auto r =
          co_await rpc_.ask<v3::READDIRPLUS>(dir, cookie, nfs3::cookieverf3{}, 400u, 1500u);
      check(r.status, NFS3_OK, "READDIRPLUS", "");
      if (r.status != NFS3_OK) break;
      for (const auto* e = r.resok().reply.entries.get(); e != nullptr; e = e->nextentry.get()) {
        cookie = e->cookie;
        if (e->name == "." || e->name == "..") continue;
        if (all_clients && !e->name.starts_with(me_ + "-")) continue;
        names.push_back(e->name);
      }
      end = r.resok().reply.eof;
    }
    std::sort(names.begin(), names.end());
    co_return names;
  }

  task<> check_all() {
    for (const auto& [path, item] : items_) {
      if (path != "own" && path != "shared") {
        const auto r = co_await rpc_.ask<v3::LOOKUP>(where(path));
        check(r.status, NFS3_OK, "LOOKUP", path);
        if (r.status == NFS3_OK) EXPECT_EQ(r.resok().object, item.at) << path;
      }
      if (item.content) {
        co_await check_content(*item.content, path);
        continue;
      }
      std::vector<std::string> wanted;
      for (const auto& [other, each] : items_)
        if (other.starts_with(path + "/") && parent_of(other) == path)
          wanted.push_back(other.substr(path.size() + 1));
      std::sort(wanted.begin(), wanted.end());
      const std::vector<std::string> names = co_await names_in(item.at, path == "shared");
      EXPECT_EQ(names, wanted) << me_ << ": " << path;
    }
  }

  std::mt19937_64 draw_;
  std::string me_;
  persistent rpc_;
  random_tally& tally_;
  items_map items_;
  int verifier_ = 0;
};

/// Loses what is not stable, or lets syncs fail, from time to time.
task<> lose_data(nfs_server& w, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  for (;;) {
    co_await heddle::sleep_for(std::chrono::microseconds(draw() % 20'000));
    if (draw() % 3 == 0)
      w.disk.fail_syncs(1);
    else
      w.disk.crash();
  }
}

task<> random_world(nfs_server& w, std::uint64_t seed, random_tally& t) {
  const handle top = w.top();
  persistent first(w.at, as(root, "first"));
  const auto made = co_await first.ask<v3::MKDIR>(entry(top, "shared"), mode_of(0777));
  const handle shared = handle_in(made);
  scope losses;
  losses.spawn(lose_data(w, seed));
  std::vector<std::unique_ptr<random_client>> clients;
  scope all;
  for (int i = 0; i != 4; ++i) {
    clients.push_back(std::make_unique<random_client>(w, seed, i, t));
    all.spawn(clients.back()->run(top, shared, 120));
  }
  co_await all.join();
  losses.cancel();
  static_cast<void>(co_await heddle::as_expected(losses.join()));
}

HEDDLE_TEST(nfs_random,
            "random programs of clients find what they wrote, whatever breaks meanwhile") {
  random_tally t;
  for (std::uint64_t seed = 1; seed != 31; ++seed) {
    heddle::sim_options options{.seed = seed};
    if (seed % 2 == 0) options.faults = {.short_transfer = 0.2, .reset = 0.003};
    if (seed % 4 == 0) {
      options.slow_links = 0.3;
      options.slow_link = {5ms, 2ms, 4'000'000, 0};
    }
    heddle::runtime rt(std::make_unique<heddle::sim_driver>(options), {});
    server_setup s;
    s.disk.seed = seed;
    s.disk.delay_max = 500us;
    s.written = seed % 3 == 0 ? style::callbacks : style::straight;
    rt.run(with_nfs([seed, &t](nfs_server& w) -> task<> { return random_world(w, seed, t); }, s));
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      break;
    }
  }
  EXPECT_GT(t.calls, 10'000u);
  EXPECT_GT(t.refused, 1000u);
  EXPECT_GT(t.repeats, 50u);
  EXPECT_GT(t.rewritten, 500u);
  EXPECT_GT(t.read, 1000u);
}

}  // namespace
}  // namespace nfs::test
