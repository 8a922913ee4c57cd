// SPDX-License-Identifier: MIT
// Descriptors of C libraries, pipes and processes for plain frames.
#include "heddle/io/process.hh"

#include <poll.h>

#include <memory>

#include "abi/byte_task.hh"
#include "heddle/io/watched_descriptor.hh"

using namespace heddle;
using namespace heddle::abi;

struct heddle_descriptor {
  explicit heddle_descriptor(int fd) : watched(std::make_shared<watched_descriptor>(fd)) {}
  std::shared_ptr<watched_descriptor> watched;  // shared with a wait that was withdrawn
};

struct heddle_pipe {
  explicit heddle_pipe(pipe_pair made) noexcept : ends(std::move(made)) {}
  pipe_pair ends;
};

struct heddle_process {
  explicit heddle_process(process made) noexcept : child(std::move(made)) {}
  process child;
};

namespace {

task<> until_ready(std::shared_ptr<watched_descriptor> d, unsigned events) {
  static_cast<void>(co_await d->ready(events));
}

task<exit_status> until_ended(process child) {
  exit_wait ends = child.wait();
  co_return co_await std::move(ends);
}

/// The words of a command: the program, then one argument a line.
std::vector<std::string> words_of(heddle_view program, heddle_view arguments) {
  std::vector<std::string> words = {text_in(program)};
  std::string rest = text_in(arguments);
  if (rest.empty()) return words;
  if (rest.back() == '\n') rest.pop_back();
  for (std::size_t at = 0;;) {
    const std::size_t end = rest.find('\n', at);
    words.push_back(rest.substr(at, end - at));
    if (end == std::string::npos) return words;
    at = end + 1;
  }
}

/// Makes an object of the worker's; -errno if that fails.
template <class T, class Make>
std::int64_t keep(heddle_worker* w, T** out, Make&& made) noexcept {
  try {
    *out = make<T>(from(w), made());
    return 0;
  } catch (const std::system_error& e) {
    return status_of(e.code());
  } catch (...) {
    return -ENOMEM;
  }
}

}  // namespace

extern "C" {

std::int64_t heddle_descriptor_adopt(heddle_worker* w, std::int64_t fd, heddle_descriptor** out) {
  if (fd < 0 || fd > INT32_MAX) return -EINVAL;
  return keep(w, out, [&] { return static_cast<int>(fd); });
}
std::int64_t heddle_descriptor_ready(heddle_worker* w, heddle_descriptor* d, std::int32_t which,
                                     heddle_wait* at, heddle_frame* self) {
  const unsigned events = which == heddle_mode_read ? POLLIN : POLLOUT;
  return ask_task<void>(w, at, self, [&] { return until_ready(d->watched, events); }, [] {});
}
void heddle_descriptor_close(heddle_worker* w, heddle_descriptor* d) { drop(from(w), d); }

std::int64_t heddle_pipe_open(heddle_worker* w, heddle_pipe** out) {
  return keep(w, out, [] { return make_pipe(); });
}
std::int64_t heddle_pipe_read(heddle_worker* w, heddle_pipe* p, heddle_buffer* to,
                              std::int64_t* count, heddle_wait* at, heddle_frame* self) {
  return ask_bytes(w, p->ends.reader, to, count, at, self);
}
std::int64_t heddle_pipe_write(heddle_worker* w, heddle_pipe* p, heddle_view what, heddle_wait* at,
                               heddle_frame* self) {
  return ask_task<void>(
      w, at, self, [&] { return write_bytes(p->ends.writer, text_in(what)); }, [] {});
}
void heddle_pipe_shutdown(heddle_worker*, heddle_pipe* p) { p->ends.writer.close(); }
void heddle_pipe_close(heddle_worker* w, heddle_pipe* p) { drop(from(w), p); }

std::int64_t heddle_process_run(heddle_worker* w, heddle_view program, heddle_view arguments,
                                heddle_process** out, heddle_wait* at, heddle_frame* self) {
  std::int64_t made = 0;
  const std::int64_t status = ask_task<process>(
      w, at, self,
      [&] {
        process_options options;
        options.input(child_stream::pipe).output(child_stream::pipe);
        return spawn_process(command_line(words_of(program, arguments)), std::move(options));
      },
      [&](process child) { made = keep(w, out, [&] { return std::move(child); }); });
  return status == 0 ? made : status;
}
std::int64_t heddle_process_input(heddle_worker* w, heddle_process* p, heddle_view what,
                                  heddle_wait* at, heddle_frame* self) {
  return ask_task<void>(
      w, at, self, [&] { return write_bytes(p->child.input(), text_in(what)); }, [] {});
}
void heddle_process_end_input(heddle_worker*, heddle_process* p) { p->child.input().close(); }
std::int64_t heddle_process_output(heddle_worker* w, heddle_process* p, heddle_buffer* to,
                                   std::int64_t* count, heddle_wait* at, heddle_frame* self) {
  return ask_bytes(w, p->child.output(), to, count, at, self);
}
std::int64_t heddle_process_wait(heddle_worker* w, heddle_process* p, std::int64_t* code,
                                 heddle_wait* at, heddle_frame* self) {
  return ask_task<exit_status>(
      w, at, self, [&] { return until_ended(p->child); },
      [&](const exit_status& how) { *code = how.signal != 0 ? 128 + how.signal : how.code; });
}
std::int64_t heddle_process_kill(heddle_worker*, heddle_process* p, std::int64_t signal) {
  if (signal < 1 || signal > 64) return -EINVAL;
  try {
    p->child.kill(static_cast<int>(signal));
    return 0;
  } catch (const std::system_error& e) {
    return status_of(e.code());
  }
}
void heddle_process_close(heddle_worker* w, heddle_process* p) { drop(from(w), p); }

}  // extern "C"
