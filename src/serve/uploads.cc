// SPDX-License-Identifier: MIT
// Stores the bodies of PUT requests, and the files of forms.
#include "serve/uploads.hh"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "heddle/core/sleep.hh"
#include "heddle/http/conditional.hh"
#include "heddle/http/detail/identity_of.hh"
#include "heddle/http/uri.hh"
#include "heddle/io/blocking.hh"
#include "heddle/io/detail/files_here.hh"
#include "heddle/io/detail/unfinished_name.hh"
#include "heddle/io/directory.hh"
#include "heddle/io/file.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/web/detail/hidden_path.hh"
#include "heddle/web/form.hh"
#include "heddle/web/problem_details.hh"
#include "serve/writable_folder.hh"

namespace heddle::serve {
namespace {

constexpr std::string_view form_page =
    "<!doctype html><meta charset=utf-8><meta name=viewport content=\"width=device-width\">"
    "<title>Upload</title><form method=post enctype=multipart/form-data>"
    "<p><label>Files for this folder: <input type=file name=file multiple required></label>"
    "<p><button>Upload</button> <a href=\".\">Back to the folder</a></form>\n";

constexpr std::size_t name_bytes_max = 255;  // the limit of the usual file systems

/// Refuses names that are no single segment of a path, and those that would surprise in a list.
void check_name(std::string_view name, bool hidden) {
  if (name.empty() || name == "." || name == ".." || name.size() > name_bytes_max ||
      std::ranges::any_of(name, [](char c) {
        return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
      }))
    throw http::status_error(400, "the file has no name that could be kept");
  if (http::withheld_name(name, hidden))
    throw http::status_error(403, "names that begin with a dot are hidden here");
}

/// The last part of what a browser gives as a name; some give a whole path.
std::string own_name(std::string_view given) {
  const std::size_t slash = given.find_last_of("/\\");
  return std::string(slash == given.npos ? given : given.substr(slash + 1));
}

/// The folder of a decoded path, relative to the served one, and the name behind its last slash.
struct upload_place {
  std::string folder;
  std::string name;
};

upload_place place_of(const std::string& path, bool hidden) {
  if (!hidden && path.find("/.") != path.npos)
    throw http::status_error(403, "names that begin with a dot are hidden here");
  const std::size_t slash = path.rfind('/');
  upload_place at{path.substr(0, slash), path.substr(slash + 1)};
  at.folder.erase(0, std::min(at.folder.find_first_not_of('/'), at.folder.size()));
  if (at.folder.empty()) at.folder = ".";
  return at;
}

constexpr const char* part_name = "upload";  // for directory::remove_unfinished()

/// Gives a whole file its name: 0 or -errno. Without `replace` a name that is taken stays: -EEXIST.
int give_name(int folder, const std::string& from, const std::string& to, bool replace) noexcept {
  driver_files& files = heddle::detail::files_here();
  if (replace) return files.rename(folder, from.c_str(), to.c_str());
  if (const int error = files.link(folder, from.c_str(), to.c_str()); error != 0) return error;
  files.remove(folder, from.c_str());  // a second name of the same file, and hidden
  return 0;
}

[[noreturn]] void refuse(const failure& e, const std::string& name) {
  if (e.code() == std::errc::no_such_file_or_directory || e.code() == std::errc::not_a_directory ||
      e.code() == std::errc::cross_device_link ||
      e.code() == std::errc::too_many_symbolic_link_levels)
    throw http::status_error(404, "there is no such folder to put the file into");
  if (e.code() == std::errc::permission_denied || e.code() == std::errc::read_only_file_system ||
      e.code() == std::errc::operation_not_permitted)
    throw http::status_error(403, "this server may not write there");
  if (e.code() == std::errc::no_space_on_device || e.code().value() == EDQUOT)
    throw http::status_error(507, "there is no room for '" + name + "' on the disk");
  throw;
}

/// Writes the bytes that `more` gives, until there are none.
template <class More>
task<> fill(file& out, More more) {
  std::uint64_t at = 0;
  for (;;) {
    const std::string_view bytes = co_await more();
    if (bytes.empty()) break;
    co_await out.write_at(at, bytes);
    at += bytes.size();
  }
  co_await out.sync();
}

/// The files of one request. They are written under hidden names; keep() gives them their own, once
/// the request has been read to its end. Files without a name of their own are removed.
class new_files {
 public:
  new_files(const upload_rules& rules, directory into) : rules_(rules), into_(std::move(into)) {}
  new_files(const new_files&) = delete;
  new_files& operator=(const new_files&) = delete;
  /// Removes files without a name, also when this task is cancelled: broken parts must not stay.
  ~new_files() {
    driver_files& files = heddle::detail::files_here();
    for (const file_part& f : parts_) files.remove(into_.number(), f.part.c_str());
  }

