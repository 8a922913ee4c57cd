// SPDX-License-Identifier: MIT
// heddle optimize PROFILE: prints the handlers that a build will merge, and writes the plan for the
// compiler. --build is for a step of a build (heddle_optimize in CMake): a missing or useless
// profile then gives a program without a plan and a message, never a failed build. --check reports
// which of the plan's handlers a program contains.
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "cli/verbs.hh"
#include "heddle/base/error.hh"
#include "heddle/optimizer/planner.hh"

namespace heddle::cli {
namespace {

struct optimize_options {
  std::string profile;
  std::string header;
  std::string fallback;
  std::string check;
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

int run(const optimize_options& o) {
  try {
    const profile_data profile = o.build ? profile_for_build(o) : read_profile(o.profile);
    const plan p = profile.topics.empty() ? plan() : make_plan(profile, o.plan);
    if (!o.check.empty()) return check(o, p, profile);
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
      {"--build", &o->build, "A step of a build: without a usable profile, no plan"},
      {"--strict", &o->strict, "Fail where the plan and the program disagree"},
  });
  return [o] { return run(*o); };
}

}  // namespace heddle::cli
