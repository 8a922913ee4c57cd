// SPDX-License-Identifier: MIT
// A host tool's message about a source file: one error or warning with its place, a second place if
// there is one, and a remedy. The printer shows the line with a caret, or writes JSON.
#pragma once

#include <string>
#include <vector>

#include "source/source_file.hh"

namespace heddle::source {

enum class severity : std::uint8_t { error, warning, note };

/// A place that explains a diagnostic: "it was moved here".
struct note {
  span at;  ///< may be empty: then only the message is shown
  std::string message;
};

struct diagnostic {
  std::string code;  ///< "D0105": its page is `heddle explain D0105`; empty when there is none
  severity level = severity::error;
  span at;
  std::string message;
  std::vector<note> notes = {};  ///< second places
  std::string hint = {};         ///< the remedy; empty when there is nothing useful to say
};

/// The diagnostics of one run, in the order in which they were found.
///
/// Thread: one. Owns: the diagnostics; the files must outlive it.
class diagnostics {
 public:
  /// After this many errors the rest are counted and not kept, so a hopeless input stays readable.
  static constexpr std::size_t kept_max = 200;

  diagnostic& add(diagnostic d);
  diagnostic& error(std::string code, span at, std::string message);
  diagnostic& warning(std::string code, span at, std::string message);

  [[nodiscard]] bool has_errors() const noexcept { return errors_ != 0; }
  [[nodiscard]] std::size_t errors() const noexcept { return errors_; }
  [[nodiscard]] const std::vector<diagnostic>& all() const noexcept { return all_; }
  /// Sorts by file and offset; equal places keep their order.
  void sort();
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  std::vector<diagnostic> all_;
  diagnostic spare_;  // given by add() when no more are kept
  std::size_t errors_ = 0;
};

struct print_options {
  bool colors = false;
  bool json = false;
};

/// One diagnostic as text:
///
///   echo.draft:7:9: error[D0401]: the result of `write` may be an error and is ignored
///      7 |         c.write(m)
///        |         ^~~~~~~~~~
///     hint: write `try c.write(m)`, or handle it with `or`
[[nodiscard]] std::string to_text(const diagnostic& d, bool colors = false);
/// One diagnostic as one line of JSON.
[[nodiscard]] std::string to_json(const diagnostic& d);
/// All of them; JSON is one array.
[[nodiscard]] std::string print(const diagnostics& all, print_options options = {});

}  // namespace heddle::source
