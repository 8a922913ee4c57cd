// SPDX-License-Identifier: MIT
// The source `fetch` of pages: the answer of an HTTP server. A page can ask only the origins that
// the program allows.
//
//   http::page_files pages("site");
//   pages.source("fetch", http::fetch_source({.origins = {"http://127.0.0.1:7001"}}));
//
//   {{= user = fetch "http://127.0.0.1:7001/users/$1" request.query.id within 50ms else "" }}
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/client/options.hh"
#include "heddle/web/page_files.hh"

namespace heddle::http {

struct page_fetch_options {
  /// "http://127.0.0.1:7001": scheme, host and port that pages may ask; all others are refused.
  std::vector<std::string> origins = {};
  std::uint64_t answer_bytes_max = 1 << 20;  ///< a longer answer makes the source fail
  /// Options of the client. Redirects are never followed, because they could lead to any origin.
  /// If all per_origin_max connections to an origin are in use, a source waits for one, and that
  /// counts as time of the source.
  client_options client = {.per_origin_max = 64};
};

/// Makes a source that asks by GET. $1 to $9 in the URL are the source's values, percent-encoded, a
/// slash too. A value that would make a segment of the path empty, "." or ".." makes the source
/// fail (source_text::filled_url()). An answer of type JSON gives its value
/// (page_value::of_json()), any other its text. A status other than 2xx makes the source fail.
///
/// Thread: the source, and its copies, belong to the color of the pages that it is given to.
/// Owns: a client, whose connections it keeps. Cancel: ends the request.
/// Fails: throws failure(invalid_argument) for a text that is no origin.
[[nodiscard]] page_source fetch_source(page_fetch_options options);

/// Makes the check of such a source for page_files::source(): it finds URLs that the source refuses
/// for every request, such as those of other origins.
/// Fails: throws failure(invalid_argument) for a text that is no origin.
[[nodiscard]] page_source_check fetch_check(std::vector<std::string> origins);

}  // namespace heddle::http
