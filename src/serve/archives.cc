// SPDX-License-Identifier: MIT
// Walks a folder and sends its files one after the other, with the heads that the format wants.
#include "serve/archives.hh"

#include <algorithm>
#include <vector>

#include "heddle/base/crc32.hh"
#include "heddle/http/uri.hh"
#include "heddle/io/directory.hh"
#include "heddle/io/file.hh"
#include "heddle/web/body_writer.hh"
#include "heddle/web/detail/hidden_path.hh"
#include "heddle/web/problem_details.hh"
#include "serve/tar_format.hh"
#include "serve/zip_format.hh"

namespace heddle::serve {
namespace {

constexpr std::size_t depth_max = 64;
constexpr std::size_t read_bytes = 64 * 1024;

/// One archive on its way to one client.
class archive_writer {
 public:
  archive_writer(const archive_rules& rules, directory served, std::string folder,
                 http::body_writer& out, bool zip)
      : rules_(rules),
        served_(std::move(served)),
        folder_(std::move(folder)),
        out_(out),
        zip_(zip),
        buffer_(read_bytes) {}

  task<> add_folder(directory at, std::string inside, std::size_t depth) {
    if (depth == depth_max) throw failure(std::make_error_code(std::errc::filename_too_long));
    const std::vector<directory_entry> entries = co_await at.list();
    for (const directory_entry& e : entries) {
      if (http::withheld_name(e.name, rules_.hidden)) continue;
      if (++files_ > rules_.files_max)
        throw failure(std::make_error_code(std::errc::file_too_large),
                      "the folder has more files than an archive may have");
      const bool is_link = e.type == entry_type::link;
      // A link may lead anywhere in the served folder, as it does for visitors.
      const directory& from = is_link ? served_ : at;
      const std::string name = is_link ? folder_ + '/' + inside + e.name : e.name;
      const auto status = co_await as_expected(from.status(name));
      if (!status) continue;  // removed meanwhile, or a link that leads out
      archived_file f{inside + e.name, 0,
                      std::chrono::floor<std::chrono::seconds>(status->modified).count(),
                      (status->mode & 0100) != 0};
      if (status->type == entry_type::directory && !is_link) {  // a link could lead in a circle
        f.path += '/';
        const std::string head = head_of(f, 0);
        co_await out_.write(head);
        auto below = co_await as_expected(at.open_directory(e.name, links::none));
        if (below) co_await add_folder(std::move(*below), f.path, depth + 1);
      } else if (status->type == entry_type::file) {
        auto opened = co_await as_expected(from.open(name));
        const bool may_have = opened && (!is_link || rules_.hidden ||
                                         !http::opened_hidden(served_.number(), opened->number()));
        if (may_have) co_await add_file(std::move(*opened), std::move(f));
      }
    }
  }

  task<> end() {
    const std::string bytes = zip_ ? format_.end() : tar_end();
    co_await out_.write(bytes);
  }

 private:
  std::string head_of(const archived_file& f, std::uint32_t crc) {
    return zip_ ? format_.head(f, crc) : tar_head(f);
  }

  task<> add_file(file from, archived_file f) {
    f.size = co_await from.size();
    std::uint32_t crc = 0;
    for (std::uint64_t at = 0; zip_ && at < f.size;) {
      const std::string_view bytes = co_await part(from, at, f.size);
      crc = crc32(bytes, crc);
      at += bytes.size();
    }
    const std::string head = head_of(f, crc);
    co_await out_.write(head);
    std::uint32_t sent = 0;
    for (std::uint64_t at = 0; at < f.size;) {
      const std::string_view bytes = co_await part(from, at, f.size);
      if (zip_) sent = crc32(bytes, sent);
      co_await out_.write(bytes);
      at += bytes.size();
    }
    if (zip_ && f.size != 0 && sent != crc) changed(f);
    const std::string padding = zip_ ? std::string() : tar_padding(f.size);
    co_await out_.write(padding);
  }

  /// The next bytes of a file that has `size` bytes. Its head is sent, so it may not shrink.
  task<std::string_view> part(file& from, std::uint64_t at, std::uint64_t size) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(read_bytes, size - at));
    const std::size_t got =
        co_await from.read_at(at, byte_span(reinterpret_cast<std::byte*>(buffer_.data()), wanted));
    if (got == 0)
      throw failure(std::make_error_code(std::errc::io_error),
                    "a file became shorter while it was sent");
    co_return std::string_view(buffer_.data(), got);
  }
  [[noreturn]] static void changed(const archived_file& f) {
    throw failure(std::make_error_code(std::errc::io_error),
                  f.path + " was changed while it was sent");
  }

  const archive_rules& rules_;
  directory served_;
  std::string folder_;  // beneath served_
  http::body_writer& out_;
  bool zip_;
  zip_format format_;
  std::vector<char> buffer_;
  std::size_t files_ = 0;
};

/// A name for the file that the client saves, without what could end the quotes around it.
std::string saved_name(std::string_view folder, std::string_view suffix) {
  const std::size_t slash = folder.rfind('/');
  std::string name(slash == folder.npos ? folder : folder.substr(slash + 1));
  std::erase_if(name, [](char c) {
    return c < 0x20 || c == 0x7f || c == '"' || c == '\\' || static_cast<unsigned char>(c) > 0x7f;
  });
  if (name.empty() || name == ".") name = "archive";
  return (name += '.') += suffix;
}

task<http::response> send_archive(std::shared_ptr<const archive_rules> rules, http::request& r,
                                  bool zip) {
  std::string room(r.path().size(), '\0');
  const auto path = http::decode_path(r.path(), room);
  if (!path) throw http::status_error(400, "the path cannot be decoded");
  if (!rules->hidden && path->find("/.") != path->npos)
    throw http::status_error(404, "there is no such folder");
  std::string folder(*path);
  folder.erase(0, folder.find_first_not_of('/') == folder.npos ? folder.size()
                                                               : folder.find_first_not_of('/'));
  while (folder.ends_with('/')) folder.pop_back();
  if (folder.empty()) folder = ".";
  const directory served = co_await open_directory(rules->folder);
  auto at = co_await as_expected(served.open_directory(folder));
  if (!at || (!rules->hidden && http::opened_hidden(served.number(), at->number())))
    throw http::status_error(404, "there is no such folder");
  http::response head(200);
  head.header("Content-Type", zip ? "application/zip" : "application/x-tar");
  head.header("Content-Disposition",
              "attachment; filename=\"" + saved_name(folder, zip ? "zip" : "tar") + '"');
  head.header("Cache-Control", "no-store");
  http::body_writer out = co_await r.start(std::move(head));
  if (r.verb() == http::method::head) co_return out.done();
  archive_writer archive(*rules, served, folder, out, zip);
  co_await archive.add_folder(std::move(*at), "", 0);
  co_await archive.end();
  co_return out.done();
}

}  // namespace

archives::archives(bus& b, const serve_options& o)
    : bus_(b),
      rules_(std::make_shared<const archive_rules>(
          archive_rules{o.directory, o.files.hidden, o.archive_files_max})) {
  b.bind<asked, &archives::on_asked>(this, 86);
}

flow archives::on_asked(question& q) {
  http::request& r = q.request;
  const bool zip = r.query() == "archive=zip";
  if ((!zip && r.query() != "archive=tar") || !r.path().ends_with('/')) return flow::go_on;
  if (r.verb() != http::method::get && r.verb() != http::method::head) return flow::go_on;
  q.answer = send_archive(rules_, r, zip);
  return flow::halt;
}

}  // namespace heddle::serve
