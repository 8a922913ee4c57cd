// SPDX-License-Identifier: MIT
// Loads texts of pages and joins them. A text that cannot be read is kept like a good one, so that
// a wrong page costs one look a second too.
#include "web/page_folder.hh"

#include <algorithm>

#include "heddle/core/expected.hh"
#include "heddle/http/mime.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::http {
namespace {

constexpr int page_read_tries = 3;
constexpr std::size_t page_folders_max = 64;  // folders inside each other that check() looks at
constexpr std::string_view page_suffix = ".page";
/// File systems may give the same time to two changes within one tick of the kernel's clock, and
/// some store whole seconds.
constexpr nanoseconds settling = std::chrono::seconds(2);

void add_once(std::vector<std::string>& to, std::string text) {
  if (std::ranges::find(to, text) == to.end()) to.push_back(std::move(text));
}

bool same_page_file(const file_status& a, const file_status& b) noexcept {
  return a.size == b.size && a.modified == b.modified && a.inode == b.inode && a.device == b.device;
}

/// Whether an error of opening means that a visitor finds nothing there.
bool means_missing(const std::error_code& error) noexcept {
  return error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory ||
         error == std::errc::cross_device_link || error == std::errc::filename_too_long ||
         error == std::errc::too_many_symbolic_link_levels || error == std::errc::invalid_argument;
}

}  // namespace

page_form form_of_page(std::string_view file) {
  std::string_view name = file.substr(0, file.size() - page_suffix.size());
  name.remove_prefix(name.rfind('/') + 1);
  if (name.find('.') == name.npos || name.ends_with(".html"))
    return {"text/html; charset=utf-8", page_rules::escaping::html};
  if (name.ends_with(".txt") || name.ends_with(".csv") || name.ends_with(".md"))
    return {mime_type_of(name), page_rules::escaping::none};
  if (name.ends_with(".xml") || name.ends_with(".svg") || name.ends_with(".rss") ||
      name.ends_with(".atom") || name.ends_with(".xhtml"))
    return {mime_type_of(name), page_rules::escaping::markup};
  throw page_error(
      "its name must end with .page, or with .html, .xml, .rss, .atom, .xhtml, .svg, "
      ".txt, .csv or .md before that: how other formats escape values is not known");
}

std::string page_folder::line_of(std::string_view file, std::uint32_t line) const {
  return root_name_ + '/' + std::string(file) + ':' + std::to_string(line);
}

bool page_folder::is_fresh(time_point checked) const {
  return !options_.reload || clock::now() - checked < options_.trust;
}

task<> page_folder::open_root() {
  if (!root_.is_open()) root_ = co_await open_directory(root_name_);
}

page_folder::text_pointer page_folder::give(const kept_text& kept) {
  if (!kept.wrong.empty()) throw page_error(kept.wrong);
  return kept.text;
}

task<page_folder::text_pointer> page_folder::text(std::string file) {
  if (const auto at = texts_.find(file); at != texts_.end() && is_fresh(at->second.checked))
    co_return give(at->second);
  const auto held = co_await loading_.lock();
  co_await open_root();
  kept_text before;
  if (const auto at = texts_.find(file); at != texts_.end()) {
    if (is_fresh(at->second.checked)) co_return give(at->second);
    before = at->second;
  }
  task<kept_text> loading = load(file, std::move(before));
  kept_text now = co_await std::move(loading);
  now.checked = clock::now();
  if (!texts_.contains(file)) make_room(texts_);
  kept_text& kept = texts_[file] = std::move(now);
  co_return give(kept);
}

/// Looks at a file, and reads it unless `before` is the same.
task<page_folder::kept_text> page_folder::load(std::string file, kept_text before) {
  for (int i = 0; i != page_read_tries; ++i) {
    const auto found = co_await as_expected(root_.status(file));
    if (!found && !means_missing(found.error())) throw failure(found.error(), file);
    if (!found || found->type != entry_type::file) co_return kept_text();
    if (before.settled && (before.text || !before.wrong.empty()) &&
        same_page_file(before.seen, *found))
      co_return before;
    kept_text now;
    now.seen = *found;
    now.settled = runtime::here().io().wall_time() - found->modified > settling;
    if (found->size > options_.file_bytes_max) {
      now.wrong = line_of(file, 1) + ": the file has more than " +
                  std::to_string(options_.file_bytes_max) + " bytes (file_bytes_max)";
      co_return now;
    }
    const auto opened = co_await as_expected(root_.open(file));
    if (!opened) continue;  // the file was removed meanwhile
    const auto bytes = co_await as_expected(opened->read_all(options_.file_bytes_max));
    const auto after = co_await as_expected(opened->status());
    if (!bytes || !after || !same_page_file(*found, *after))
      continue;  // the file changed meanwhile
    try {
      const page_rules rules{.how = form_of_page(file).how, .sections_max = options_.sections_max};
      now.text = std::make_shared<page_text>(read_page(*bytes, rules));
    } catch (const page_mistake& e) {
      now.wrong = line_of(file, e.line) + ": " + e.what();
    } catch (const page_error& e) {
      now.wrong = line_of(file, 1) + ": " + e.what();
    }
    co_return now;
  }
  throw page_error(line_of(file, 1) + ": the file changes while it is read; try again");
}

