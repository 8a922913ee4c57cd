// SPDX-License-Identifier: MIT
// The settings in the machine's files, read through the driver and read again when they change, and
// the decision that follows: name servers or the system's resolver.
#pragma once

#include <memory>
#include <string>

#include "heddle/core/task.hh"
#include "heddle/io/file.hh"
#include "heddle/names/options.hh"
#include "names/servers.hh"
#include "names/system_files.hh"

namespace heddle::names::detail {

/// Thread: one color. One task at a time calls refresh().
class settings {
 public:
  /// The options must outlive this object.
  explicit settings(const resolver_options& options) noexcept : options_(options) {}

  /// Whether refresh() is due.
  [[nodiscard]] bool stale(time_point now) const noexcept { return now >= fresh_until_; }
  /// Reads the files that changed. If a file can no longer be read, its old text counts; if it
  /// never could, `trouble` says so. Fails: only by cancellation and std::bad_alloc.
  [[nodiscard]] task<> refresh();

  bool system = true;                   ///< answers come from resolve(), not from servers
  std::string reason;                   ///< the reason why `system` is true or false
  std::string trouble;                  ///< "cannot read FILE: why"; look-ups fail meanwhile
  std::shared_ptr<server_set> servers;  ///< null or not empty
  std::vector<std::string> search;
  std::uint32_t ndots = 1;
  host_table hosts;
  ignored_lines ignored;

 private:
  struct watched {
    file_status seen;
    bool known = false;  ///< `text` is what the file said, or the file was not there
    bool present = false;
    std::string text;
  };

  /// Reads a file if it changed. True if its text may differ from the one before.
  [[nodiscard]] task<bool> reread(const std::string& path, watched& at);
  void decide(const std::string* nsswitch, const std::string* resolv_conf,
              const std::string* hosts_text);
  void decide_source(const std::string* nsswitch, const std::string* resolv_conf);

  const resolver_options& options_;
  time_point fresh_until_ = time_point::min();
  watched nsswitch_, resolv_conf_, hosts_;
};

}  // namespace heddle::names::detail
