// SPDX-License-Identifier: MIT
// Processes whose descriptors are pipes to this one.
#include <unistd.h>

#include <vector>

#include "tamer/fd.hh"

namespace tamer {

pid_t exec(std::vector<exec_fd>& fds, const char* program, bool path,
           const std::vector<const char*>& arguments) {
  struct ends {
    int child;
    int target;
  };
  std::vector<ends> given;
  std::vector<fd> child_side;
  for (exec_fd& e : fds) {
    if (e.what == exec_fd::fdtype_newin || e.what == exec_fd::fdtype_newout) {
      fd read_end, write_end;
      if (const int error = fd::pipe(read_end, write_end); error < 0) return error;
      fd& theirs = e.what == exec_fd::fdtype_newin ? read_end : write_end;
      e.f = e.what == exec_fd::fdtype_newin ? write_end : read_end;
      const int flags = ::fcntl(theirs.value(), F_GETFL);
      ::fcntl(theirs.value(), F_SETFL, flags & ~O_NONBLOCK);
      child_side.push_back(theirs);
      given.push_back({theirs.value(), e.child_fd});
    } else {
      given.push_back({e.f.value(), e.child_fd});
    }
  }
  std::vector<char*> argv;
  for (const char* a : arguments) argv.push_back(const_cast<char*>(a));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return -errno;
  if (child == 0) {
    // Move the descriptors away from the wanted numbers first, then to these numbers.
    for (ends& e : given) e.child = ::fcntl(e.child, F_DUPFD, 256);
    for (const ends& e : given) {
      if (e.child < 0 || ::dup2(e.child, e.target) < 0) ::_exit(127);
      ::close(e.child);
    }
    if (path) {
      ::execvp(program, argv.data());
    } else {
      ::execv(program, argv.data());
    }
    ::_exit(127);
  }
  for (exec_fd& e : fds)
    if (e.what == exec_fd::fdtype_transfer) e.f.close();
  return child;
}

pid_t exec(fd& in, fd& out, const char* program, bool path, const char* argument0,
           const char* argument1, const char* argument2, const char* argument3) {
  std::vector<exec_fd> fds{exec_fd(STDIN_FILENO, exec_fd::fdtype_newin),
                           exec_fd(STDOUT_FILENO, exec_fd::fdtype_newout)};
  std::vector<const char*> arguments;
  for (const char* a : {argument0, argument1, argument2, argument3})
    if (a != nullptr) arguments.push_back(a);
  const pid_t child = exec(fds, program, path, arguments);
  if (child > 0) {
    in = fds[0].f;
    out = fds[1].f;
  }
  return child;
}

}  // namespace tamer
