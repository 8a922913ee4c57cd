// SPDX-License-Identifier: MIT
// Files and calls of the pool, for plain frames. Each is a task beside the frame: a call of the
// disk costs far more than its frame.
#include <cstring>
#include <string>
#include <vector>

#include "abi/moved_conn.hh"
#include "abi/objects.hh"
#include "abi/waiting.hh"
#include "heddle/io/blocking.hh"
#include "heddle/io/directory.hh"

using namespace heddle;
using namespace heddle::abi;

namespace {

std::string text_of(heddle_view v) { return {v.data, v.len}; }

/// A regular file below a folder; a path that begins with "/" is looked up below the folder too.
task<file> open_below(std::string root, std::string path) {
  const std::size_t begin = path.find_first_not_of('/');
  path = begin == std::string::npos ? "." : path.substr(begin);
  directory top = co_await open_directory(root);
  file f = co_await top.open(path);
  const file_status status = co_await f.status();
  if (status.type != entry_type::file)
    throw failure(std::make_error_code(std::errc::is_a_directory), path);
  co_return f;
}

constexpr std::size_t chunk_bytes = 64 * 1024;

task<> send_part(tcp_stream to, file from, std::uint64_t at, std::uint64_t end) {
  std::vector<std::byte> chunk(std::min<std::uint64_t>(chunk_bytes, end > at ? end - at : 0));
  while (at < end) {
    const std::size_t wanted = std::min<std::uint64_t>(chunk.size(), end - at);
    const std::size_t got = co_await from.read_at(at, byte_span(chunk.data(), wanted));
    if (got == 0) break;
    co_await to.write(byte_view(chunk.data(), got));
    at += got;
  }
}

task<std::vector<std::byte>> read_part(file from, std::uint64_t at, std::size_t most) {
  std::vector<std::byte> bytes(most);
  bytes.resize(co_await from.read_at(at, byte_span(bytes.data(), bytes.size())));
  co_return bytes;
}

task<> append_text(file to, std::string bytes) {
  const std::size_t done = co_await to.write_at(0, byte_view(bytes.data(), bytes.size()));
  if (done != bytes.size()) throw failure(std::make_error_code(std::errc::io_error));
}

struct foreign_call {
  void (*run)(void*);
  std::vector<std::max_align_t> arguments;
};

task<std::vector<std::max_align_t>> call_in_pool(foreign_call c) {
  co_return co_await blocking(
      [](foreign_call& x) {
        x.run(x.arguments.data());
        return std::move(x.arguments);
      },
      std::move(c));
}

auto keep_file(heddle_worker* w, heddle_file** out, std::int64_t& made) {
  return [w, out, &made](file f) {
    try {
      *out = make<heddle_file>(from(w), std::move(f));
    } catch (...) {
      made = -ENOMEM;
    }
  };
}

}  // namespace

extern "C" {

std::int64_t heddle_file_open(heddle_worker* w, heddle_view path, heddle_file** out,
                              heddle_wait* at, heddle_frame* self) {
  std::int64_t made = 0;
  const std::int64_t status = ask_task<file>(
      w, at, self, [&] { return open_file(text_of(path)); }, keep_file(w, out, made));
  return status == 0 ? made : status;
}

std::int64_t heddle_file_open_under(heddle_worker* w, heddle_view root, heddle_view path,
                                    heddle_file** out, heddle_wait* at, heddle_frame* self) {
  std::int64_t made = 0;
  const std::int64_t status = ask_task<file>(
      w, at, self, [&] { return open_below(text_of(root), text_of(path)); },
      keep_file(w, out, made));
  return status == 0 ? made : status;
}

std::int64_t heddle_file_append(heddle_worker* w, heddle_view path, heddle_file** out,
                                heddle_wait* at, heddle_frame* self) {
  std::int64_t made = 0;
  file_options options;
  options.write = options.create = options.append = true;
  const std::int64_t status = ask_task<file>(
      w, at, self, [&] { return open_file(text_of(path), options); }, keep_file(w, out, made));
  return status == 0 ? made : status;
}

std::int64_t heddle_file_size(heddle_worker* w, heddle_file* f, std::int64_t* out, heddle_wait* at,
                              heddle_frame* self) {
  return ask_task<std::uint64_t>(
      w, at, self, [&] { return f->file.size(); },
      [&](std::uint64_t n) { *out = static_cast<std::int64_t>(n); });
}

std::int64_t heddle_file_read(heddle_worker* w, heddle_file* f, heddle_buffer* to,
                              std::int64_t at_byte, std::int64_t* count, heddle_wait* at,
                              heddle_frame* self) {
  if (at_byte < 0) return -EINVAL;
  if (to->begin != 0) {
    std::memmove(to->data, to->data + to->begin, to->end - to->begin);
    to->end -= to->begin;
    to->begin = 0;
  }
  const std::size_t room = to->capacity - to->end;
  if (room == 0) return -ENOBUFS;
  std::size_t got = 0;
  const std::int64_t status = ask_task<std::vector<std::byte>>(
      w, at, self, [&] { return read_part(f->file, static_cast<std::uint64_t>(at_byte), room); },
      [&](const std::vector<std::byte>& bytes) {
        got = std::min(bytes.size(), room);
        if (got != 0) std::memcpy(to->data + to->end, bytes.data(), got);
        to->end += got;
      });
  if (status != 0) return status;
  if (got == 0) return HEDDLE_EOF;
  *count = static_cast<std::int64_t>(got);
  return 0;
}

std::int64_t heddle_file_write(heddle_worker* w, heddle_file* f, heddle_view what, heddle_wait* at,
                               heddle_frame* self) {
  return ask_task<void>(w, at, self, [&] { return append_text(f->file, text_of(what)); }, [] {});
}

std::int64_t heddle_file_sync(heddle_worker* w, heddle_file* f, heddle_wait* at,
                              heddle_frame* self) {
  return ask_task<void>(w, at, self, [&] { return f->file.sync(); }, [] {});
}

void heddle_file_close(heddle_worker* w, heddle_file* f) { drop(from(w), f); }

std::int64_t heddle_send_file(heddle_worker* w, heddle_conn* c, heddle_file* f, std::int64_t begin,
                              std::int64_t end, heddle_wait* at, heddle_frame* self) {
  if (begin < 0 || end < begin) return -EINVAL;
  conn_wait wait(c, at, self);
  if (const std::int64_t moved = come_here(w, c, wait, self); moved != 0) return moved;
  return wait.record(from(w), [&](heddle_wait* in) {
    return ask_task<void>(
        w, in, self,
        [&] {
          return send_part(borrowed_stream(c).copy(), f->file, static_cast<std::uint64_t>(begin),
                           static_cast<std::uint64_t>(end));
        },
        [] {});
  });
}

std::int64_t heddle_blocking(heddle_worker* w, void (*run)(void*), void* arguments,
                             std::size_t size, heddle_wait* at, heddle_frame* self) {
  using words = std::vector<std::max_align_t>;
  return ask_task<words>(
      w, at, self,
      [&] {
        foreign_call c{run,
                       words((size + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t))};
        std::memcpy(static_cast<void*>(c.arguments.data()), arguments, size);
        return call_in_pool(std::move(c));
      },
      [&](const words& back) { std::memcpy(arguments, back.data(), size); });
}

}  // extern "C"