  /// Writes the bytes that `more` gives to a new file.
  template <class More>
  task<> add(std::string name, More more) {
    check_name(name, rules_.hidden);
    const auto before = co_await as_expected(into_.status(name, links::none));
    const bool is_new = !before && before.error() == std::errc::no_such_file_or_directory;
    if (!is_new && (!before || before->type != entry_type::file))
      throw http::status_error(409, "'" + name + "' is there, and is no file");
    if (before && !rules_.replace) refuse_replacing(name);
    parts_.push_back({heddle::detail::unfinished_name(part_name), name, is_new});
    std::exception_ptr failed;
    try {
      file out = co_await into_.open(parts_.back().part,
                                     {.write = true, .create = true, .exclusive = true});
      co_await fill(out, std::move(more));
      co_return;
    } catch (...) {
      failed = std::current_exception();
    }
    rethrow(failed, name);
  }

  /// Gives all files of this upload their names, or, if that fails, none of the new names. True if
  /// no file replaced another one.
  task<bool> keep() {
    std::string name;
    std::exception_ptr failed;
    try {
      const int error = co_await blocking([&] { return give_names(name); });
      if (error == -EEXIST) refuse_replacing(name);
      if (error != 0)
        throw failure({-error, std::generic_category()}, "cannot keep '" + name + "'");
      co_await into_.sync();
      co_return std::ranges::all_of(std::exchange(parts_, {}), &file_part::is_new);
    } catch (...) {
      failed = std::current_exception();
    }
    rethrow(failed, name);
  }

  [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }

 private:
  struct file_part {
    std::string part;  // the hidden name
    std::string name;
    bool is_new;
  };

  [[noreturn]] static void refuse_replacing(const std::string& name) {
    throw http::status_error(409, "'" + name + "' is there; this server replaces no files");
  }
  [[noreturn]] static void rethrow(const std::exception_ptr& failed, const std::string& name) {
    try {
      std::rethrow_exception(failed);
    } catch (const failure& e) {
      refuse(e, name);
    }
  }

  /// Gives the files their names. The result is 0, or -errno about `name`.
  int give_names(std::string& name) const {
    for (auto at = parts_.begin(); at != parts_.end(); ++at) {
      const int error = give_name(into_.number(), at->part, at->name, rules_.replace);
      if (error == 0) continue;
      name = at->name;
      for (auto done = parts_.begin(); done != at; ++done)
        if (done->is_new) heddle::detail::files_here().remove(into_.number(), done->name.c_str());
      return error;
    }
    return 0;
  }

