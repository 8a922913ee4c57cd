// SPDX-License-Identifier: MIT
// Loads files into memory: opens them below the root, reads them, finds compressed files beside
// them, and compresses.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "heddle/http/detail/identity_of.hh"
#include "heddle/http/mime.hh"
#include "heddle/io/detail/files_here.hh"
#include "heddle/io/detail/open_beneath.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/web/detail/hidden_path.hh"
#include "web/counted_body.hh"
#include "web/direct_read.hh"
#include "web/driver_call.hh"
#include "web/file_answer.hh"
#include "web/static_open.hh"

namespace heddle::http {
namespace {

constexpr std::size_t small_file_bytes = 64 * 1024;

file_facts facts_of(const struct ::statx& state) noexcept {
  file_facts f;
  static_cast<file_identity&>(f) = identity_of(state);
  f.modified = state.stx_mtime.tv_sec;
  return f;
}

}  // namespace

std::string etag_of(const file_facts& f) { return std::string(file_etag(f).text()); }

/// Reads the whole file; the result is empty if the file changed or cannot be read.
task<piece> static_files::read_whole(const opened& file) {
  const auto size = static_cast<std::size_t>(file.facts.size);
  // In a full cache each new file drops others. Pages, which the kernel has to give and take back,
  // would cost more than they save; a small file then goes into ordinary memory.
  const bool in_pages =
      size > small_file_bytes || cache_.bytes() + size <= options_.cache_bytes_max;
  counted_body body = in_pages ? counted_body(held_bytes_, pages_, size)
                               : counted_body(held_bytes_, std::string(size, '\0'));
  const byte_span into = body.writable();
  if (options_.direct) {
    const std::int64_t got = co_await read_directly(file.file.number(), into);
    if (got != static_cast<std::int64_t>(size)) co_return piece();
    ++counters_.direct;
    co_return piece::held_by(std::move(body));
  }
  std::size_t have = 0;
  while (have < into.size()) {
    const std::int64_t got = co_await read_uninterrupted(file.file.number(), into.data() + have,
                                                         into.size() - have, have);
    if (got <= 0) co_return piece();
    have += static_cast<std::size_t>(got);
  }
  co_return piece::held_by(std::move(body));
}

int status_for(std::int64_t error) noexcept {
  switch (-error) {
    case ENOENT:
    case ENOTDIR:
    case ENXIO:  // a socket, or a device that does not exist
    case ENODEV:
    case ENAMETOOLONG:
    case EXDEV:  // the path would leave the root
    case ELOOP:
      return 404;
    case EACCES:
    case EPERM:
      return 403;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
    case ESTALE:  // file_changes
      return 503;
    default:
      return 500;
  }
}

task<static_files::opened> static_files::open(std::string path) {
  const std::string relative = path == "/" ? "." : path.substr(1);
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // do not wait for a pipe's writer
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  // A path without links shows whether it is hidden, and answer() has checked it.
  if (!options_.hidden) how.resolve |= RESOLVE_NO_SYMLINKS;
  opened result;
  std::int64_t fd = -EAGAIN;
  for (int i = 0; fd == -EAGAIN && i != heddle::open_tries; ++i) {
    fd = co_await open_beneath(root_.number(), relative.c_str(), how);
    if (fd == -EINTR) fd = -EAGAIN;
    if (fd == -ELOOP && (how.resolve & RESOLVE_NO_SYMLINKS) != 0) {
      how.resolve &= ~std::uint64_t{RESOLVE_NO_SYMLINKS};
      fd = -EAGAIN;
    }
  }
  if (fd < 0) {
    result.error = fd;
    co_return result;
  }
  result.file = open_file(static_cast<int>(fd));
  const bool by_link = !options_.hidden && (how.resolve & RESOLVE_NO_SYMLINKS) == 0;
  if (by_link && opened_hidden(root_.number(), result.file.number())) {
    result.error = -ENOENT;
    co_return result;
  }
  struct statx state{};
  result.error = std::min<std::int64_t>(co_await stat_open(result.file.number(), state), 0);
  result.is_directory = S_ISDIR(state.stx_mode);
  if (result.error == 0 && !result.is_directory && !S_ISREG(state.stx_mode))
    result.error = -ENOENT;  // pipes, sockets and devices are not served
  if (result.error == 0) heddle::end_nonblocking_open(static_cast<int>(fd), O_RDONLY);
  result.facts = facts_of(state);
  co_return result;
}

coding_set static_files::packable(const content& c) const noexcept {
  const coding_set left = makes_.without(c.tried);
  return left.empty() || c.packing || !may_hold(c.plain.body.size()) ? coding_set() : left;
}

bool static_files::varies(const content& c) const noexcept {
  return !c.codings.empty() || (!makes_.empty() && mime_compressible(c.type));
}

void static_files::assemble(content& c, content_coding coding) {
  representation& r = c.in(coding);
  // The file may be too large to be in memory, so its size comes from the facts.
  const std::uint64_t size = coding == content_coding::identity ? r.facts.size : r.body.size();
  std::string lines = assemble_lines(c.type, r, coding, varies(c), extra_lines_.bytes().text());
  const std::size_t before = lines.size();
  ((lines += "Content-Length: ") += std::to_string(size)) += "\r\n";
  r.length_line = static_cast<std::uint8_t>(lines.size() - before);
  r.lines = piece(std::move(lines));
}

/// Loads the compressed files beside a file, unless they are older than it.
task<> static_files::add_precompressed(content& c) {
  if (!options_.precompressed || !mime_compressible(c.type)) co_return;
  const content* known = cache_.find(c.path);
  for (std::size_t i = 0; i < content_coding_count; ++i) {
    const auto coding = static_cast<content_coding>(i);
    opened packed = co_await open(c.path + std::string(suffix_of(coding)));
    if (packed.error != 0 || packed.is_directory ||
        packed.facts.modified_ns < c.plain.facts.modified_ns ||
        packed.facts.size > options_.cached_file_bytes_max)
      continue;
    representation r;
    r.facts = packed.facts;
    r.etag = etag_of(packed.facts);
    known = cache_.find(c.path);
    if (known != nullptr && known->codings.has(coding) && known->in(coding).facts == packed.facts) {
      r.body = known->in(coding).body;
    } else {
      if (!may_hold(packed.facts.size)) continue;
      r.body = co_await read_whole(packed);
      if (r.body.size() != packed.facts.size) continue;
    }
    c.in(coding) = std::move(r);
    c.codings = c.codings.with(coding);
  }
}

/// Compresses an entry once as each coding, one after the other; meanwhile, requests get the
/// codings that are there. Null if the entry is gone.
task<content*> static_files::pack(std::string path, content_coding as) {
  content* c = cache_.find(path);
  c->tried = c->tried.with(as);
  c->packing = true;
  // Also when this request is cancelled, others may try again.
  struct at_work {
    static_files& files;
    const std::string& path;
    ~at_work() {
      if (content* const now = files.cache_.find(path); now != nullptr) now->packing = false;
    }
  } const mark{*this, path};
  const piece plain = c->plain.body;  // keeps the bytes alive if the entry is evicted
  const file_facts facts = c->plain.facts;
  pack_request wanted{as, plain.bytes().text(), {}};
  const std::int64_t error = co_await pack_apart(wanted);
  c = cache_.find(path);
  if (c == nullptr || !(c->plain.facts == facts) || error < 0 || !wanted.packed) co_return c;
  ++counters_.compressed;
  representation& r = c->in(as);
  r.facts = facts;
  r.etag = c->plain.etag;
  std::string suffix(suffix_of(as));
  suffix[0] = '-';
  r.etag.insert(r.etag.size() - 1, suffix);  // the bytes differ, so the strong tag must differ too
  counted_body packed(held_bytes_, pages_, wanted.packed->size());
  std::memcpy(packed.writable().data(), wanted.packed->data(), wanted.packed->size());
  r.body = piece::held_by(std::move(packed));
  c->codings = c->codings.with(as);
  assemble(*c, as);
  cache_.grew(*c);
  co_return c;
}

/// Sends a file that is too large for the cache. Several ranges are gathered if they are small
/// together; else the answer is the whole file, which RFC 9110 section 14.2 allows.
task<response> static_files::send_large(request& asked, opened file, content c) {
  assemble(c, content_coding::identity);
  const std::uint64_t size = file.facts.size;
  const std::int64_t now =
      std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
  const selection chosen = select_part(asked.head(), c.plain, size, now);
  if (chosen.status == 412) co_return refuse(asked, 412);
  if (chosen.status == 304 || chosen.status == 416)
    co_return answer_without_body(chosen, c.plain, size, extra_lines_);
  const auto ranges = chosen.ranges.ranges();
  if (ranges.size() == 1) {
    response part(206);
    part.header("Content-Range", content_range(ranges[0], size).text());
    part.shared_lines(c.plain.lines_of_part());
    part.file(std::move(file.file), ranges[0].first, ranges[0].length());
    co_return part;
  }
  std::uint64_t sum = 0;
  for (const byte_range& r : ranges) sum += r.length();
  if (!ranges.empty() && sum <= options_.cached_file_bytes_max && may_hold(sum)) {
    multipart parts(c.type, size, runtime::here().io().random());
    std::string text;
    for (const byte_range& r : ranges) {
      text.resize(static_cast<std::size_t>(r.length()));
      const std::int64_t got =
          co_await read_uninterrupted(file.file.number(), text.data(), text.size(), r.first);
      if (got != static_cast<std::int64_t>(text.size()))
        co_return refuse(asked, status_for(file_changes));
      parts.add(r, text);
    }
    response several(206);
    several.shared_lines(
        piece(assemble_lines(parts.content_type(), c.plain, content_coding::identity, false,
                             extra_lines_.bytes().text())));
    several.body(piece::held_by(counted_body(held_bytes_, parts.finish())));
    co_return several;
  }
  response whole(200);
  whole.file(std::move(file.file), 0, size);
  whole.shared_lines(c.plain.lines, c.plain.length_line);
  co_return whole;
}

namespace {

/// Whether a client can ask for the name: false if it has bytes that decode_path() refuses.
bool can_be_asked_for(std::string_view name) noexcept {
  return std::ranges::none_of(name, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

/// Reads the state of a link's target in a listed directory, resolved as static_files::open()
/// would. False if visitors may not have the target.
bool follow(driver_files& files, const listing_request& r, const char* name,
            struct ::statx& state) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const std::string path = std::string(r.path.substr(1)) + name;
  int fd = -EAGAIN;
  for (int i = 0; fd == -EAGAIN && i != heddle::open_tries; ++i)
    fd = files.open(r.root, path.c_str(), how);
  if (fd < 0) return false;
  const bool may_have =
      files.stat(fd, "", AT_EMPTY_PATH, state) == 0 && (r.hidden || !opened_hidden(r.root, fd));
  files.close(fd);
  return may_have;
}

/// Looks at each name of a folder, and keeps those that visitors can have.
struct name_keeper final : entry_receiver {
  name_keeper(driver_files& f, listing_request& r) noexcept : files(f), wanted(r) {}
  bool receive(const char* name, entry_type) override {
    keep(name);
    return true;  // to count the names beyond the limit
  }
  void keep(const char* name) {
    if (withheld_name(name, wanted.hidden) || !can_be_asked_for(name)) return;
    if (wanted.names.size() >= wanted.entries_max) {
      ++wanted.left_out;
      return;
    }
    listed_name one{{name, entry_type::other}, 0, 0};
    struct ::statx state{};
    if (files.stat(wanted.directory, name, AT_SYMLINK_NOFOLLOW, state) == 0) {
      if (S_ISLNK(state.stx_mode) && !follow(files, wanted, name, state)) return;
      if (!S_ISREG(state.stx_mode) && !S_ISDIR(state.stx_mode)) return;
      one.entry.type = S_ISDIR(state.stx_mode) ? entry_type::directory : entry_type::file;
      one.size = state.stx_size;
      one.modified = state.stx_mtime.tv_sec;
    }
    wanted.names.push_back(std::move(one));
  }
  driver_files& files;
  listing_request& wanted;
};

}  // namespace

list_with_sizes::list_with_sizes(listing_request& wanted) noexcept
    : one_operation(op_code::call, -1, "list") {
  more = &wanted;
  function = [](void* argument) noexcept -> std::int64_t {
    auto& r = *static_cast<listing_request*>(argument);
    driver_files& files = heddle::detail::files_here();
    name_keeper keep(files, r);
    return files.list(r.directory, keep);
  };
}

pack_apart::pack_apart(pack_request& wanted) noexcept : one_operation(op_code::call, -1, "pack") {
  more = &wanted;
  function = [](void* argument) noexcept -> std::int64_t {
    auto& r = *static_cast<pack_request*>(argument);
    try {
      r.packed = compress(r.as, r.plain);
    } catch (const std::bad_alloc&) {
      return -ENOMEM;
    }
    return 0;
  };
}

}  // namespace heddle::http
