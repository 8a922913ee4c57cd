// SPDX-License-Identifier: MIT
// `heddle draft lsp`: answers an editor while a file is open: diagnostics, hover with
// the reason why a function waits, definition, formatting, and marks at the calls that wait.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::draft {

struct json;
struct compiled;

/// Thread: one. Owns: the texts of the open documents.
class language_server {
 public:
  /// The messages to send after this one, without their headers.
  [[nodiscard]] std::vector<std::string> receive(std::string_view message);
  /// The editor sent `exit`.
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// 0 when the editor said `shutdown` before `exit`.
  [[nodiscard]] int exit_code() const noexcept { return shut_down_ ? 0 : 1; }

 private:
  [[nodiscard]] std::string answer(std::string_view method, const json& params);
  void open(const json& params);
  void change(const json& params);
  [[nodiscard]] std::string publish(const std::string& uri) const;
  [[nodiscard]] compiled compile_document(const std::string& uri) const;
  [[nodiscard]] std::string hover(const json& params) const;
  [[nodiscard]] std::string definition(const json& params) const;
  [[nodiscard]] std::string formatting(const json& params) const;
  [[nodiscard]] std::string wait_marks(const json& params) const;

  std::map<std::string, std::string> texts_;  // by path
  bool shut_down_ = false;
  bool ended_ = false;
};

/// Serves one editor on two streams until it says `exit`; gives the exit code.
int serve_editor(std::FILE* in, std::FILE* out);

}  // namespace heddle::draft