  const upload_rules& rules_;
  directory into_;
  std::vector<file_part> parts_;
};

constexpr std::size_t tidied_most = 1000;  // clients choose the paths
constexpr nanoseconds tidy_again = std::chrono::hours(1);

/// Removes unfinished uploads of processes that were killed, once an hour in each folder. It
/// changes nothing else if that fails. A file is left alone for an hour, because another server may
/// be writing it.
task<> tidy(const upload_rules& rules, std::string path, directory folder) {
  const time_point now = clock::now();
  const auto last = rules.tidied->find(path);
  if (last == rules.tidied->end() ? rules.tidied->size() == tidied_most
                                  : now - last->second < tidy_again)
    co_return;
  rules.tidied->insert_or_assign(std::move(path), now);
  static_cast<void>(co_await as_expected(folder.remove_unfinished(part_name)));
}

task<directory> folder_at(const upload_rules& rules, std::string path) {
  std::exception_ptr failed;
  try {
    const directory served = co_await open_directory(rules.folder);
    directory found = co_await served.open_directory(path);
    if (rules.hidden || !http::opened_hidden(served.number(), found.number())) {
      co_await tidy(rules, std::move(path), found);
      co_return found;
    }
    failed = std::make_exception_ptr(
        http::status_error(404, "there is no such folder to put the file into"));
  } catch (...) {
    failed = std::current_exception();
  }
  try {
    std::rethrow_exception(failed);
  } catch (const failure& e) {
    refuse(e, "the file");
  }
}

/// Whether the client's conditions about the file that is there hold (RFC 9110 section 13.2). What
/// happens between this look and the new name is not seen.
bool conditions_hold(const http::request_head& head, const directory& into,
                     const std::string& name) {
  struct ::statx s{};
  const bool exists =
      heddle::detail::files_here().stat(into.number(), name.c_str(), AT_SYMLINK_NOFOLLOW, s) == 0;
  const http::file_etag tag(http::identity_of(s));
  http::validators current{tag.text(), std::nullopt, exists};
  if (exists) current.last_modified = s.stx_mtime.tv_sec;
  const std::int64_t now =
      std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
  return http::evaluate(head, current, now).what != http::condition::precondition_failed;
}

task<http::response> put(std::shared_ptr<const upload_rules> rules, http::request& r,
                         std::string path) {
  // RFC 9110 section 14.5: a part of a file must not be taken for the whole.
  if (r.head().has("Content-Range"))
    throw http::status_error(400, "an upload is a whole file; Content-Range is not supported");
  if (r.head().has("Content-Encoding"))
    throw http::status_error(415, "send the file as it is to be kept, without Content-Encoding");
  upload_place at = place_of(path, rules->hidden);
  if (at.name.empty()) throw http::status_error(400, "name the file at the end of the path");
  r.limit_body(rules->bytes_max);
  directory into = co_await folder_at(*rules, std::move(at.folder));
  if (!conditions_hold(r.head(), into, at.name))
    throw http::status_error(412, "the file there is not the one that the request is about");
  upload_rules these = *rules;
  if (r.header(http::header_id::if_none_match) == "*") these.replace = false;
  const auto more = [&r] { return r.read(); };
  new_files files(these, std::move(into));
  co_await files.add(std::move(at.name), more);
  const bool is_new = co_await files.keep();
  http::response done(is_new ? 201 : 204);
  if (is_new) {
    done.header("Location", http::own_location(r.path()));
    done.text("stored\n");
  }
  co_return done;
}

/// Whether a page of another site sent the request: it must not make a visitor's browser store
/// files here.
bool from_elsewhere(const http::request& r) {
  const std::string_view fetch = r.header("Sec-Fetch-Site");
  if (!fetch.empty()) return fetch != "same-origin" && fetch != "none";
  const std::string_view origin = r.header("Origin");
  if (origin.empty()) return false;
  const std::size_t slashes = origin.find("://");
  return slashes == origin.npos ||
         !http::equal_ignoring_case(origin.substr(slashes + 3), r.header(http::header_id::host));
}

task<http::response> take_form(std::shared_ptr<const upload_rules> rules, http::request& r,
                               std::string path) {
  if (from_elsewhere(r)) throw http::status_error(403, "this form belongs to another site");
  upload_place at = place_of(path, rules->hidden);
  if (!at.name.empty())
    throw http::status_error(400, "a form puts files into a folder; its path ends with a slash");
  r.limit_body(rules->bytes_max);
  new_files files(*rules, co_await folder_at(*rules, std::move(at.folder)));
  http::multipart_reader parts(r);
  for (;;) {
    const bool found = co_await parts.next();
    if (!found) break;
    if (!parts.part().filename || parts.part().filename->empty()) continue;
    std::string name = own_name(*parts.part().filename);
    const auto more = [&parts] { return parts.read(); };
    co_await files.add(std::move(name), more);
  }
  if (files.empty()) throw http::status_error(400, "the form has no file");
  static_cast<void>(co_await files.keep());
  http::response done(303);
  done.header("Location", http::own_location(r.path()));
  co_return done;
}

/// The folder that all uploads to this place are below; "" if there is none.
std::string folder_of_place(const std::string& served, const path_pattern& place) {
  const auto below = place.folder();
  if (!below) return "";
  std::string folder = served + *below;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder;
}

/// Throws failure if no file can be put there, because every upload would be refused.
void check_place(const std::string& served, const path_pattern& place) {
  const std::string folder = folder_of_place(served, place);
  const int error = folder.empty() ? 0 : folder_trouble(folder);
  if (error == 0) return;
  throw failure({error, std::generic_category()},
                "upload " + place.text() + ": files cannot be put into the folder '" + folder +
                    "'; make it, and let this user write there");
}

task<> tidy_place(std::string folder) {
  const directory found = co_await open_directory(std::move(folder));
  co_await found.remove_unfinished(part_name);
}

}  // namespace

task<> tidy_uploads(std::string served, std::vector<path_pattern> places) {
  for (;;) {
    for (const path_pattern& place : places)
      if (std::string folder = folder_of_place(served, place); !folder.empty())
        static_cast<void>(co_await as_expected(tidy_place(std::move(folder))));
    co_await sleep_for(tidy_again);
  }
}

uploads::uploads(bus& b, const serve_options& o)
    : bus_(b),
      rules_(std::make_shared<const upload_rules>(upload_rules{
          o.directory, o.uploads, o.upload_bytes_max, o.upload_replace, o.files.hidden})) {
  for (const path_pattern& place : rules_->places) check_place(o.directory, place);
  b.bind<asked, &uploads::on_asked>(this, 85);
}

flow uploads::on_asked(question& q) {
  http::request& r = q.request;
  const http::method verb = r.verb();
  const bool in_folder = r.path().ends_with('/');
  const bool form = verb == http::method::get && r.query() == "upload" && in_folder;
  if ((verb == http::method::get || verb == http::method::head) && !form) return flow::go_on;
  // The place that a path leads to decides whether files may be put there, not its spelling.
  std::string room(r.path().size(), '\0');
  const auto decoded = http::decode_path(r.path(), room);
  if (!decoded || !std::ranges::any_of(rules_->places,
                                       [&](const path_pattern& p) { return p.matches(*decoded); }))
    return flow::go_on;
  if (form)
    return answer_at_once(
        bus_, q, http::response(200).body("text/html; charset=utf-8", std::string(form_page)));
  if (verb != http::method::put && verb != http::method::post) {
    http::response no = http::problem_response(
        r.head(),
        {.status = verb == http::method::other ? 501 : 405,
         .detail = "this method cannot upload; the field Allow lists the methods that can"});
    no.header("Allow", in_folder ? "GET, HEAD, POST" : "GET, HEAD, PUT");
    return answer_at_once(bus_, q, std::move(no));
  }
  q.answer = verb == http::method::put ? put(rules_, r, std::string(*decoded))
                                       : take_form(rules_, r, std::string(*decoded));
  return flow::halt;
}

}  // namespace heddle::serve
