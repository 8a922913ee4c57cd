// SPDX-License-Identifier: MIT
// Walks the tree of contexts and the ready queue; groups by line; writes text and JSON.
#include "heddle/core/dump.hh"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "heddle/core/enter.hh"
#include "heddle/probe/json.hh"

namespace heddle {
namespace {

constexpr std::size_t chain_max = 64;  // deeper chains are cut: a dump must stay readable

std::vector<site> chain_of(link l) {
  std::vector<site> lines;
  while (l != no_link && !is_plain(l) && lines.size() < chain_max) {
    const promise_base& p = promise_of(l);
    lines.push_back(p.at);
    const join* const owner = p.parent();
    if (owner == nullptr || (owner->done != nullptr && !detail::is_taken_over(*owner))) break;
    if (!owner->waiter) break;
    l = link_of(owner->waiter);
  }
  return lines;
}

std::string span_text(nanoseconds span) {
  const auto ns = static_cast<double>(span.count());
  char text[32];
  if (ns < 1e3) {
    std::snprintf(text, sizeof text, "%.0f ns", ns);
  } else if (ns < 1e6) {
    std::snprintf(text, sizeof text, "%.1f us", ns / 1e3);
  } else if (ns < 1e9) {
    std::snprintf(text, sizeof text, "%.1f ms", ns / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%.1f s", ns / 1e9);
  }
  return text;
}

std::string place(site s) {
  const source_line where = resolve_site(s);
  if (where.line == 0) return "not started";
  return to_string(where) + " in " + function_name(where);
}

std::string first_line(const suspended_task& t) {
  return t.plain_at.empty() ? place(t.chain.empty() ? 0 : t.chain.front()) : t.plain_at;
}

}  // namespace

void suspended_below(context& root, time_point now, std::vector<suspended_task>& out) {
  root.waits().each([&](wait& x) {
    out.push_back({x.kind->name, chain_of(x.frame), now - x.since, root.color, root.trace_id, {}});
  });
  root.children().each([&](context& child) { suspended_below(child, now, out); });
}

suspended_task ready_task(link l, const context& c) {
  return {"ready", chain_of(l), {}, c.color, c.trace_id, {}};
}

suspended_task suspended_plain(const frame& f, const std::vector<wait_table>& tables) {
  suspended_task task;
  task.state = (f.at & HEDDLE_AT_QUEUED) != 0 ? "ready" : "plain";
  task.color = f.color;
  const std::uint32_t number = HEDDLE_AT_NUMBER(f.at);
  for (const wait_table& table : tables) {
    if (table.resume != f.resume || number >= table.count) continue;
    const heddle_wait_line& line = table.lines[number];
    if ((f.at & HEDDLE_AT_QUEUED) == 0) task.state = line.what;
    task.plain_at = std::string(line.file) + ":" + std::to_string(line.line);
  }
  return task;
}

std::string dump_text(const std::vector<suspended_task>& tasks) {
  struct row {
    std::size_t count = 0;
    nanoseconds oldest{};
    const suspended_task* example = nullptr;
  };
  std::map<std::pair<std::string, std::string>, row> rows;
  for (const suspended_task& t : tasks) {
    row& r = rows[{first_line(t), t.state}];
    ++r.count;
    if (r.example == nullptr || t.waited > r.oldest) {
      r.oldest = t.waited;
      r.example = &t;
    }
  }
  std::vector<std::pair<std::pair<std::string, std::string>, row>> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.count != b.second.count ? a.second.count > b.second.count : a.first < b.first;
  });
  std::string text = std::to_string(tasks.size()) + (tasks.size() == 1 ? " task" : " tasks");
  text += "\n   count  oldest      waits for  at\n";
  for (const auto& [key, r] : sorted) {
    char head[96];
    std::snprintf(head, sizeof head, "%8zu  %-10s  %-9s  ", r.count, span_text(r.oldest).c_str(),
                  key.second.c_str());
    text += head + key.first + "\n";
    for (std::size_t i = 1; i < r.example->chain.size(); ++i)
      text += "                                 awaited at " + place(r.example->chain[i]) + "\n";
  }
  return text;
}

std::string dump_json(const std::vector<suspended_task>& tasks) {
  std::string json = "{\"schema\":1,\"tasks\":[";
  bool first_task = true;
  for (const suspended_task& t : tasks) {
    if (!std::exchange(first_task, false)) json += ',';
    json += "{\"state\":" + json_quoted(t.state) + ",\"color\":" + std::to_string(t.color) +
            ",\"waited_ns\":" + std::to_string(t.waited.count()) +
            ",\"trace_id\":" + std::to_string(t.trace_id) + ",\"chain\":[";
    if (!t.plain_at.empty()) json += "{\"at\":" + json_quoted(t.plain_at) + ",\"in\":\"\"}";
    for (const site& s : t.chain) {
      if (&s != t.chain.data()) json += ',';
      const source_line where = resolve_site(s);
      json += "{\"at\":" + json_quoted(to_string(where)) +
              ",\"in\":" + json_quoted(function_name(where)) + "}";
    }
    json += "]}";
  }
  return json + "]}";
}

}  // namespace heddle
