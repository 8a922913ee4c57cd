// SPDX-License-Identifier: MIT
// Every look-up goes through openat2 with RESOLVE_BENEATH. Calls without that (remove, rename,
// making a folder) are done to one last name, in a folder that was opened that way.
#include "heddle/io/directory.hh"

#include <fcntl.h>
#include <linux/openat2.h>

#include <algorithm>

#include "heddle/base/sometimes.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/detail/unfinished_name.hh"
#include "io/descriptor_state.hh"
#include "io/file_call.hh"

namespace heddle {
namespace {

std::uint64_t rules_for(links follow) {
  // Links of /proc lead to open files from any folder.
  constexpr std::uint64_t always = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return follow == links::none ? always | RESOLVE_NO_SYMLINKS : always;
}

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

task<> make_at(detail::descriptor_state* folder, std::string name, unsigned mode) {
  detail::check_name("make", name);
  detail::file_operation making(op_code::make_directory, folder, "make directory");
  making.data = name.data();
  making.len = mode;
  detail::check_path(co_await making, "make", name);
}

task<> remove_at(detail::descriptor_state* folder, std::string name, unsigned flags) {
  detail::check_name("remove", name);
  detail::file_operation removing(op_code::remove, folder, "remove");
  removing.data = name.data();
  removing.flags = flags;
  detail::check_path(co_await removing, "remove", name);
}

}  // namespace

struct directory::place {
  place(directory d, std::string n) noexcept : folder(std::move(d)), name(std::move(n)) {}
  directory folder;
  std::string name;
};

task<directory::place> directory::place_of(std::string path) const {
  const directory held = *this;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const auto slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") detail::check_path(-EINVAL, "name", path);
  if (slash == std::string::npos) co_return place(held, std::move(name));
  const std::string above = slash == 0 ? "/" : path.substr(0, slash);
  directory folder = co_await held.open_directory(above);
  co_return place(std::move(folder), std::move(name));
}

task<file> directory::open(std::string path, file_options options, links follow) const {
  const directory held = *this;
  const int fd =
      co_await detail::open_native(&detail::open_state(held), path, detail::native_flags(options),
                                   options.mode, rules_for(follow));
  co_return file(detail::make_file(fd));
}

task<directory> directory::open_directory(std::string path, links follow) const {
  const directory held = *this;
  const int fd = co_await detail::open_native(&detail::open_state(held), path, folder_flags, 0,
                                              rules_for(follow));
  co_return directory(detail::make_file(fd));
}

task<file_status> directory::status(std::string path, links follow) const {
  const directory held = *this;
  const int fd = co_await detail::open_native(&detail::open_state(held), path, O_PATH | O_CLOEXEC,
                                              0, rules_for(follow));
  const file found(detail::make_file(fd));
  co_return co_await found.status();
}

task<std::vector<directory_entry>> directory::list(listing_order order) const {
  const directory held = *this;
  std::vector<directory_entry> entries;
  detail::file_operation listing(op_code::list, &detail::open_state(held), "list");
  listing.more = &entries;
  detail::check_outcome(co_await listing);
  std::erase_if(entries, [](const directory_entry& e) { return e.name == "." || e.name == ".."; });
  if (order == listing_order::by_name)
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  co_return entries;
}

task<> directory::make_directory(std::string path, unsigned mode) const {
  place where = co_await place_of(std::move(path));
  co_await make_at(&detail::open_state(where.folder), where.name, mode);
}

task<> directory::remove(std::string path) const {
  place where = co_await place_of(std::move(path));
  co_await remove_at(&detail::open_state(where.folder), where.name, 0);
}

task<> directory::remove_directory(std::string path) const {
  place where = co_await place_of(std::move(path));
  co_await remove_at(&detail::open_state(where.folder), where.name, AT_REMOVEDIR);
}

task<> directory::rename(std::string from, std::string to) const {
  const auto folder_part = [](const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash);
  };
  if (folder_part(from) != folder_part(to)) detail::check_path(-EINVAL, "move", from);
  place source = co_await place_of(std::move(from));
  std::string target = to.substr(to.rfind('/') + 1);  // npos + 1 is 0: the whole
  if (target.empty() || target == "." || target == "..") detail::check_path(-EINVAL, "name", to);
  detail::check_name("rename", source.name);
  detail::check_name("rename", target);
  detail::file_operation renaming(op_code::rename, &detail::open_state(source.folder), "rename");
  renaming.data = source.name.data();
  renaming.more = target.data();
  detail::check_path(co_await renaming, "rename", source.name);
}

task<std::size_t> directory::remove_unfinished(std::string name, nanoseconds untouched) const {
  const directory held = *this;
  const nanoseconds last = driver_here().wall_time() - untouched;
  std::size_t removed = 0;
  const std::vector<directory_entry> all = co_await held.list(listing_order::as_stored);
  for (const directory_entry& each : all) {
    if (!detail::is_unfinished(each.name, name)) continue;
    const auto found = co_await as_expected(held.status(each.name, links::none));
    if (!found || found->type != entry_type::file || found->modified > last) continue;
    const auto gone = co_await as_expected(held.remove(each.name));
    if (gone) HEDDLE_SOMETIMES("a file that a killed process had begun is removed");
    removed += gone ? 1 : 0;
  }
  co_return removed;
}

task<> directory::sync() const {
  const directory held = *this;
  co_await detail::sync_native(detail::open_state(held), false);
}

task<directory> open_directory(std::string path) {
  const int fd = co_await detail::open_native(nullptr, path, folder_flags, 0, 0);
  co_return directory(detail::make_file(fd));
}

task<> make_directory(std::string path, unsigned mode) {
  return make_at(nullptr, std::move(path), mode);
}

task<> remove_directory(std::string path) {
  return remove_at(nullptr, std::move(path), AT_REMOVEDIR);
}

}  // namespace heddle
