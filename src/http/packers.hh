// SPDX-License-Identifier: MIT
// The three libraries behind compress(), one file each: gzip.cc, brotli.cc, zstd.cc. Without its
// library a function gives nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle::http {

[[nodiscard]] std::optional<std::string> pack_gzip(std::string_view plain);
[[nodiscard]] std::optional<std::string> pack_brotli(std::string_view plain);
[[nodiscard]] std::optional<std::string> pack_zstd(std::string_view plain);

}  // namespace heddle::http
