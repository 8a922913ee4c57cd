// SPDX-License-Identifier: MIT
// The way of an exception: the tasks whose functions it has left. note_exception()
// (core/promise.hh) adds to it, exception_lines() returns it.
//
// Tables of ways for the process, because an exception may leave tasks on several workers. Their
// key is the exception object, which also chooses the table: workers seldom meet at a lock. A new
// object may have the address of an earlier one, so an entry must end with its object: the
// exception's destructor in its header (Itanium C++ ABI, section 2.2.1) is replaced by a function
// that removes the entry and calls the original.
//
// A task's exception is stored in a join, or in an object of an adapter (exception_moved_to). If
// the function that has this join or object in its frame ends with the exception, it is the next
// one on the way. If any other function ends with it, because the program kept a pointer to the
// exception, a new way begins.
#include "heddle/core/exception_lines.hh"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "heddle/core/promise.hh"

namespace heddle {
namespace detail {
namespace {

constexpr std::size_t tasks_max = 32;  // listed per way; a longer way has a gap
constexpr std::size_t gap_at = 24;
constexpr std::size_t tables_count = 64;

struct way {
  void (*destroy)(void*) = nullptr;  // the exception's own destructor
  const void* to = nullptr;          // the join or other object that stores the exception
  std::size_t len = 0;
  std::array<site, tasks_max> at{};

  void add(site s) noexcept {
    if (len == tasks_max) {  // the innermost and outermost tasks stay
      std::copy(at.begin() + gap_at + 2, at.end(), at.begin() + gap_at + 1);
      at[gap_at] = tasks_between;
      --len;
    }
    at[len++] = s;
  }
};

struct way_table {
  std::mutex lock;
  std::unordered_map<const void*, way> all;
};

/// Never destroyed: an exception may outlive every static object.
way_table& table_of(const void* object) {
  static auto* const tables = new std::array<way_table, tables_count>;
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(object) * 0x9e3779b97f4a7c15;
  return (*tables)[(mixed >> 32) % tables_count];
}

void* object_of(const std::exception_ptr& error) noexcept {
  static_assert(sizeof error == sizeof(void*));
  void* object;
  std::memcpy(&object, static_cast<const void*>(&error), sizeof object);
  return object;
}

/// Removes the exception's way, and destroys the exception.
void end_exception(void* object) noexcept {
  way_table& table = table_of(object);
  void (*destroy)(void*) = nullptr;
  {
    const std::lock_guard hold(table.lock);
    const auto found = table.all.find(object);
    if (found != table.all.end()) {
      destroy = found->second.destroy;
      table.all.erase(found);
    }
  }
  if (destroy != nullptr) destroy(object);
}

/// The first members of the header before an exception object; it takes 112 bytes with libstdc++ on
/// 64-bit processors.
struct exception_head {
  const std::type_info* type;
  void (*destroy)(void*);
};

/// The head of the exception in flight. Null if it does not look as expected: then nothing is known
/// of this exception.
exception_head* head_of_current(void* object) noexcept {
#if defined(__GLIBCXX__) && defined(__LP64__)
  auto* const head = reinterpret_cast<exception_head*>(static_cast<char*>(object) - 112);
  return head->type == abi::__cxa_current_exception_type() ? head : nullptr;
#else
  static_cast<void>(object);
  return nullptr;
#endif
}

}  // namespace

void note_exception(promise_base& of) noexcept {
  const std::exception_ptr error = std::current_exception();
  void* const object = object_of(error);
  if (object == nullptr) return;  // an exception of another language
  const void* const frame = reinterpret_cast<char*>(&of) - next_offset;
  slabs& memory = worker::running().memory;
  try {
    way_table& table = table_of(object);
    const std::lock_guard hold(table.lock);
    const auto [found, is_new] = table.all.try_emplace(object);
    way& its = found->second;
    if (is_new) {
      exception_head* const head = head_of_current(object);
      if (head == nullptr) {
        table.all.erase(found);
        return;
      }
      its.destroy = std::exchange(head->destroy, &end_exception);
    } else if (its.to == nullptr || !memory.same_cell(frame, its.to)) {
      its.len = 0;
    }
    its.add(of.at);
    its.to = of.parent();
  } catch (...) {  // no memory: this exception's report has no lines
  }
}

void exception_moved_to(const std::exception_ptr& error, const void* to) noexcept {
  const void* const object = object_of(error);
  way_table& table = table_of(object);
  const std::lock_guard hold(table.lock);
  const auto found = table.all.find(object);
  if (found != table.all.end()) found->second.to = to;
}

}  // namespace detail

std::vector<site> exception_lines(const std::exception_ptr& error) {
  const void* const object = detail::object_of(error);
  detail::way_table& table = detail::table_of(object);
  const std::lock_guard hold(table.lock);
  const auto found = table.all.find(object);
  if (found == table.all.end()) return {};
  const auto begin = found->second.at.begin();
  return {begin, begin + static_cast<std::ptrdiff_t>(found->second.len)};
}

}  // namespace heddle
