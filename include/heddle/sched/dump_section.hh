// SPDX-License-Identifier: MIT
// A part of the dump that a higher room adds: the state of something that belongs to one color. It
// appears in runtime::dump(), in dump_json(), and in the dump that SIGQUIT causes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

class runtime;

/// Thread: it is made and leaves in one color, in a running runtime. The dump calls the rest in any
/// worker, while that color does not run; if the color's worker does not stop, the section is left
/// out.
///
///   class my_section : public dump_section {
///     my_section() : dump_section("mine") {}
///     ~my_section() override { leave(); }
///     ...
///   };
class dump_section {
 public:
  dump_section(const dump_section&) = delete;
  dump_section& operator=(const dump_section&) = delete;
  virtual ~dump_section();

  /// Sections of one name share a member of the JSON, which is an array.
  [[nodiscard]] const char* name() const noexcept { return name_; }
  /// Lines for people, each with its line end.
  [[nodiscard]] virtual std::string text() const = 0;
  /// One JSON value.
  [[nodiscard]] virtual std::string json() const = 0;

 protected:
  explicit dump_section(const char* name);
  /// Takes the section out of later dumps. Destructors of derived classes begin with this call.
  void leave() noexcept;

 private:
  friend class dump_sections;
  const char* name_;
  runtime* of_;
  std::uint32_t color_;
};

}  // namespace heddle
