// SPDX-License-Identifier: MIT
// A page of parts: its text is read as a plan whose sources are the names of the parts.
#include "heddle/web/page.hh"

#include <algorithm>

#include "web/page_run.hh"

namespace heddle::http {
namespace {

failure mistake(const std::string& what) {
  return failure(std::make_error_code(std::errc::invalid_argument), what);
}

task<std::string> text_as_task(std::string text) { co_return text; }

task<page_value> part_as_value(task<std::string> made) {
  co_return page_value(co_await std::move(made));
}

bool is_part(const page_step& step) noexcept {
  return step.what == page_step::kind::place || step.what == page_step::kind::section ||
         step.what == page_step::kind::inverted;
}

/// Adds a source for each name that the text shows.
page_text with_parts(page_text text) {
  for (const page_step& each : text.steps)
    if (is_part(each) && each.text != "." &&
        std::ranges::find(text.sources, each.text, &page_source_line::name) == text.sources.end())
      text.sources.push_back({.name = each.text});
  return text;
}

task<response> compose_parts(scope& s, page_run& run, std::vector<page_part>& parts,
                             const std::vector<std::size_t>& order) {
  for (std::size_t i = 0; i != order.size(); ++i) {
    page_part& part = parts[order[i]];
    s.spawn(page_result::run(part_as_value(std::move(part.made)), std::move(part.instead), "",
                             run.results[i], run.ends.make_event()));
  }
  co_return co_await run.write();
}

}  // namespace

page_part part(std::string name, std::string_view text) {
  return {std::move(name), text_as_task(std::string(text)), std::nullopt};
}

page::page(std::string text) {
  try {
    auto plan = std::make_shared<page_plan>();
    plan->uses.push_back(
        {.text = std::make_shared<page_text>(with_parts(read_page(text, {.files = false})))});
    plan->sources = plan->uses[0].text->sources.size();
    plan_ = std::move(plan);
  } catch (const page_mistake& e) {
    throw mistake("line " + std::to_string(e.line) + " of the page: " + e.what());
  }
}

std::vector<std::string_view> page::places() const {
  std::vector<std::string_view> names;
  for (const page_step& each : plan_->uses[0].text->steps)
    if (is_part(each)) names.push_back(each.text);
  return names;
}

/// Finds for each source of the plan the index of its part.
std::vector<std::size_t> page::match(const std::vector<page_part>& parts) const {
  std::vector<std::size_t> order;
  std::vector<bool> used(parts.size());
  for (const page_source_line& each : plan_->uses[0].text->sources) {
    const auto found = std::ranges::find(parts, each.name, &page_part::name);
    if (found == parts.end())
      throw mistake("the page has a place '" + each.name + "', and no part has that name");
    order.push_back(static_cast<std::size_t>(found - parts.begin()));
    used[order.back()] = true;
  }
  if (const auto idle = std::ranges::find(used, false); idle != used.end())
    throw mistake("the page has no place for the part '" +
                  parts[static_cast<std::size_t>(idle - used.begin())].name + "'");
  return order;
}

task<response> page::send_all(request& asked, std::vector<page_part> parts) const {
  const std::shared_ptr<const page_plan> plan = plan_;
  const std::vector<std::size_t> order = match(parts);
  page_run run(*plan, asked);
  if (asked.verb() == method::head) co_return run.head();
  co_return co_await with_scope(compose_parts, std::ref(run), std::ref(parts), std::cref(order));
}

}  // namespace heddle::http
