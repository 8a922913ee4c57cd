// SPDX-License-Identifier: MIT
// Pages from files (Krohn and others, 2007, 7.1): each *.page file of a folder is a page, which
// begins its sources itself. They all run at once, and the text before the first one that has not
// ended is sent meanwhile. docs/guide/pages.md describes the language.
//
//   {{= weather = fetch "http://127.0.0.1:7001/now" within 50ms else "unknown" }}
//   {{> parts/head.page title="News"}}
//   <ul>{{#news}}<li><a href="{{url}}">{{title}}</a>{{/news}}</ul><p>{{weather}}</p>
//
//   http::page_files pages("site");
//   pages.source("query", &query);  // task<http::page_value> query(http::source_call)
//   routes.get("/{path...}", [&](http::request& r) { return pages.answer(r); });
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "heddle/web/incoming.hh"
#include "heddle/web/page_value.hh"

namespace heddle::http {

/// A page cannot be shown. The text says where and why:
/// "site/a.page:7: {{#news}} is not closed".
class page_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The text of one source of a page, and its values.
class source_text {
 public:
  source_text(std::string text, std::vector<std::string> arguments, bool known = true)
      : text_(std::move(text)), arguments_(std::move(arguments)), known_(known) {}

  /// The text in quotes behind the source's kind, as the page's author wrote it.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// The values behind it. They may come from the client: give them to a database as parameters.
  [[nodiscard]] const std::vector<std::string>& arguments() const noexcept { return arguments_; }
  /// Whether the values are those of a request. A check of a page has none for names such as
  /// request.query.id, and takes "1" instead.
  [[nodiscard]] bool known() const noexcept { return known_; }
  /// The text, in which $1 to $9 are replaced by the arguments, written by `append`; $$ is "$".
  /// Fails: throws failure(invalid_argument) for an argument that is not there.
  [[nodiscard]] std::string filled(void (*append)(std::string& out, std::string_view value)) const;
  /// The text as a URL or a path: the arguments are percent-encoded, a slash too. No argument can
  /// change which segments the path has.
  /// Fails: throws failure(invalid_argument) for an argument that is not there, and for a segment
  ///   of the path that arguments would make empty, "." or ".." (RFC 3986 section 5.2.4). An
  ///   encoded dot is a dot (section 6.2.2.3), so that such a segment cannot be sent.
  [[nodiscard]] std::string filled_url() const;

 private:
  std::string text_;
  std::vector<std::string> arguments_;
  bool known_;
};

/// The question of one source of a page, for one request.
class source_call : public source_text {
 public:
  source_call(std::string text, std::vector<std::string> arguments, request& asked)
      : source_text(std::move(text), std::move(arguments)), asked_(&asked) {}

  /// The request that the page answers, valid until the source has ended.
  [[nodiscard]] request& asked() const noexcept { return *asked_; }

 private:
  request* asked_;
};

/// Makes the value of a source.
using page_source = std::function<task<page_value>(source_call)>;
/// Throws failure if a source of this text fails for every request. page_files::check() calls it.
using page_source_check = std::function<void(const source_text&)>;

struct page_files_options {
  bool reload = true;  ///< look whether files have changed; false: each is read once
  nanoseconds trust = std::chrono::seconds(1);  ///< how long a file is used without a new look
  std::size_t levels_max = 16;                  ///< includes inside each other
  std::size_t includes_max = 256;               ///< includes of a page, those below them counted
  std::size_t sources_max = 64;                 ///< sources of a page, those of its includes too
  std::size_t sections_max = 64;                ///< sections inside each other
  std::size_t file_bytes_max = 1 << 20;         ///< a page's file, and a file that `read` gives
  std::size_t files_max = 1024;                 ///< files and missing names that are kept
  /// How long a source without `within` may take.
  nanoseconds source_timeout = std::chrono::seconds(10);
  /// Completes the head of a page's answer before it is sent, for example with more fields.
  std::function<void(request& asked, response& head)> complete = {};
};

class page_folder;

/// The path /a/b is the file a/b.page, and /a/ is a/index.page. /feed.xml is feed.xml.page, a page
/// of XML; other names are HTML, or plain text if they end with .txt, .csv or .md. Names that begin
/// with "." or "_" are for includes: no path leads to them.
///
/// Thread: one color. Owns: the folder's descriptor, and the pages that it has read.
/// Cancel: reaches the sources; the answer is cut.
/// Fails: answer() throws page_error for a page that cannot be shown: the client gets 500, or a
///   connection that is cut if the page has begun.
class page_files {
 public:
  /// Opens the folder at the first request. It has the source `read`, which gives a file of the
  /// folder: a text, or for a name with .json the value in it.
  explicit page_files(std::string folder, page_files_options options = page_files_options());
  ~page_files();
  page_files(const page_files&) = delete;
  page_files& operator=(const page_files&) = delete;

  /// Adds a kind of source; one of the same name is replaced. `check` may be empty.
  void source(std::string kind, page_source make, page_source_check check = {});

  /// Answers with the page of the request's path, or with 404. Methods other than GET and HEAD get
  /// 405. To HEAD it answers without running the sources.
  [[nodiscard]] task<response> answer(request& asked);
  /// Answers like answer(); gives nothing if the path is no page, or the method is neither GET nor
  /// HEAD, so that another part of the program can answer.
  [[nodiscard]] task<std::optional<response>> answer_if_page(request& asked);

  /// Reads all pages of the folder. Gives one message for each page that cannot be shown, and for
  /// each source whose check fails.
  /// Fails: throws failure if the folder cannot be read.
  [[nodiscard]] task<std::vector<std::string>> check();
  /// Requests being answered; do not destroy the object while there are any.
  [[nodiscard]] std::size_t busy() const noexcept { return busy_; }

 private:
  std::unique_ptr<page_folder> folder_;
  std::size_t busy_ = 0;
};

}  // namespace heddle::http
