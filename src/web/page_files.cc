// SPDX-License-Identifier: MIT
// Answers requests with pages of a folder, and starts their sources.
#include "heddle/web/page_files.hh"

#include "heddle/core/deadline.hh"
#include "heddle/core/scope.hh"
#include "heddle/http/uri.hh"
#include "heddle/web/problem_details.hh"
#include "web/page_folder.hh"

namespace heddle::http {
namespace {

constexpr std::string_view ending_of_pages = ".page";

/// Whether a path has a segment that begins like one that no visitor gets.
bool has_hidden_segment(std::string_view path) noexcept {
  return path.starts_with('.') || path.starts_with('_') || path.find("/.") != path.npos ||
         path.find("/_") != path.npos;
}

/// The file of a page for the path of a request; empty if no page can have that path.
std::string page_file_of(std::string_view raw) {
  std::string room(raw.size(), '\0');
  const auto path = decode_path(raw, room);
  if (!path || has_hidden_segment(*path) || path->ends_with(ending_of_pages)) return "";
  std::string file(path->substr(1));
  if (file.empty() || file.ends_with('/')) file += "index";
  return file += ending_of_pages;
}

/// Adds one argument of `read`: a name of a file or folder, and nothing that leads elsewhere.
void append_file_name(std::string& out, std::string_view name) {
  if (name.empty() || name.starts_with('.') || name.find_first_of("/\0", 0, 2) != name.npos)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "an argument of read is no name of a file: it is empty, begins with a dot or has "
                  "a slash");
  out += name;
}

/// The file that `read` names. Throws failure for a text that names none of the folder's.
std::string file_named(const source_text& by) {
  std::string file = by.filled(&append_file_name);
  if (file.empty() || file.starts_with('/'))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "read takes a path below the folder of the pages, and not '" + file + "'");
  if (file.starts_with('.') || file.find("/.") != file.npos)
    throw failure(std::make_error_code(std::errc::no_such_file_or_directory),
                  "read takes no names that begin with a dot: '" + file + "'");
  return file;
}

task<page_value> read_of_folder(page_folder& folder, source_call call) {
  const std::string file = file_named(call);
  const std::string text = co_await folder.read(file);
  co_return file.ends_with(".json") ? page_value::of_json(text) : page_value(text);
}

/// A source under its time limit.
task<page_value> in_time(task<page_value> made, nanoseconds limit) {
  co_return co_await with_timeout(std::move(made), limit);
}

/// The source's call, or the error of an argument that is not known when the page starts.
source_call call_of(page_run& run, std::size_t use, const page_source_line& line,
                    const std::string& where) {
  std::vector<std::string> arguments;
  for (const page_term& each : line.terms) {
    std::optional<std::string> known = run.known_at_start(use, each);
    if (!known)
      throw page_error(where + ": " + each.text +
                       " is not known when the sources start; they can use request.query.NAME, "
                       "request.path, and the values of {{> file name=...}}");
    arguments.push_back(std::move(*known));
  }
  return source_call(line.text, std::move(arguments), run.asked);
}

task<response> start_sources(scope& s, page_run& run, page_folder& folder,
                             const std::string& root) {
  for (std::size_t use = 0; use != run.plan.uses.size(); ++use) {
    const page_use& here = run.plan.uses[use];
    for (std::size_t i = 0; i != here.text->sources.size(); ++i) {
      const page_source_line& line = here.text->sources[i];
      std::string where = root + '/' + here.file + ':' + std::to_string(line.line);
      source_call call = call_of(run, use, line, where);
      task<page_value> made = folder.kinds.find(line.kind)->second.make(std::move(call));
      where += ": the source " + line.name + " failed";
      s.spawn(page_result::run(
          in_time(std::move(made), line.within.value_or(folder.options().source_timeout)),
          line.instead, std::move(where), run.results[here.first_source + i],
          run.ends.make_event()));
    }
  }
  co_return co_await run.write();
}

}  // namespace

page_files::page_files(std::string folder, page_files_options options)
    : folder_(std::make_unique<page_folder>(std::move(folder), std::move(options))) {
  source(
      "read",
      [at = folder_.get()](source_call call) { return read_of_folder(*at, std::move(call)); },
      [](const source_text& by) { static_cast<void>(file_named(by)); });
}

page_files::~page_files() = default;

void page_files::source(std::string kind, page_source make, page_source_check check) {
  folder_->kinds.insert_or_assign(std::move(kind),
                                  page_source_kind{std::move(make), std::move(check)});
}

task<std::optional<response>> page_files::answer_if_page(request& asked) {
  struct mark {
    explicit mark(std::size_t& n) : count(n) { ++count; }
    ~mark() { --count; }
    std::size_t& count;
  } const at_work(busy_);
  const method verb = asked.verb();
  if (verb != method::get && verb != method::head) co_return std::nullopt;
  std::string file = page_file_of(asked.path());
  if (file.empty()) co_return std::nullopt;
  const page_folder::plan_pointer plan = co_await folder_->plan(std::move(file));
  if (!plan) co_return std::nullopt;
  page_run run(*plan, asked);
  run.complete = &folder_->options().complete;
  if (verb == method::head) co_return run.head();
  co_return co_await with_scope(start_sources, std::ref(run), std::ref(*folder_),
                                std::cref(folder_->name()));
}

task<response> page_files::answer(request& asked) {
  std::optional<response> page = co_await answer_if_page(asked);
  if (page) co_return std::move(*page);
  const bool readable = asked.verb() == method::get || asked.verb() == method::head;
  if (readable) co_return asked.error(404, "there is no page at this path");
  response refused = asked.error(405, "pages answer GET and HEAD");
  refused.header("Allow", "GET, HEAD");
  co_return refused;
}

task<std::vector<std::string>> page_files::check() {
  std::vector<std::string> wrong;
  co_await folder_->check("", 0, wrong);
  co_return wrong;
}

}  // namespace heddle::http
