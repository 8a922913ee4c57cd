// SPDX-License-Identifier: MIT
// An open object of disk_volume, and the shards that hold them. A shard is a color: everything here
// is used in it alone, except what a call in the pool borrows.
#pragma once

#include <array>
#include <list>
#include <unordered_map>
#include <utility>

#include "disk_calls.hh"
#include "heddle/base/clock.hh"
#include "heddle/sync/mutex.hh"

namespace nfs {

/// A number of kept verdicts: identities that use one object by turns.
inline constexpr std::size_t verdicts_max = 8;

/// Thread: its color.
class disk_object final : public object {
 public:
  disk_object(const export_root& in, const handle& own, std::uint64_t hash, open_ptr fd,
              heddle::color home)
      : in_(in), own_(own), hash_(hash), fd_(std::move(fd)), home_(home) {}

  [[nodiscard]] static disk_object& of(object& o) noexcept { return static_cast<disk_object&>(o); }

  [[nodiscard]] const export_root& in() const noexcept { return in_; }
  [[nodiscard]] const handle& own() const noexcept { return own_; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] heddle::color home() const noexcept { return home_; }
  [[nodiscard]] const open_fd& fd() const noexcept { return *fd_; }
  [[nodiscard]] const open_ptr& fd_ptr() const noexcept { return fd_; }

  /// The identity's permissions, if they are known for this state of the object.
  [[nodiscard]] const permissions* permitted(const identity& who,
                                             const file_stat& st) const noexcept;
  /// For a call in the pool.
  [[nodiscard]] borrowed lend(const identity& who) const;
  /// Takes what the call in the pool has found out.
  void learn(borrowed&& from, const identity& who);

  heddle::mutex change;  ///< changes whose attributes before and after must be exact
  heddle::time_point used{};

  // Changes under way. Writes of one file run side by side: they do not take `change`.
  std::uint32_t changes_now = 0;
  std::uint64_t changes = 0;

  // Syncs: the numbers of the last that has begun and of the last that has ended, and its outcome.
  heddle::mutex sync;
  std::uint64_t syncs_begun = 0;
  std::uint64_t syncs_done = 0;
  outcome<void> synced;

  std::optional<std::string> link_text;  ///< of a symbolic link; it never changes

 private:
  struct verdict {
    identity who;
    timespec ctime{};
    permissions may;
    bool known = false;
  };

  const export_root& in_;
  const handle own_;
  const std::uint64_t hash_;
  open_ptr fd_;
  const heddle::color home_;
  std::array<verdict, verdicts_max> verdicts_;
  std::size_t next_verdict_ = 0;
};

/// Marks a change of an object, for as long as it is under way. From `before` of wcc_data a client
/// concludes that no other client has changed the object; so it is given only if no other change
/// ran at the same time.
class change_mark {
 public:
  explicit change_mark(disk_object& of) noexcept
      : of_(&of), alone_(of.changes_now++ == 0), number_(++of.changes) {}
  change_mark(const change_mark&) = delete;
  change_mark& operator=(const change_mark&) = delete;
  ~change_mark() {
    if (of_ != nullptr) --of_->changes_now;
  }

  /// Ends the change; whether no other change of the object ran since the begin.
  [[nodiscard]] bool end() noexcept {
    const bool exact = alone_ && of_->changes == number_;
    --std::exchange(of_, nullptr)->changes_now;
    return exact;
  }

 private:
  disk_object* of_;
  bool alone_;
  std::uint64_t number_;
};

/// As change_mark, for what changes nothing itself.
class change_watch {
 public:
  explicit change_watch(const disk_object& of) noexcept
      : of_(of), alone_(of.changes_now == 0), number_(of.changes) {}
  /// Whether no change of the object ran since the begin.
  [[nodiscard]] bool exact() const noexcept { return alone_ && of_.changes == number_; }

 private:
  const disk_object& of_;
  bool alone_;
  std::uint64_t number_;
};

/// The open objects of one color; the first of the list was used last.
struct disk_shard {
  std::list<std::shared_ptr<disk_object>> objects;
  std::unordered_map<std::uint64_t, std::list<std::shared_ptr<disk_object>>::iterator> by_hash;

  [[nodiscard]] std::shared_ptr<disk_object> find(const handle& of, std::uint64_t hash);
  void add(const std::shared_ptr<disk_object>& o);
  /// Takes the object of a handle out, and gives its descriptor to be closed in the pool.
  [[nodiscard]] open_ptr take(const handle& of, std::uint64_t hash);
  /// Takes out objects that no call is using: those beyond `count`, and those last used before
  /// `since`.
  [[nodiscard]] std::vector<open_ptr> take_unused(std::size_t count, heddle::time_point since);
};

}  // namespace nfs
