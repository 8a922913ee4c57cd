// SPDX-License-Identifier: MIT
// The store of files.
#include "heddle/acme/store.hh"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>

#include "heddle/base/error.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/directory.hh"
#include "heddle/io/file.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::acme {
namespace {

constexpr unsigned file_mode = 0600;
constexpr unsigned folder_mode = 0700;

bool name_is_plain(std::string_view name) noexcept {
  const bool letters = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' ||
           c == '/';
  });
  return letters && !name.empty() && name.size() <= 400 && !name.starts_with('/') &&
         name.find("..") == name.npos;
}

/// The record of failed orders is a line and no PEM.
const char* ending_of(std::string_view name) noexcept {
  return name.ends_with(".failures") ? "" : ".pem";
}

/// A claim of this process: the locked file, and its name in the list of claimed names.
struct file_claim {
  file locked;
  std::shared_ptr<std::set<std::string>> claimed;
  std::string name;
  ~file_claim() { claimed->erase(name); }
};

task<> sync_parent(std::string path) {
  const directory folder = co_await open_directory(std::move(path));
  co_await folder.sync();
}

/// Removes what a process that was killed had begun to write beside this file.
task<> tidy_beside(std::string path) {
  const std::size_t name = path.rfind('/') + 1;
  const directory folder = co_await open_directory(path.substr(0, name));
  static_cast<void>(co_await folder.remove_unfinished(path.substr(name)));
}

}  // namespace

directory_store::directory_store(std::string folder)
    : folder_(std::move(folder)), claimed_(std::make_shared<std::set<std::string>>()) {
  while (folder_.size() > 1 && folder_.ends_with('/')) folder_.pop_back();
  if (folder_.empty())
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a store of certificates needs a folder");
}

std::string directory_store::path_of(const std::string& name, const char* ending) const {
  if (!name_is_plain(name))
    throw failure(
        std::make_error_code(std::errc::invalid_argument),
        "'" + name + "' is no name for a store: it may hold a-z, 0-9, '.', '-', '_', '/'");
  return folder_ + '/' + name + ending;
}

std::string directory_store::place_of(const std::string& name) const {
  return path_of(name, ending_of(name));
}

/// Makes the missing folders above this path; others can have made them meanwhile.
task<> directory_store::make_folders(std::string path) const {
  for (std::size_t at = path.find('/', 1); at != path.npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    const auto there = co_await as_expected(open_directory(folder));
    if (there) continue;
    auto made = co_await as_expected(make_directory(folder, folder_mode));
    // The folder's name, too, has to survive a power failure.
    if (made) made = co_await as_expected(sync_parent(folder.substr(0, folder.rfind('/') + 1)));
    if (!made && made.error() != std::errc::file_exists)
      throw failure(made.error(), "cannot make the folder '" + folder +
                                      "' for certificates; make it yourself, or name another one");
  }
}

task<std::optional<std::string>> directory_store::load(std::string name) {
  const std::string path = path_of(name, ending_of(name));
  const auto text = co_await as_expected(read_file(path, bytes_max));
  if (text) co_return *text;
  if (text.error() == std::errc::no_such_file_or_directory) co_return std::nullopt;
  throw failure(text.error(), "cannot read '" + path + "'");
}

task<> directory_store::save(std::string name, std::string text) {
  const std::string path = path_of(name, ending_of(name));
  co_await make_folders(path);
  const auto done = co_await as_expected(write_file(path, std::string_view(text), file_mode));
  if (!done) throw failure(done.error(), "cannot write '" + path + "'");
}

task<store_claim> directory_store::claim(std::string name) {
  const std::string path = path_of(name, ".lock");
  if (claimed_->contains(name)) co_return nullptr;
  co_await make_folders(path);
  file locked = co_await open_file(path, {.write = true, .create = true, .mode = file_mode});
  // flock() must not wait for another process. A simulated world has one process and no locks.
  if (!runtime::here().io().simulated() && ::flock(locked.number(), LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (error == EWOULDBLOCK) co_return nullptr;
    throw failure({error, std::generic_category()}, "cannot lock '" + path + "'");
  }
  // A folder that cannot be tidied is none of the caller's matters.
  static_cast<void>(co_await as_expected(tidy_beside(place_of(name))));
  if (!claimed_->insert(name).second) co_return nullptr;
  co_return std::shared_ptr<void>(new file_claim{std::move(locked), claimed_, name},
                                  [](void* held) { delete static_cast<file_claim*>(held); });
}

}  // namespace heddle::acme
