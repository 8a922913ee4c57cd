// SPDX-License-Identifier: MIT
// A page made of parts that are fetched at the same time and sent as they come (Krohn and others,
// 2007, 7.1). The text has places: {{name}} gets a part as text, which is escaped, {{{name}}} one
// as HTML, as it is. The client gets everything before the first part that is not ready yet. Pages
// that lie in files, and begin their sources themselves, are in page_files.hh; the language is one.
//
//   const http::page front("<h1>{{title}}</h1>{{{news}}}<footer>{{{weather}}}</footer>");
//
//   task<http::response> home(http::request& r) {
//     co_return co_await front.send(r, http::part("title", title_of(r)), http::part("news",
//     news()),
//                                   http::part("weather", with_timeout(weather(), 50ms), "none"));
//   }
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/task.hh"
#include "heddle/web/incoming.hh"

namespace heddle::http {

struct page_plan;

/// A part of a page: a name, the task that makes it, and the text to show if the task fails.
struct page_part {
  std::string name;
  task<std::string> made;
  std::optional<std::string> instead;
};

namespace detail {
template <class Awaitable>
task<std::string> as_text(Awaitable wait) {
  co_return co_await std::move(wait);
}
}  // namespace detail

/// Makes a part from an awaitable that gives a string, or from a string.
template <class Awaitable>
  requires(std::is_class_v<Awaitable> && !std::same_as<Awaitable, std::string> &&
           !std::same_as<Awaitable, std::string_view>)
[[nodiscard]] page_part part(std::string name, Awaitable made,
                             std::optional<std::string> instead = std::nullopt) {
  return {std::move(name), detail::as_text(std::move(made)), std::move(instead)};
}
[[nodiscard]] page_part part(std::string name, std::string_view text);

/// Thread: any, once it is made: it does not change.
/// Fails: the constructor throws failure(invalid_argument), which names the line, for a tag that
///   cannot be read, and for a place where no escaping is safe (docs/guide/pages.md).
class page {
 public:
  explicit page(std::string text);

  /// Starts all parts, answers with the page, and ends when its last byte has left. To HEAD it
  /// answers without running the parts.
  ///
  /// Thread: the request's color. Cancel: reaches the parts; the answer is cut.
  /// Fails: throws failure(invalid_argument), before anything is sent, if a place has no part or a
  ///   part no place. The failure of a part without `instead` is rethrown: before the first byte
  ///   has left the client gets an error, afterwards a connection that is cut, so that it does not
  ///   take half a page for a whole one.
  template <class... More>
  [[nodiscard]] task<response> send(request& asked, page_part first, More... more) const {
    std::vector<page_part> parts;
    parts.push_back(std::move(first));
    (parts.push_back(std::move(more)), ...);
    return send_all(asked, std::move(parts));
  }
  [[nodiscard]] task<response> send_all(request& asked, std::vector<page_part> parts) const;

  /// The names of the page's places and sections, in order; a name that occurs twice is there
  /// twice.
  [[nodiscard]] std::vector<std::string_view> places() const;

 private:
  [[nodiscard]] std::vector<std::size_t> match(const std::vector<page_part>& parts) const;

  std::shared_ptr<const page_plan> plan_;  // one use, whose sources are the names of the parts
};

}  // namespace heddle::http
