// SPDX-License-Identifier: MIT
// heddle optimize PROFILE: prints the handlers that a build will merge, and writes the plan for the
// compiler. --build is for a step of a build (heddle_optimize in CMake): a missing or useless
// profile then gives a program without a plan and a message, never a failed build. --check reports
// which of the plan's handlers a program contains; with --run it also measures what merging gains,
// and notes topics that are slower merged, so that the next plan leaves them out.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "cli/verbs.hh"
#include "heddle/base/error.hh"
#include "heddle/bus/detail/hex.hh"
#include "heddle/optimizer/measure.hh"
#include "heddle/optimizer/planner.hh"
#include "heddle/probe/json.hh"

namespace heddle::cli {
namespace {

struct optimize_options {
  std::string profile;
  std::string header;
  std::string fallback;
  std::string check;
  std::string original;
  std::string run;
  std::size_t rounds = 9;
  bool json = false;
  plan_options plan = {};
  bool build = false;
  bool strict = false;
};

std::optional<std::string> contents_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

/// Writes a file unless it already has this text, so that nothing is recompiled without need.
void write_if_changed(const std::string& path, const std::string& text) {
  if (path.empty() || contents_of(path) == text) return;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw failure(std::make_error_code(std::errc::io_error), path + ": cannot be written");
}

/// In a build a useless profile is not an error: the program is built without a plan.
profile_data profile_for_build(const optimize_options& o) {
  const bool quiet = !o.check.empty();  // the message came when the plan was made
  if (!contents_of(o.profile)) {
    if (!quiet)
      std::fprintf(stderr,
                   "heddle: no profile %s yet: generic build (run the program once with "
                   "HEDDLE_PROFILE=%s, then build again)\n",
                   o.profile.c_str(), o.profile.c_str());
    return {};
  }
  try {
    return read_profile(o.profile);
  } catch (const failure& e) {
    if (o.strict) throw;
    if (!quiet) std::fprintf(stderr, "heddle: generic build: %s\n", e.what());
    return {};
  }
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

std::string names_of(const measured_chain& c, const profile_data& profile) {
  std::string all;
  for (const std::uint32_t t : c.topics) all += (all.empty() ? "" : ", ") + profile.topics[t].name;
  return all;
}

std::string measured_json(const optimize_options& o, const measured_plan& m,
                          const profile_data& profile, const plan& p) {
  const auto number = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f", value);
    return std::string(text);
  };
  std::string out = "{\"schema\":1,\"program\":" + json_quoted(o.check) +
                    ",\"original\":" + json_quoted(o.original) +
                    ",\"rounds\":" + std::to_string(m.rounds) +
                    ",\"original_ns\":" + number(m.original_ns) +
                    ",\"merged_ns\":" + number(m.merged_ns) + ",\"chains\":[";
  for (const measured_chain& c : m.chains) {
    if (!out.ends_with('[')) out += ',';
    out += "{\"topics\":[";
    for (const std::uint32_t t : c.topics)
      out += (out.ends_with('[') ? "" : ",") + json_quoted(profile.topics[t].name);
    out += "],\"gain_ns\":" + number(c.gain_ns) + ",\"rounds_lost\":" + std::to_string(c.lost) +
           ",\"left_out\":" + (c.slower ? "true}" : "false}");
  }
  out += "],\"notes\":[";
  for (const std::string& note : p.notes)
    out += (out.ends_with('[') ? "" : ",") + json_quoted(note);
  return out + "]}\n";
}

/// Measures a program, prints the result, and notes the slower topics beside the profile. With
/// --strict, a plan that gains nothing is an error.
int measure(const optimize_options& o, const plan& p, const profile_data& profile) {
  const measured_plan m = measure_plan(p, profile,
                                       {.program = o.check,
                                        .original = o.original,
                                        .arguments = words_of(o.run),
                                        .rounds = o.rounds});
  const std::string slower = slower_text(m, profile);
  std::string noted;  // the topics that are left out already stay so: this program cannot tell
  for (const left_out_topic& t : o.plan.left_out) {
    const auto about = std::ranges::find(profile.topics, t.hash, &profile_topic::hash);
    if (about != profile.topics.end())
      noted += detail::hex(t.hash) + '\t' + t.reason + '\t' + about->name + '\n';
  }
  if (!slower.empty()) write_if_changed(slower_file(o.profile), noted + slower);
  if (o.json) {
    std::fputs(measured_json(o, m, profile, p).c_str(), stdout);
  } else {
    std::printf("merged %.2f ms, original %.2f ms of processor time: %.3f of the original\n",
                m.merged_ns / 1e6, m.original_ns / 1e6, m.merged_ns / m.original_ns);
    std::printf("gain, ms  rounds lost  topics\n");
    for (const measured_chain& c : m.chains)
      std::printf("%8.2f  %5zu of %-3zu  %s%s\n", c.gain_ns / 1e6, c.lost, m.rounds,
                  names_of(c, profile).c_str(), c.slower ? " (slower: left out)" : "");
    for (const std::string& note : p.notes) std::printf("note: %s\n", note.c_str());
    if (!slower.empty())
      std::printf("%s: the next build leaves these topics out\n", slower_file(o.profile).c_str());
  }
  return o.strict && (m.merged_ns > m.original_ns || !slower.empty()) ? 1 : 0;
}

int check(const optimize_options& o, const plan& p, const profile_data& profile) {
  const std::optional<std::string> program = contents_of(o.check);
  if (!program)
    throw failure(std::make_error_code(std::errc::no_such_file_or_directory),
                  o.check + ": the program to check cannot be read");
  const std::vector<std::uint32_t> missing = missing_handlers(p, profile, *program);
  if (p.handlers.empty()) return 0;
  std::fprintf(stderr, "heddle: %zu of %zu handlers of the plan are in %s\n",
               p.handlers.size() - missing.size(), p.handlers.size(), o.check.c_str());
  constexpr std::size_t named_max = 10;
  for (std::size_t i = 0; i < missing.size() && i < named_max; ++i)
    std::fprintf(stderr, "  missing: %s\n", profile.handlers[p.handlers[missing[i]]].name.c_str());
  if (missing.size() > named_max)
    std::fprintf(stderr, "  and %zu more\n", missing.size() - named_max);
  if (missing.empty()) return 0;
  std::fprintf(stderr,
               "  help: the program has changed since it was profiled, or handlers were built "
               "without the plan (name their targets in heddle_optimize too)\n");
  return o.strict ? 1 : 0;
}

/// The topics that an earlier measurement found slower, if any.
std::vector<left_out_topic> left_out_by(const optimize_options& o) {
  const std::string path = slower_file(o.profile);
  try {
    return parse_slower(contents_of(path).value_or(""));
  } catch (const failure& e) {
    throw failure(e.code(), path + ", " + e.what());
  }
}

int run(optimize_options& o) {
  try {
    if (!o.run.empty() && o.check.empty())
      throw failure(std::make_error_code(std::errc::invalid_argument),
                    "--run: name the merged program, too: --check PROGRAM");
    const profile_data profile = o.build ? profile_for_build(o) : read_profile(o.profile);
    o.plan.left_out = left_out_by(o);
    const plan p = profile.topics.empty() ? plan() : make_plan(profile, o.plan);
    if (!o.check.empty()) {
      const int status = check(o, p, profile);
      const bool measures = !o.run.empty() || !o.original.empty() || o.json;
      return status != 0 || !measures || p.topics.empty() ? status : measure(o, p, profile);
    }
    write_if_changed(o.header, plan_header(p, profile));
    write_if_changed(o.fallback, plan_fallback(p));
    if (!o.build) {
      std::fputs(plan_table(p, profile).c_str(), stdout);
    } else {
      for (const std::string& note : p.notes) std::fprintf(stderr, "heddle: %s\n", note.c_str());
    }
    return o.strict && p.topics.empty() && !profile.topics.empty() ? 1 : 0;
  } catch (const failure& e) {
    print_error(e.what(), "heddle optimize --help lists the options");
    return 1;
  }
}

}  // namespace

verb_function add_optimize(command& verb) {
  auto o = std::make_shared<optimize_options>();
  plan_options& plan = o->plan;
  verb.add_options({
      {"PROFILE", &o->profile, "What HEDDLE_PROFILE=FILE PROGRAM has made", {.required = true}},
      {"--header", &o->header, "Write the plan for HEDDLE_BUS_PLAN here"},
      {"--fallback", &o->fallback,
       "Write C definitions here for handlers that the program may have lost"},
      {"--theta",
       &plan.theta,
       "Share of all handler calls to merge",
       {.values = accepts::share, .show_default = true}},
      {"--variants",
       &plan.variants_max,
       "Sequences of one topic, at most 3",
       {.values = whole_range{1, 3}, .show_default = true}},
      {"--levels",
       &plan.levels_max,
       "Raises in raises after which GCC begins a function",
       {.values = whole_range{1, 64}, .show_default = true}},
      {"--handlers",
       &plan.handlers_max,
       "Handlers in one sequence",
       {.values = whole_range{1, 4096}, .show_default = true}},
      {"--compiler", &plan.compiler, "The build's compiler, as in the profile"},
      {"--check", &o->check, "Say which of the plan's handlers this program has"},
      {"--run", &o->run, "With --check: measure what merging gains, in runs with these arguments"},
      {"--original", &o->original,
       "With --check: measure, too, beside the same program built without a plan"},
      {"--rounds",
       &o->rounds,
       "Times to measure",
       {.values = whole_range{1, 1000}, .show_default = true}},
      {"--json", &o->json, "With --check: measure, and print it for programs"},
      {"--build", &o->build, "A step of a build: without a usable profile, no plan"},
      {"--strict", &o->strict, "Fail where the plan and the program disagree"},
  });
  return [o] { return run(*o); };
}

}  // namespace heddle::cli
