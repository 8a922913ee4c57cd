// SPDX-License-Identifier: MIT
// Writes suspended tasks, grouped by line, and their possible cycles as text and JSON.
#include "heddle/core/dump.hh"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "heddle/core/enter.hh"
#include "heddle/probe/json.hh"

namespace heddle {
namespace {

constexpr std::size_t cycles_max = 20;  // in the table; JSON has them all

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

std::string place(site s) { return resolve_site(s).line == 0 ? "not started" : describe_site(s); }

bool is_running(const suspended_task& t) { return std::string_view(t.state) == t.runs; }

std::string first_line(const suspended_task& t) {
  if (is_running(t) && resolve_site(t.chain.front()).line == 0)
    return "a function that has not waited yet";
  return t.plain_at.empty() ? place(t.chain.empty() ? 0 : t.chain.front()) : t.plain_at;
}

}  // namespace

std::vector<std::vector<std::size_t>> possible_cycles(const std::vector<suspended_task>& tasks) {
  std::vector<std::vector<std::size_t>> cycles;
  std::vector<std::size_t> seen_from(tasks.size(), suspended_task::nobody);
  for (std::size_t i = 0; i != tasks.size(); ++i) {
    std::size_t at = i;
    while (at != suspended_task::nobody && seen_from[at] == suspended_task::nobody) {
      seen_from[at] = i;
      at = tasks[at].behind;
    }
    if (at == suspended_task::nobody || seen_from[at] != i)
      continue;  // no ring of waits, or a known one
    std::vector<std::size_t>& ring = cycles.emplace_back();
    const std::size_t first = at;
    do {
      ring.push_back(at);
      at = tasks[at].behind;
    } while (at != first);
  }
  const auto age = [&](const std::vector<std::size_t>& ring) {
    nanoseconds youngest = nanoseconds::max();
    for (const std::size_t i : ring) youngest = std::min(youngest, tasks[i].waited);
    return youngest;
  };
  std::sort(cycles.begin(), cycles.end(), [&](const auto& a, const auto& b) {
    return age(a) != age(b) ? age(a) > age(b) : a < b;
  });
  return cycles;
}

namespace {

std::string cycle_text(const std::vector<suspended_task>& tasks,
                       const std::vector<std::size_t>& ring) {
  std::string text =
      std::to_string(ring.size()) +
      " tasks may wait for each other (no proof: a frame may keep a word of a moved handle):\n";
  for (std::size_t i = 0; i != ring.size(); ++i) {
    const suspended_task& t = tasks[ring[i]];
    const suspended_task& holder = tasks[t.behind];
    char head[32];
    std::snprintf(head, sizeof head, "  %-10s  ", span_text(t.waited).c_str());
    text += head + first_line(t) + "\n              waits for the event made at " +
            to_string(resolve_site(t.expects)) +
            "\n              a word that looks like its handle is in the frame at " +
            first_line(holder) + "\n";
  }
  return text;
}

/// The lines and handle counts of the events that a task waits for.
std::string events_text(const suspended_task& t) {
  if (t.events == 0) return {};
  std::string text = "                                 for ";
  text += t.events == 1 ? "the event " : std::to_string(t.events) + " events; one was ";
  return text + "made at " + to_string(resolve_site(t.expects)) + " (" + std::to_string(t.handles) +
         (t.handles == 1 ? " handle)\n" : " handles)\n");
}

}  // namespace

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
    text += events_text(*r.example);
  }
  for (const suspended_task& t : tasks)
    if (is_running(t))
      text += "not listed: other tasks of color " + std::to_string(t.color) +
              ", whose worker runs and was not stopped\n";
  const auto cycles = possible_cycles(tasks);
  for (std::size_t i = 0; i != std::min(cycles.size(), cycles_max); ++i)
    text += cycle_text(tasks, cycles[i]);
  if (cycles.size() > cycles_max)
    text += std::to_string(cycles.size() - cycles_max) + " more possible cycles\n";
  return text;
}

std::string dump_json(const std::vector<suspended_task>& tasks) {
  std::string json = "{\"schema\":2,\"tasks\":[";
  bool first_task = true;
  for (const suspended_task& t : tasks) {
    if (!std::exchange(first_task, false)) json += ',';
    json += "{\"state\":" + json_quoted(t.state) + ",\"color\":" + std::to_string(t.color) +
            ",\"waited_ns\":" + std::to_string(t.waited.count()) +
            ",\"trace_id\":" + std::to_string(t.trace_id);
    if (t.events != 0)
      json += ",\"events\":" + std::to_string(t.events) +
              ",\"made\":" + json_quoted(to_string(resolve_site(t.expects))) +
              ",\"handles\":" + std::to_string(t.handles);
    json += ",\"chain\":[";
    if (!t.plain_at.empty()) json += "{\"at\":" + json_quoted(t.plain_at) + ",\"in\":\"\"}";
    for (const site& s : t.chain) {
      if (&s != t.chain.data()) json += ',';
      const source_line where = resolve_site(s);
      json += "{\"at\":" + json_quoted(to_string(where)) +
              ",\"in\":" + json_quoted(function_name(where)) + "}";
    }
    json += "]}";
  }
  json += "],\"possible_cycles\":[";
  const auto cycles = possible_cycles(tasks);
  for (std::size_t c = 0; c != cycles.size(); ++c) {
    json += c == 0 ? "[" : ",[";
    for (std::size_t i = 0; i != cycles[c].size(); ++i)
      json += (i == 0 ? "" : ",") + std::to_string(cycles[c][i]);
    json += ']';
  }
  return json + "]}";
}

}  // namespace heddle
