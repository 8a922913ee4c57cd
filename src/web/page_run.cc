// SPDX-License-Identifier: MIT
// Finds names from the innermost section outwards, and steps through the texts of a page.
#include "web/page_run.hh"

#include <algorithm>
#include <utility>

#include "heddle/core/yield.hh"
#include "heddle/web/page_files.hh"

namespace heddle::http {
namespace {

constexpr std::size_t flush_bytes = 64 * 1024;  // a longer text is sent before it is whole
constexpr std::size_t steps_between_yields = 4096;
constexpr std::string_view request_names = "request.";
constexpr std::string_view query_names = "request.query.";

}  // namespace

bool is_request_name(std::string_view name) noexcept {
  return name == "request.path" || name == "request.method" || name == "request.host" ||
         (name.starts_with(query_names) && name.size() > query_names.size());
}

task<> page_result::run(task<page_value> made, std::optional<std::string> instead,
                        std::string where, page_result& to, event<> ended) {
  std::string why;
  try {
    to.value = co_await std::move(made);
  } catch (const std::exception& e) {
    to.error = std::current_exception();
    why = e.what();
  } catch (...) {
    to.error = std::current_exception();
    why = "it failed";
  }
  if (to.error && !worker::running().current_context().canceled()) {
    if (instead) {
      to.error = nullptr;
      to.value = page_value(std::move(*instead));
    } else if (!where.empty()) {
      to.error = std::make_exception_ptr(page_error(where + ": " + why));
    }
  }
  to.ended = true;
  ended.trigger();
}

const page_value* page_run::of_request(std::string_view name) {
  if (!name.starts_with(request_names) || !is_request_name(name)) return nullptr;
  if (const auto at = of_request_.find(name); at != of_request_.end()) return &at->second;
  page_value made;
  if (name.starts_with(query_names)) {
    const auto given = asked.query_value(name.substr(query_names.size()));
    if (given) made = page_value(*given);
  } else if (name == "request.path") {
    made = page_value(asked.path());
  } else if (name == "request.host") {
    made = page_value(asked.header(header_id::host));
  } else {
    made = page_value(asked.head().method_text());
  }
  return &of_request_.emplace(std::string(name), std::move(made)).first->second;
}

const page_term& term_at_start(const page_plan& plan, std::size_t use, const page_term& term) {
  const page_term* at = &term;
  for (; use != 0 && at->is_name; use = plan.uses[use].parent) {
    const page_use& here = plan.uses[use];
    const page_include& from = plan.uses[here.parent].text->includes[here.include];
    const auto given = std::ranges::find(from.values, at->text,
                                         [](const auto& v) -> const auto& { return v.first; });
    if (given != from.values.end()) at = &given->second;
  }
  return *at;
}

std::optional<std::string> page_run::known_at_start(std::size_t use, const page_term& term) {
  const page_term& outer = term_at_start(plan, use, term);
  if (!outer.is_name) return outer.text;
  const page_value* const found = of_request(outer.text);
  if (found == nullptr) return std::nullopt;
  return std::string(found->text());
}

/// Walks through the texts of a page. It keeps its place on stacks of its own, because a section or
/// an include may have to wait at any depth.
class page_writer {
 public:
  explicit page_writer(page_run& run) : run_(run) { enter(0); }

  /// Writes up to a result that has not ended, and gives it; null at the end of the page, or when
  /// `ready` is long enough to be sent.
  [[nodiscard]] page_result* advance() {
    for (std::size_t steps = 0; !at_.empty() && ready.size() < flush_bytes; ++steps) {
      if (steps == steps_between_yields) return nullptr;
      place& now = at_.back();
      const page_text& text = *run_.plan.uses[now.use].text;
      if (now.step == text.steps.size()) {
        levels_.pop_back();
        at_.pop_back();
        continue;
      }
      if (page_result* const pending = write(text.steps[now.step], now)) return pending;
    }
    return nullptr;
  }
  [[nodiscard]] bool done() const noexcept { return at_.empty(); }

  std::string ready;

 private:
  /// Where the writer is in one use.
  struct place {
    std::size_t use;
    std::size_t step = 0;
  };
  /// Where names are looked up: a use with its sources and values, or the value of a section.
  struct level {
    const page_value* value = nullptr;  // null: a use, or a section that shows an absence
    const page_value* list = nullptr;   // the list whose items the section repeats
    std::size_t item = 0;
    std::size_t use = no_use;
  };
  struct found {
    const page_value* value = nullptr;
    page_result* pending = nullptr;
  };
  static constexpr std::size_t no_use = static_cast<std::size_t>(-1);

  void enter(std::size_t use) {
    at_.push_back({.use = use});
    levels_.push_back({.use = use});
  }