/// Adds a text to the plan, and then what it includes.
task<> page_folder::add_use(page_plan& plan, page_use use, std::size_t level) {
  const std::size_t index = plan.uses.size();
  use.first_source = plan.sources;
  use.uses.resize(use.text->includes.size());
  plan.uses.push_back(use);
  for (const page_source_line& each : use.text->sources) {
    if (!kinds.contains(each.kind)) {
      std::string known;
      for (const auto& [kind, make] : kinds) (known += known.empty() ? "" : ", ") += kind;
      throw page_error(line_of(use.file, each.line) + ": '" + each.kind +
                       "' is no kind of source; this program has: " + known);
    }
    if (++plan.sources > options_.sources_max)
      throw page_error(line_of(use.file, each.line) + ": the page has more than " +
                       std::to_string(options_.sources_max) + " sources (sources_max)");
  }
  for (std::size_t i = 0; i != use.text->includes.size(); ++i) {
    const page_include& each = use.text->includes[i];
    const std::string where = line_of(use.file, each.line);
    if (level == options_.levels_max)
      throw page_error(where + ": includes are more than " + std::to_string(options_.levels_max) +
                       " levels deep (levels_max); does " + each.path + " include itself?");
    if (plan.uses.size() > options_.includes_max)
      throw page_error(where + ": the page includes more than " +
                       std::to_string(options_.includes_max) + " files (includes_max)");
    if (!each.path.ends_with(page_suffix))
      throw page_error(where + ": " + each.path +
                       " does not end with .page; a source shows other "
                       "files: {{= x = read \"" +
                       each.path + "\"}}");
    const text_pointer included = co_await text(each.path);
    if (!included) throw page_error(where + ": there is no file " + root_name_ + '/' + each.path);
    plan.uses[index].uses[i] = plan.uses.size();
    page_use below{
        .text = included, .file = each.path, .parent = index, .include = i, .first_source = 0};
    task<> added = add_use(plan, std::move(below), level + 1);
    co_await std::move(added);
  }
}

task<page_folder::plan_pointer> page_folder::plan(std::string file) {
  if (const auto at = plans_.find(file); at != plans_.end() && is_fresh(at->second.checked))
    co_return at->second.plan;
  const time_point begun = clock::now();
  const text_pointer own = co_await text(file);
  page_use first{.text = own, .file = file};
  std::shared_ptr<page_plan> made;
  if (first.text) {
    made = std::make_shared<page_plan>();
    made->type = form_of_page(file).type;
    task<> joined = add_use(*made, std::move(first), 0);
    co_await std::move(joined);
  }
  if (!plans_.contains(file)) make_room(plans_);
  plans_[file] = {made, begun};
  co_return made;
}

task<std::string> page_folder::read(std::string file) {
  co_await open_root();
  const file_status found = co_await root_.status(file);
  if (found.type != entry_type::file)
    throw failure(std::make_error_code(std::errc::no_such_file_or_directory), file);
  const heddle::file opened = co_await root_.open(file);
  co_return co_await opened.read_all(options_.file_bytes_max);
}

/// Names the sources that fail for every request. A value that only a request gives is "1" here.
void page_folder::check_sources(const page_plan& plan, std::vector<std::string>& wrong) const {
  for (std::size_t use = 0; use != plan.uses.size(); ++use) {
    const page_use& here = plan.uses[use];
    for (const page_source_line& line : here.text->sources) {
      const page_source_check& check = kinds.find(line.kind)->second.check;
      if (!check) continue;
      std::vector<std::string> values;
      bool known = true;
      for (const page_term& each : line.terms) {
        const page_term& outer = term_at_start(plan, use, each);
        known = known && !outer.is_name;
        values.push_back(outer.is_name ? "1" : outer.text);
      }
      try {
        check(source_text(line.text, std::move(values), known));
      } catch (const failure& e) {
        add_once(wrong, line_of(here.file, line.line) + ": the source " + line.name +
                            " fails for every request: " + e.what());
      }
    }
  }
}

task<> page_folder::check(std::string folder, std::size_t depth, std::vector<std::string>& wrong) {
  co_await open_root();
  if (depth > page_folders_max) co_return;
  const std::string place = folder.empty() ? "." : folder;
  const directory here = co_await root_.open_directory(place, links::none);
  const std::vector<directory_entry> entries = co_await here.list();
  for (const directory_entry& each : entries) {
    if (each.name.starts_with('.')) continue;
    std::string path = folder.empty() ? each.name : folder + '/' + each.name;
    if (each.type == entry_type::directory) {
      co_await check(std::move(path), depth + 1, wrong);
    } else if (each.name.ends_with(page_suffix)) {
      try {
        const plan_pointer found = co_await plan(path);
        if (found) check_sources(*found, wrong);
      } catch (const page_error& e) {
        add_once(wrong, e.what());
      }
    }
  }
}

}  // namespace heddle::http
