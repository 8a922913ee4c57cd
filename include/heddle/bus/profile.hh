// SPDX-License-Identifier: MIT
// A profile: which topics a program raised, which handlers ran for them in which order, and which
// raises came out of which handlers. Runs are added up. docs/reference/bus.md has the format of the
// text.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// What a profile may hold at most. What is beyond is counted in `dropped` while recording, and
/// refused while reading.
struct profile_limits {
  std::size_t topics_max = 4096;
  std::size_t handlers_max = 16384;
  std::size_t sequences_max = 16;  ///< different sequences of handlers of one topic
  std::size_t sequence_len_max = 4096;
  std::size_t edges_max = 65536;
  std::size_t name_len_max = 4096;
  std::size_t text_len_max = std::size_t{64} << 20;
};

/// Handlers in the order in which a topic ran them, as numbers of profile_data::handlers.
struct profile_sequence {
  std::uint64_t count = 0;
  std::vector<std::uint32_t> handlers;
  friend bool operator==(const profile_sequence&, const profile_sequence&) = default;
};

struct profile_topic {
  std::uint64_t hash = 0;
  std::uint64_t raises = 0;
  std::uint64_t ns = 0;  ///< of all its raises, with what they raised
  bool haltable = false;
  std::string name;
  std::vector<profile_sequence> sequences;
  friend bool operator==(const profile_topic&, const profile_topic&) = default;
};

struct profile_handler {
  std::uint64_t hash = 0;
  std::uint32_t occurrence = 0;
  std::uint64_t calls = 0;
  std::uint64_t ns = 0;  ///< of all its calls, with what they raised
  std::string name;
  friend bool operator==(const profile_handler&, const profile_handler&) = default;
};

enum class edge_kind : std::uint8_t {
  nested,   ///< a handler raised the topic, and waited for it
  posted,   ///< a handler asked for a later raise
  follows,  ///< the topic was raised next, whoever did it
};
[[nodiscard]] const char* to_string(edge_kind kind) noexcept;

struct profile_edge {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  edge_kind kind = edge_kind::nested;
  std::uint32_t from_topic = none;    ///< none: from outside of every raise
  std::uint32_t from_handler = none;  ///< none for follows
  std::uint32_t to_topic = 0;
  std::uint64_t count = 0;
  friend bool operator==(const profile_edge&, const profile_edge&) = default;
};

struct profile_data {
  std::string compiler;  ///< whose names these are
  std::vector<profile_topic> topics;
  std::vector<profile_handler> handlers;
  std::vector<profile_edge> edges;
  std::uint64_t dropped = 0;  ///< what did not fit
  friend bool operator==(const profile_data&, const profile_data&) = default;
};

/// What is wrong with a text, in which line, for people.
struct profile_problem {
  std::size_t line = 0;
  std::string what;
};

[[nodiscard]] std::string to_text(const profile_data& p);
/// Accepts exactly what to_text gives; anything else is a problem.
[[nodiscard]] std::expected<profile_data, profile_problem> parse_profile(
    std::string_view text, const profile_limits& limits = {});
/// Adds what another run has counted. Topics and handlers are the same when their hashes are.
void add_profile(profile_data& sum, const profile_data& more, const profile_limits& limits = {});

/// Reads a profile; throws failure with the file, the line, and what to do.
[[nodiscard]] profile_data read_profile(const std::string& path);
/// Adds to the profile in this file, or makes it. Several processes may do so at once. A profile
/// made by another compiler is replaced; a file that is no profile is left alone, and it throws.
void add_profile_to_file(const std::string& path, const profile_data& more);

}  // namespace heddle
