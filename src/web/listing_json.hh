// SPDX-License-Identifier: MIT
// A folder's listing for programs:
//   {"path":"/a/","entries":[{"name":"b","type":"file","size":5,"modified":"2026-01-31T12:00:01Z"},
//    {"name":"c","type":"folder","modified":"..."}],"left_out":0}
// A name that is not UTF-8 has U+FFFD where its bytes are not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "web/html_page.hh"

namespace heddle::http {

[[nodiscard]] std::string listing_json(std::string_view path, const std::vector<listed_name>& names,
                                       std::size_t left_out);

}  // namespace heddle::http
