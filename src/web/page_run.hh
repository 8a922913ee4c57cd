// SPDX-License-Identifier: MIT
// Writes a page for one request. All its sources run at once; the text before the first place whose
// source has not ended is sent meanwhile.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/rendezvous.hh"
#include "heddle/core/scope.hh"
#include "heddle/web/incoming.hh"
#include "web/page_text.hh"

namespace heddle::http {

/// One use of a text in a page: the page itself, or an include. Each has its own sources.
struct page_use {
  std::shared_ptr<const page_text> text;
  std::string file = {};               // the name in messages
  std::size_t parent = 0;              // the use that includes it, if it is an include
  std::size_t include = 0;             // the index of the include there
  std::size_t first_source = 0;        // the index of the first in page_run::results
  std::vector<std::size_t> uses = {};  // for each include of the text its use
};

/// A page with all that it includes. The first use is the page itself. Thread: any; it does not
/// change.
struct page_plan {
  std::vector<page_use> uses;
  std::size_t sources = 0;
  std::string type = "text/html; charset=utf-8";
};

/// The value of a source, or its error.
struct page_result {
  page_value value;
  std::exception_ptr error;
  bool ended = false;

  /// Waits for a source. If it fails, its value is `instead`; else the error is kept. `where`, if
  /// it is not empty, names the source in the error.
  static task<> run(task<page_value> made, std::optional<std::string> instead, std::string where,
                    page_result& to, event<> ended);
};

/// One page on its way to one client. It outlives the scope of its sources.
struct page_run {
  page_run(const page_plan& of, request& by) : plan(of), asked(by), results(of.sources) {}

  /// The text of a term when sources start: its own, a value of an include, or of the request.
  /// Nothing if it is a name of neither.
  [[nodiscard]] std::optional<std::string> known_at_start(std::size_t use, const page_term& term);

  /// Sends the page. Call it in the scope of the sources, when they have been spawned.
  [[nodiscard]] task<response> write();

  /// The head of the page's answer.
  [[nodiscard]] response head() const;

  const page_plan& plan;
  request& asked;
  /// page_files_options::complete; null if there is none.
  const std::function<void(request&, response&)>* complete = nullptr;
  std::vector<page_result> results;
  rendezvous<> ends;

 private:
  friend class page_writer;
  [[nodiscard]] const page_value* of_request(std::string_view name);

  std::map<std::string, page_value, std::less<>> of_request_;
};

/// Follows a name of a use outwards through the includes that give it a value: gives the text, or
/// the outermost name.
[[nodiscard]] const page_term& term_at_start(const page_plan& plan, std::size_t use,
                                             const page_term& term);

/// Whether a name is about the request. Such names are known to every page:
/// request.path, request.method, request.host, request.query.NAME
[[nodiscard]] bool is_request_name(std::string_view name) noexcept;

}  // namespace heddle::http