  page_result* write(const page_step& step, place& now) {
    switch (step.what) {
      case page_step::kind::text:
        ready += step.text;
        break;
      case page_step::kind::place: {
        const found shown = find(step.text, levels_.size());
        if (shown.pending != nullptr) return shown.pending;
        if (shown.value != nullptr) append_escaped_value(ready, shown.value->text(), step.escape);
        break;
      }
      case page_step::kind::section:
      case page_step::kind::inverted: {
        const found shown = find(step.text, levels_.size());
        if (shown.pending != nullptr) return shown.pending;
        const bool shows = shown.value != nullptr && shown.value->shows();
        if (shows != (step.what == page_step::kind::section)) {
          now.step = step.other;
          break;
        }
        level inner{.value = shows ? shown.value : nullptr};
        if (shows && shown.value->what() == page_value::kind::list) {
          inner.list = shown.value;
          inner.value = shown.value->items().data();
        }
        levels_.push_back(inner);
        break;
      }
      case page_step::kind::end: {
        level& inner = levels_.back();
        if (inner.list != nullptr && ++inner.item != inner.list->items().size()) {
          inner.value = &inner.list->items()[inner.item];
          now.step = step.other;
        } else {
          levels_.pop_back();
        }
        break;
      }
      case page_step::kind::include: {
        const std::size_t use = run_.plan.uses[now.use].uses[step.other];
        ++now.step;
        enter(use);  // `now` is gone
        return nullptr;
      }
    }
    ++now.step;
    return nullptr;
  }

  /// Finds a name in the levels below `height`. "." is the innermost section's value; "a.b" is a
  /// value of that whole name, or the value b of the record a.
  [[nodiscard]] found find(std::string_view name, std::size_t height) {
    if (name == ".") {
      while (height != 0 && levels_[height - 1].value == nullptr) --height;
      return {height == 0 ? nullptr : levels_[height - 1].value, nullptr};
    }
    if (const found whole = find_whole(name, height); whole.value || whole.pending) return whole;
    const std::size_t dot = name.find('.');
    if (dot == 0 || dot == name.npos) return {};
    found at = find_whole(name.substr(0, dot), height);
    name.remove_prefix(dot + 1);
    while (at.pending == nullptr && at.value != nullptr) {
      const std::size_t next = name.find('.');
      at.value = at.value->find(name.substr(0, next));
      if (next == name.npos) break;
      name.remove_prefix(next + 1);
    }
    return at;
  }

  [[nodiscard]] found find_whole(std::string_view name, std::size_t height) {
    while (height-- != 0) {
      const level& here = levels_[height];
      if (here.use == no_use) {
        if (here.value == nullptr) continue;
        if (const page_value* const inside = here.value->find(name)) return {inside, nullptr};
        continue;
      }
      const page_use& use = run_.plan.uses[here.use];
      for (std::size_t i = 0; i != use.text->sources.size(); ++i) {
        if (use.text->sources[i].name != name) continue;
        page_result& result = run_.results[use.first_source + i];
        if (!result.ended) return {nullptr, &result};
        if (result.error) std::rethrow_exception(result.error);
        return {&result.value, nullptr};
      }
      if (here.use == 0) continue;
      const page_include& from = run_.plan.uses[use.parent].text->includes[use.include];
      for (const auto& [given, term] : from.values) {
        if (given != name) continue;
        if (!term.is_name) return {&term.value, nullptr};
        return find(term.text, height);
      }
    }
    return {run_.of_request(name), nullptr};
  }

  page_run& run_;
  std::vector<place> at_;
  std::vector<level> levels_;
};

response page_run::head() const {
  response made(200);
  made.header("Content-Type", plan.type).header("X-Content-Type-Options", "nosniff");
  if (complete != nullptr && *complete) (*complete)(asked, made);
  return made;
}

task<response> page_run::write() {
  co_await yield();  // a source that has nothing to wait for ends now
  page_writer writer(*this);
  std::optional<body_writer> out;
  for (;;) {
    page_result* const pending = writer.advance();
    if (writer.done()) break;
    if (pending == nullptr && writer.ready.size() < flush_bytes) {
      co_await yield();  // a page of many steps
      continue;
    }
    if (!writer.ready.empty()) {  // the client reads this meanwhile
      if (!out) {
        response begun = head();
        out.emplace(co_await asked.start(std::move(begun)));
      }
      const std::string text = std::exchange(writer.ready, {});
      co_await out->write(text);
    }
    if (pending == nullptr) {
      co_await yield();
    } else {
      while (!pending->ended) co_await ends;
    }
  }
  if (!out) {  // all was there at once
    response whole = head();
    whole.body(piece(std::move(writer.ready)));
    co_return whole;
  }
  if (!writer.ready.empty()) co_await out->write(writer.ready);
  co_return out->done();
}

}  // namespace heddle::http
