// SPDX-License-Identifier: MIT
// Reads a page's text once, and then for each request runs the parts and sends them in order.
#include "heddle/web/page.hh"

#include <algorithm>
#include <exception>

#include "heddle/core/rendezvous.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/yield.hh"
#include "heddle/http/uri.hh"

namespace heddle::http {
namespace {

constexpr std::string_view html_type = "text/html; charset=utf-8";

failure mistake(const std::string& what) {
  return failure(std::make_error_code(std::errc::invalid_argument), what);
}

bool in_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

std::string_view without_blanks(std::string_view text) noexcept {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

task<std::string> text_as_task(std::string text) { co_return text; }

}  // namespace

page_part part(std::string name, std::string_view text) {
  return {std::move(name), text_as_task(std::string(text)), std::nullopt};
}

/// A part that runs, or has ended.
struct page::made_part {
  std::string text;
  std::exception_ptr error;
  bool ended = false;

  static task<> run(task<std::string> made, std::optional<std::string> instead, made_part& to,
                    event<> ended) {
    try {
      to.text = co_await std::move(made);
    } catch (...) {
      if (instead && !worker::running().current_context().canceled()) {
        to.text = std::move(*instead);
      } else {
        to.error = std::current_exception();
      }
    }
    to.ended = true;
    ended.trigger();
  }
};

/// All parts of one answer. It outlives the scope of their tasks, however that ends.
struct page::filling {
  std::vector<page_part> parts;
  std::vector<std::size_t> order;  // for each place the index of its part
  std::vector<made_part> made;
  rendezvous<> ends;
};

page::page(std::string text) {
  std::string_view rest = text;
  const char* const begin = rest.data();
  for (;;) {
    piece_of_text next;
    const std::size_t open = rest.find("{{");
    next.literal = rest.substr(0, open);
    if (open == rest.npos) {
      pieces_.push_back(std::move(next));
      return;
    }
    const std::size_t line =
        1 + static_cast<std::size_t>(std::count(begin, rest.data() + open, '\n'));
    rest.remove_prefix(open);
    next.raw = rest.starts_with("{{{");
    const std::string_view opens = next.raw ? "{{{" : "{{";
    const std::string_view closes = next.raw ? "}}}" : "}}";
    const std::size_t close = rest.find(closes, opens.size());
    if (close == rest.npos)
      throw mistake("line " + std::to_string(line) + " of the page: " + std::string(opens) +
                    " has no " + std::string(closes));
    next.name = without_blanks(rest.substr(opens.size(), close - opens.size()));
    if (next.name.empty() || !std::ranges::all_of(next.name, in_name))
      throw mistake("line " + std::to_string(line) + " of the page: '" + next.name +
                    "' is no name of a part; write {{name}} with letters, digits, - _ .");
    rest.remove_prefix(close + closes.size());
    pieces_.push_back(std::move(next));
  }
}

std::vector<std::string_view> page::places() const {
  std::vector<std::string_view> names;
  for (const piece_of_text& each : pieces_)
    if (!each.name.empty()) names.push_back(each.name);
  return names;
}

/// Finds for each place the index of its part.
std::vector<std::size_t> page::match(const std::vector<page_part>& parts) const {
  std::vector<std::size_t> order;
  std::vector<bool> used(parts.size());
  for (const std::string_view name : places()) {
    const auto found = std::ranges::find(parts, name, &page_part::name);
    if (found == parts.end())
      throw mistake("the page has a place '" + std::string(name) + "', and no part has that name");
    order.push_back(static_cast<std::size_t>(found - parts.begin()));
    used[order.back()] = true;
  }
  if (const auto idle = std::ranges::find(used, false); idle != used.end())
    throw mistake("the page has no place for the part '" +
                  parts[static_cast<std::size_t>(idle - used.begin())].name + "'");
  return order;
}

task<response> page::send_all(request& asked, std::vector<page_part> parts) const {
  filling all;
  all.parts = std::move(parts);
  all.order = match(all.parts);
  if (asked.verb() == method::head) co_return response(200).header("Content-Type", html_type);
  all.made.resize(all.parts.size());
  co_return co_await with_scope(compose, std::cref(*this), std::ref(asked), std::ref(all));
}

task<response> page::compose(scope& s, const page& self, request& asked, filling& all) {
  for (std::size_t i = 0; i != all.parts.size(); ++i)
    s.spawn(made_part::run(std::move(all.parts[i].made), std::move(all.parts[i].instead),
                           all.made[i], all.ends.make_event()));
  co_await yield();  // a part that has nothing to wait for ends now
  std::optional<body_writer> out;
  std::string ready;
  for (std::size_t place = 0; place != self.pieces_.size(); ++place) {
    const piece_of_text& piece = self.pieces_[place];
    ready += piece.literal;
    if (piece.name.empty()) break;
    const made_part& part = all.made[all.order[place]];
    while (!part.ended) {
      if (!ready.empty()) {  // the client reads this meanwhile
        if (!out)
          out.emplace(co_await asked.start(response(200).header("Content-Type", html_type)));
        co_await out->write(std::exchange(ready, {}));
      }
      if (!part.ended) co_await all.ends;
    }
    if (part.error) std::rethrow_exception(part.error);
    if (piece.raw) {
      ready += part.text;
    } else {
      append_html(ready, part.text);
    }
  }
  if (!out) {  // all was there at once
    response whole(200);
    whole.body(html_type, std::move(ready));
    co_return whole;
  }
  if (!ready.empty()) co_await out->write(ready);
  co_return out->done();
}

}  // namespace heddle::http
