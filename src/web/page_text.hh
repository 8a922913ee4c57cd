// SPDX-License-Identifier: MIT
// A page's text, read into a list of steps. Its language has the tags of Mustache, and lines that
// begin sources: docs/guide/pages.md describes it. Pages of parts (page.hh) and pages from
// files (page_files.hh) share this reader and the writer in page_run.hh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/web/page_value.hh"
#include "web/page_markup.hh"

namespace heddle::http {

/// An error in the text of a page.
struct page_mistake : std::runtime_error {
  page_mistake(std::uint32_t line_of_text, const std::string& what)
      : runtime_error(what), line(line_of_text) {}
  std::uint32_t line;
};

/// A value in a tag: a text in quotes, or the name of a value.
struct page_term {
  bool is_name = false;
  std::string text;  // the name, or the text
  page_value value;  // the text as a page shows it
};

/// {{= name = kind "text" terms within TIME else "text" }}
struct page_source_line {
  std::string name = {};
  std::string kind = {};
  std::string text = {};
  std::vector<page_term> terms = {};
  std::optional<nanoseconds> within = {};
  std::optional<std::string> instead = {};
  std::uint32_t line = 0;
};

/// {{> path name=term}}
struct page_include {
  std::string path = {};
  std::vector<std::pair<std::string, page_term>> values = {};
  std::uint32_t line = 0;
};

struct page_step {
  enum class kind : std::uint8_t { text, place, section, inverted, end, include };
  kind what = kind::text;
  page_escape escape = page_escape::none;
  std::size_t other = 0;  // the end of a section, the section of an end, or an include's index
  std::string text = {};  // literal text, or a name
};

/// Thread: any; it does not change.
struct page_text {
  std::vector<page_step> steps;
  std::vector<page_source_line> sources;
  std::vector<page_include> includes;
};

struct page_rules {
  enum class escaping : std::uint8_t {
    html,    ///< by the place's point in the HTML
    markup,  ///< as text of XML
    none,    ///< plain text
  };
  escaping how = escaping::html;
  bool files = true;  ///< sources and includes are allowed
  std::size_t sections_max = 64;
};

/// Reads a text. Throws page_mistake.
[[nodiscard]] page_text read_page(std::string_view text, const page_rules& rules = {});

}  // namespace heddle::http
