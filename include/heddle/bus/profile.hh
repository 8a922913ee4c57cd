// SPDX-License-Identifier: MIT
// A profile: the topics that a program raised, the handlers that ran for them in which order, and
// the raises that handlers caused. Profiles of several runs are added. docs/reference/bus.md has
// the text format.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/language.hh"

namespace heddle {

/// The limits of a profile. While recording, excess entries are counted in `dropped`; while
/// reading, they are an error.
struct profile_limits {
  std::size_t topics_max = 4096;
  std::size_t handlers_max = 16384;
  std::size_t sequences_max = 16;  ///< different sequences of handlers of one topic
  std::size_t sequence_len_max = 4096;
  std::size_t edges_max = 65536;
  std::size_t name_len_max = 4096;
  std::size_t text_len_max = std::size_t{64} << 20;
};

/// A sequence of handlers as one raise ran them, as indexes in profile_data::handlers.
struct profile_sequence {
  std::uint64_t count = 0;
  std::vector<std::uint32_t> handlers;
  friend bool operator==(const profile_sequence&, const profile_sequence&) = default;
};

struct profile_topic {
  std::uint64_t hash = 0;
  std::uint64_t raises = 0;
  std::uint64_t ns = 0;  ///< total time of its raises, nested raises included
  bool haltable = false;
  std::string name;
  std::vector<profile_sequence> sequences;
  friend bool operator==(const profile_topic&, const profile_topic&) = default;
};

struct profile_handler {
  /// Occurrences from here on: handlers of files with equal names, which a build cannot
  /// distinguish.
  static constexpr int confused = 65536;
  std::uint64_t hash = 0;
  std::uint32_t occurrence = 0;
  std::uint64_t calls = 0;
  std::uint64_t ns = 0;  ///< total time of its calls, raises inside included
  std::string name;
  friend bool operator==(const profile_handler&, const profile_handler&) = default;
};

enum class edge_kind : std::uint8_t {
  nested,   ///< a handler raised the topic and waited for it
  posted,   ///< a handler requested a later raise
  follows,  ///< the topic was the next one raised, by any code
};
[[nodiscard]] const char* to_string(edge_kind kind) noexcept;

struct profile_edge {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  edge_kind kind = edge_kind::nested;
  std::uint32_t from_topic = none;    ///< the edge's first topic; `none` outside of any raise
  std::uint32_t from_handler = none;  ///< the handler that raised or posted; `none` for follows
  std::uint32_t to_topic = 0;
  std::uint64_t count = 0;
  friend bool operator==(const profile_edge&, const profile_edge&) = default;
};

struct profile_data {
  std::string compiler;  ///< the compiler that the names are from
  std::vector<profile_topic> topics;
  std::vector<profile_handler> handlers;
  std::vector<profile_edge> edges;
  std::uint64_t dropped = 0;  ///< entries beyond the limits
  friend bool operator==(const profile_data&, const profile_data&) = default;
};

/// An error in a profile's text, with its line, as a readable message.
struct profile_problem {
  std::size_t line = 0;
  std::string what;
};

[[nodiscard]] std::string to_text(const profile_data& p);
/// Accepts exactly the output of to_text; anything else is an error.
[[nodiscard]] std::expected<profile_data, profile_problem> parse_profile(
    std::string_view text, const profile_limits& limits = {});
/// Adds the counts of another run. Equal hashes identify topics and handlers.
void add_profile(profile_data& sum, const profile_data& more, const profile_limits& limits = {});

/// Reads a profile. Throws failure with the file, the line and advice.
[[nodiscard]] profile_data read_profile(const std::string& path);
/// Adds to the profile in this file, or creates it. Several processes may do so at once. Replaces a
/// profile made by another compiler. If the file is not a profile, throws and leaves it unchanged.
void add_profile_to_file(const std::string& path, const profile_data& more);

}  // namespace heddle
