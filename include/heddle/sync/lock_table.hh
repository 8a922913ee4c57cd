// SPDX-License-Identifier: MIT
// Locks by name: a table makes a lock when a name is first opened, and frees it when the last
// handle ends. So there are only as many locks as names in use.
//
//   lock_table<std::string> files;
//   auto file = files.open(path);               // a counted handle
//   auto held = co_await file->lock();          // or lock_shared()
#pragma once

#include <functional>
#include <unordered_map>
#include <utility>

#include "heddle/sync/shared_mutex.hh"

namespace heddle {

/// Thread: one color.
/// Owns: the locks; it must outlive its handles. A handle must outlive the holds and waits on its
///   lock: declare it first.
template <class Name, class Hash = std::hash<Name>>
class lock_table {
  struct entry {
    shared_mutex lock;
    std::size_t handles = 0;
  };
  using map = std::unordered_map<Name, entry, Hash>;

 public:
  lock_table() = default;
  lock_table(const lock_table&) = delete;
  lock_table& operator=(const lock_table&) = delete;
  ~lock_table() {
    HEDDLE_ASSERT(locks_.empty(), "a table of locks ends while handles to its locks are held");
  }

  /// One user of a named lock. Copies count too.
  class handle {
   public:
    handle(const handle& other) noexcept : table_(other.table_), at_(other.at_) {
      if (table_ != nullptr) ++at_->second.handles;
    }
    handle(handle&& other) noexcept
        : table_(std::exchange(other.table_, nullptr)), at_(other.at_) {}
    handle& operator=(handle other) noexcept {
      std::swap(table_, other.table_);
      std::swap(at_, other.at_);
      return *this;
    }
    ~handle() {
      if (table_ != nullptr && --at_->second.handles == 0) table_->locks_.erase(at_);
    }
    [[nodiscard]] shared_mutex* operator->() const noexcept { return &at_->second.lock; }
    [[nodiscard]] shared_mutex& operator*() const noexcept { return at_->second.lock; }
    [[nodiscard]] const Name& name() const noexcept { return at_->first; }

   private:
    friend class lock_table;
    handle(lock_table& table, typename map::iterator at) noexcept : table_(&table), at_(at) {
      ++at->second.handles;
    }
    lock_table* table_;
    typename map::iterator at_;  // stays valid while other names come and go
  };

  /// A handle of the lock with this name.
  [[nodiscard]] handle open(const Name& name) { return {*this, locks_.try_emplace(name).first}; }
  /// How many names are in use.
  [[nodiscard]] std::size_t size() const noexcept { return locks_.size(); }

 private:
  map locks_;
};

}  // namespace heddle
