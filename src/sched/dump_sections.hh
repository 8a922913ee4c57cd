// SPDX-License-Identifier: MIT
// The sections of all runtimes, and what one dump reads of them. A process has few sections, so
// they are one list.
#pragma once

#include <string>
#include <vector>

#include "heddle/sched/dump_section.hh"

namespace heddle {

/// The text of the sections of one runtime at one moment. It exists while a dump is made: the walk
/// through the tasks finds it and fills it while the colors are stopped.
///
/// Thread: that of the worker that makes the dump.
class dump_sections {
 public:
  explicit dump_sections(const runtime& of);
  dump_sections(const dump_sections&) = delete;
  dump_sections& operator=(const dump_sections&) = delete;
  ~dump_sections();

  /// If a dump of this runtime is being made on this thread: reads its sections. `quiet` tells
  /// for each color whether it is stopped; null: all are.
  static void read(const runtime& of, const std::vector<bool>* quiet);

  [[nodiscard]] std::string text() const;
  /// Members for the end of an object, each after a comma.
  [[nodiscard]] std::string json_members() const;

 private:
  friend class dump_section;
  struct one {
    const char* name;
    std::string text, json;
  };
  const runtime& of_;
  std::vector<one> found_;
  std::size_t left_out_ = 0;
};

}  // namespace heddle
