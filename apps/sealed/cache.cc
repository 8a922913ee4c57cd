// SPDX-License-Identifier: MIT
// Looking up, reading and forgetting files.
#include "cache.hh"

#include <algorithm>
#include <system_error>

#include "heddle/core/rendezvous.hh"

namespace sealed {
namespace {

bool same(const heddle::file_status& a, const heddle::file_status& b) noexcept {
  return a.size == b.size && a.modified == b.modified && a.inode == b.inode && a.device == b.device;
}

/// What must not be reached looks like what is not there.
std::string reason_of(const std::error_code& code) {
  if (code == std::errc::permission_denied) return "the server may not read this file";
  if (code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory ||
      code == std::errc::cross_device_link || code == std::errc::filename_too_long ||
      code == std::errc::too_many_symbolic_link_levels)
    return "there is no such file";
  return "the server could not read this file: " + code.message();
}

}  // namespace

/// An entry whose bytes are on their way. When its reader ends in any way, who waits looks again.
struct file_cache::reading {
  reading(file_cache& c, place p) noexcept : cache(c), at(p) {}
  reading(const reading&) = delete;
  ~reading() {
    const auto waiting = std::move(at->waiting);
    if (at->bytes == nullptr) cache.drop(at);
    for (const heddle::event<>& e : waiting) e.trigger();
  }
  file_cache& cache;
  place at;
};

heddle::task<content> file_cache::get(std::string name) {
  if (name.empty() || name.contains('\0')) throw refusal("this is no name of a file");
  try {
    const heddle::file found = co_await root_.open(name);
    const heddle::file_status facts = co_await found.status();
    if (facts.type != heddle::entry_type::file) throw refusal("there is no such file");
    for (place at = find(name); at != entries_.end(); at = find(name)) {
      if (at->bytes == nullptr) {
        heddle::rendezvous<> read;
        at->waiting.push_back(read.make_event());
        co_await read;
        continue;
      }
      if (!same(at->facts, facts)) break;
      at->used_at = ++clock_;
      co_return at->bytes;
    }
    co_return co_await load(found, std::move(name), facts);
  } catch (const heddle::failure& e) {
    if (e.code() == std::errc::operation_canceled) throw;
    throw refusal(reason_of(e.code()));
  }
}

heddle::task<content> file_cache::load(const heddle::file& from, std::string name,
                                       heddle::file_status facts) {
  if (const place old = find(name); old != entries_.end()) old->name.clear();
  make_room(facts.size);
  const place at = entries_.insert(entries_.end(), {std::move(name), facts, nullptr, ++clock_});
  bytes_ += facts.size;
  ++loads_;
  const reading until_read(*this, at);
  std::string bytes(static_cast<std::size_t>(facts.size), '\0');
  const std::size_t got = co_await from.read_at(0, bytes);
  if (got != bytes.size()) throw refusal("the file changes while it is read; ask again");
  at->bytes = std::make_shared<const std::string>(std::move(bytes));
  co_return at->bytes;
}

file_cache::place file_cache::find(const std::string& name) noexcept {
  return std::ranges::find(entries_, name, &entry::name);
}

void file_cache::make_room(std::uint64_t size) {
  if (size > limits_.bytes_max)
    throw refusal("the file has " + std::to_string(size) + " bytes, and the server's cache only " +
                  std::to_string(limits_.bytes_max) + " (--cache)");
  while (bytes_ + size > limits_.bytes_max || entries_.size() >= limits_.files_max) {
    place oldest = entries_.end();
    for (place at = entries_.begin(); at != entries_.end(); ++at)
      if (at->bytes != nullptr && at->bytes.use_count() == 1 &&
          (oldest == entries_.end() || at->used_at < oldest->used_at))
        oldest = at;
    if (oldest == entries_.end())
      throw refusal("the server's memory is full of files that it is sending; ask again later");
    drop(oldest);
  }
}

void file_cache::drop(place at) noexcept {
  bytes_ -= at->facts.size;
  entries_.erase(at);
}

}  // namespace sealed
