// SPDX-License-Identifier: MIT
// The state of a path is asked by its kind and by connect(): connect() alone says ECONNREFUSED for
// a plain file, too.
#include "serve/socket_path.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstdint>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/detail/files_here.hh"
#include "serve/writable_folder.hh"

namespace heddle::serve {
namespace {

constexpr nanoseconds connect_patience = std::chrono::seconds(1);  // a listener may be full

bool is_abstract(const std::string& path) noexcept { return path.starts_with('@'); }

/// Whether a process may listen there: false only if the system says that none does.
task<bool> may_be_listened_on(std::string path) {
  const auto made = co_await as_expected(with_timeout(unix_connect(path), connect_patience));
  co_return made || made.error() != std::errc::connection_refused;
}

enum class path_state : std::uint8_t {
  vacant,     // there is nothing; or the name is abstract ('@...'), which is no file
  abandoned,  // a socket file that no process listens on, as a killed server leaves it
  in_use,     // a socket file that a process listens on, or perhaps does
  other,      // anything else: a file, a folder, a symbolic link
};

[[noreturn]] void refuse_other(const std::string& path) {
  throw failure(std::make_error_code(std::errc::address_in_use),
                "cannot listen on " + path +
                    ": it is not a socket, and stays; name another path, or remove it yourself");
}

task<path_state> state_of_path(std::string path) {
  struct ::statx there{};
  if (is_abstract(path) ||
      heddle::detail::files_here().stat(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, there) != 0)
    co_return path_state::vacant;
  if (!S_ISSOCK(there.stx_mode)) co_return path_state::other;
  const bool used = co_await may_be_listened_on(std::move(path));
  co_return used ? path_state::in_use : path_state::abandoned;
}

}  // namespace

task<> clear_path(std::string path) {
  const path_state state = co_await state_of_path(path);
  if (state == path_state::other) refuse_other(path);
  if (state == path_state::abandoned) heddle::detail::files_here().remove(AT_FDCWD, path.c_str());
}

task<unix_listener> listen_on_path(std::string path) {
  co_await clear_path(path);
  co_return unix_listener::listen(path);
}

task<> check_path(std::string path) {
  // Nothing is made at the path: a server that starts at this moment must not find it taken.
  if (path.size() >= sizeof sockaddr_un{}.sun_path)
    throw failure(std::make_error_code(std::errc::filename_too_long),
                  "a socket's path has at most 107 bytes: " + path);
  if (is_abstract(path)) co_return;
  const path_state state = co_await state_of_path(path);
  if (state == path_state::other) refuse_other(path);
  if (const int error = folder_trouble(folder_of(path)); error != 0)
    throw failure({error, std::generic_category()}, "cannot listen on " + path);
}

}  // namespace heddle::serve
