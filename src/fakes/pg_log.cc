// SPDX-License-Identifier: MIT
// Reading and appending records of commits; see pg_log.hh.
#include "fakes/pg_log.hh"

#include <algorithm>
#include <optional>
#include <vector>

#include "fakes/pg_error.hh"
#include "heddle/base/crc32.hh"
#include "heddle/base/error.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/directory.hh"

namespace heddle::fakes::detail {
namespace {

constexpr std::string_view log_magic = "heddle-fakes-pg1";
constexpr std::size_t record_head_bytes = 8;  // length and checksum

struct log_record {
  std::uint32_t checksum = 0;
  std::string_view bytes;

  [[nodiscard]] std::size_t size() const noexcept { return record_head_bytes + bytes.size(); }
  /// Whether it follows the record with this checksum.
  [[nodiscard]] bool fits(std::uint32_t before) const noexcept {
    return crc32(bytes, before) == checksum;
  }
};

/// The record at a place of the log; none if its length cannot be.
std::optional<log_record> record_at(std::string_view log, std::uint64_t at) {
  if (log.size() < at || log.size() - at < record_head_bytes) return std::nullopt;
  pg_body in(log.substr(static_cast<std::size_t>(at)));
  const std::uint32_t length = in.number(4), checksum = in.number(4);
  const std::size_t most = log.size() - static_cast<std::size_t>(at) - record_head_bytes;
  if (length == 0 || length > most) return std::nullopt;
  return log_record{checksum, in.bytes(length)};
}

std::string record_of(const pg_changes& changes) {
  std::string out;
  const auto text = [&](std::string_view t) {
    put_number(out, static_cast<std::uint32_t>(t.size()), 4);
    out += t;
  };
  for (const auto& [at, row] : changes) {
    out += !row ? 'd' : *row ? 'v' : 'n';
    text(at.table);
    text(at.key);
    if (row && *row) text(**row);
  }
  return out;
}

/// The changes of a record; throws pg_error if it is damaged, although its checksum is right.
pg_changes changes_of(std::string_view record) {
  pg_changes all;
  pg_body in(record);
  const auto text = [&in] {
    const std::uint32_t count = in.number(4);
    return std::string(in.bytes(count));
  };
  while (!in.empty()) {
    const char kind = in.bytes(1)[0];
    pg_place at;
    at.table = text();
    at.key = text();
    pg_row row;
    if (kind == 'v') row.emplace(text());
    if (kind == 'n') row.emplace();
    if (kind != 'v' && kind != 'n' && kind != 'd')
      throw pg_error(sqlstate::io_failed, "a change of no known kind");
    all[std::move(at)] = std::move(row);
  }
  return all;
}

/// Whether this is the beginning of a new log whose creation did not end.
bool is_unfinished(std::string_view bytes) {
  return log_magic.starts_with(bytes) || bytes.find_first_not_of('\0') == bytes.npos;
}

std::string parent_of(const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  if (last == path.npos) return "/";
  const std::size_t slash = path.rfind('/', last);
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

task<> pg_log::make_folder() const {
  std::vector<std::string> levels{folder_};  // the outermost last
  auto made = co_await as_expected(make_directory(folder_));
  while (!made && made.error() == std::errc::no_such_file_or_directory) {
    const std::string parent = parent_of(levels.back());
    if (parent == levels.back()) break;
    levels.push_back(parent);
    made = co_await as_expected(make_directory(parent));
  }
  for (;;) {
    if (!made && made.error() != std::errc::file_exists)
      throw failure(made.error(), "cannot make the folder " + folder_);
    // A level must survive a power failure before the next one is made in it: a later start does
    // not look at the parents of a folder that exists.
    const std::string parent = parent_of(levels.back());
    const directory around = co_await open_directory(parent);
    co_await around.sync();
    levels.pop_back();
    if (levels.empty()) co_return;
    made = co_await as_expected(make_directory(levels.back()));
  }
}

/// Overwrites the bytes from `from` on with zeros. A record that a torn one has left behind it
/// would be read again if a later commit had the bytes of the torn one.
task<> pg_log::clear(const file& in, std::uint64_t from, std::string_view bytes) {
  const std::size_t last = bytes.find_last_not_of('\0');
  const std::uint64_t end = last == bytes.npos ? 0 : last + 1;
  if (from >= end) co_return;
  const std::string zeros(std::size_t{64} * 1024, '\0');
  while (from < end) {
    const std::string_view part = std::string_view(zeros).substr(
        0, static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), end - from)));
    co_await in.write_at(from, part);
    from += part.size();
  }
}

task<> pg_log::open(pg_store& into, bool syncs) {
  co_await make_folder();
  const std::string path = folder_ + "/log";
  file_options how;
  how.write = true;
  how.create = true;
  file opened = co_await open_file(path, how);
  const auto read = co_await as_expected(opened.read_all(bytes_max_));
  if (!read && read.error() == std::errc::file_too_large) {
    const std::string what = path + " is larger than postgres_options::log_bytes_max allows: " +
                             std::to_string(bytes_max_) + " bytes";
    throw failure(read.error(), what);
  }
  if (!read) throw failure(read.error(), "cannot read " + path);
  const std::string_view bytes = *read;
  end_ = log_magic.size();
  checksum_ = 0;
  if (!bytes.starts_with(log_magic)) {
    if (!is_unfinished(bytes))
      throw failure(std::make_error_code(std::errc::bad_message),
                    path + " is no log of fakes::postgres_server");
    co_await opened.write_at(0, log_magic);
  }
  const auto damaged = [&](const std::string& why) {
    throw failure(std::make_error_code(std::errc::bad_message),
                  path + " is damaged at " + std::to_string(end_) + ": " + why);
  };
  while (const auto next = record_at(bytes, end_)) {
    if (!next->fits(checksum_)) {
      const auto behind = record_at(bytes, end_ + next->size());
      if (syncs && behind && behind->fits(next->checksum))
        damaged(
            "a record is not the one that was written, and commits follow it; with "
            "postgres_options::sync_commits = false the start drops all of them");
      break;
    }
    try {
      into.apply(changes_of(next->bytes));
    } catch (const pg_error& e) {
      damaged(e.what());
    }
    checksum_ = next->checksum;
    end_ += next->size();
  }
  co_await clear(opened, end_, bytes);
  // A process that was killed may have left records that no disk has yet.
  co_await opened.sync();
  const directory here = co_await open_directory(folder_);
  co_await here.sync();
  file_ = std::move(opened);
}

task<bool> pg_log::append(const pg_changes& changes, bool sync) {
  const std::string record = record_of(changes);
  if (end_ + record_head_bytes + record.size() > bytes_max_) co_return false;
  const std::uint32_t checksum = crc32(record, checksum_);
  std::string bytes;
  put_number(bytes, static_cast<std::uint32_t>(record.size()), 4);
  put_number(bytes, checksum, 4);
  bytes += record;
  co_await file_.write_at(end_, std::string_view(bytes));
  if (sync) co_await file_.sync(true);
  checksum_ = checksum;
  end_ += bytes.size();
  co_return true;
}

}  // namespace heddle::fakes::detail
