// SPDX-License-Identifier: MIT
// The pages of a folder: it opens their files beneath the folder, reads each text once, looks now
// and then whether a file has changed, and joins a page with all that it includes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/io/directory.hh"
#include "heddle/sync/mutex.hh"
#include "heddle/web/page_files.hh"
#include "web/page_run.hh"

namespace heddle::http {

/// A kind of source.
struct page_source_kind {
  page_source make;
  page_source_check check;  // may be empty
};

/// Thread: one color.
class page_folder {
 public:
  using plan_pointer = std::shared_ptr<const page_plan>;

  page_folder(std::string root, page_files_options options)
      : root_name_(std::move(root)), options_(std::move(options)) {}

  /// The page in this file; null if there is no such file. `file` is relative to the folder.
  /// Fails: page_error for a text that cannot be read; failure if the system refuses.
  [[nodiscard]] task<plan_pointer> plan(std::string file);
  /// The text of another file of the folder, for the source `read`.
  [[nodiscard]] task<std::string> read(std::string file);
  /// Adds the errors of the pages in this folder, and in those below it.
  [[nodiscard]] task<> check(std::string folder, std::size_t depth,
                             std::vector<std::string>& wrong);

  [[nodiscard]] const std::string& name() const noexcept { return root_name_; }
  [[nodiscard]] const page_files_options& options() const noexcept { return options_; }
  std::map<std::string, page_source_kind, std::less<>> kinds;

 private:
  using text_pointer = std::shared_ptr<const page_text>;
  struct kept_text {
    text_pointer text = {};  // null: there is no such file, or `wrong` says why it cannot be read
    std::string wrong = {};
    file_status seen = {};
    time_point checked{};
    bool settled = true;  // false: the file was so new that its time may not show a change
    [[nodiscard]] bool is_missing() const noexcept { return !text && wrong.empty(); }
  };
  struct kept_plan {
    plan_pointer plan = {};
    time_point checked{};
    [[nodiscard]] bool is_missing() const noexcept { return !plan; }
  };

  [[nodiscard]] bool is_fresh(time_point checked) const;
  [[nodiscard]] task<> open_root();
  [[nodiscard]] task<text_pointer> text(std::string file);
  [[nodiscard]] task<kept_text> load(std::string file, kept_text before);
  [[nodiscard]] static text_pointer give(const kept_text& kept);
  [[nodiscard]] task<> add_use(page_plan& plan, page_use use, std::size_t level);
  void check_sources(const page_plan& plan, std::vector<std::string>& wrong) const;
  [[nodiscard]] std::string line_of(std::string_view file, std::uint32_t line) const;
  template <class Kept>
  void make_room(std::map<std::string, Kept, std::less<>>& kept) const {
    if (kept.size() < options_.files_max) return;
    // Visitors can ask for any number of missing names; those must not push pages out.
    std::erase_if(kept, [](const auto& each) { return each.second.is_missing(); });
    if (kept.size() >= options_.files_max) kept.clear();
  }

  std::string root_name_;
  page_files_options options_;
  directory root_;
  mutex loading_;  // one file is read at a time, so that no two requests read the same one
  std::map<std::string, kept_text, std::less<>> texts_;
  std::map<std::string, kept_plan, std::less<>> plans_;
};

/// The media type of a page's path, and how its values are escaped. Throws page_error for a name
/// that a page must not have.
struct page_form {
  std::string_view type;
  page_rules::escaping how;
};
[[nodiscard]] page_form form_of_page(std::string_view file);

}  // namespace heddle::http
