// SPDX-License-Identifier: MIT
// heddle graph --bus FILE: draws a profile or a trace as DOT, or as SVG if Graphviz is installed:
// the whole graph of topics, its busy part, or the handlers with the raises that they cause.
#include <cstdio>
#include <fstream>
#include <memory>

#include "cli/verbs.hh"
#include "heddle/base/error.hh"
#include "heddle/optimizer/bus_trace.hh"
#include "heddle/optimizer/profile_graph.hh"

namespace heddle::cli {
namespace {

struct cli_graph_options {
  std::string profile;
  std::string output;
  std::string kind = "topics";
  graph_options graph = {};
};

/// Graphviz reads the text from its standard input; no part of it reaches a shell.
int write_svg(const std::string& dot, const std::string& path) {
  if (path.find_first_of("'\n") != std::string::npos) {
    print_error(path + ": a quote or a line end in a file name", "name another file");
    return 2;
  }
  std::FILE* graphviz = ::popen(("dot -Tsvg -o '" + path + "'").c_str(), "w");
  const bool sent =
      graphviz != nullptr && std::fwrite(dot.data(), 1, dot.size(), graphviz) == dot.size();
  if (graphviz == nullptr || ::pclose(graphviz) != 0 || !sent) {
    print_error(path + ": Graphviz could not draw it",
                "install graphviz (its program is dot), or name a .dot file");
    return 1;
  }
  return 0;
}

int run(const cli_graph_options& o) {
  try {
    graph_options options = o.graph;
    options.handlers = o.kind == "handlers";
    const profile_data profile =
        is_trace(o.profile) ? read_trace(o.profile) : read_profile(o.profile);
    if (profile.dropped != 0)
      std::fprintf(stderr, "heddle: %s is not complete: %llu entries did not fit its limits\n",
                   o.profile.c_str(), static_cast<unsigned long long>(profile.dropped));
    const std::string dot = profile_graph(profile, options);
    if (o.output.empty() || o.output == "-") {
      std::fputs(dot.c_str(), stdout);
      return 0;
    }
    if (o.output.ends_with(".svg")) return write_svg(dot, o.output);
    std::ofstream out(o.output, std::ios::trunc);
    out << dot;
    out.close();
    if (!out)
      throw failure(std::make_error_code(std::errc::io_error), o.output + ": cannot be written");
    return 0;
  } catch (const failure& e) {
    print_error(e.what(), "heddle graph --help lists the options");
    return 1;
  }
}

}  // namespace

verb_function add_graph(command& verb) {
  auto o = std::make_shared<cli_graph_options>();
  verb.add_options({
      {"--bus",
       &o->profile,
       "What HEDDLE_PROFILE=FILE or HEDDLE_BUS_TRACE=FILE PROGRAM has made",
       {.required = true}},
      {"-o,--output", &o->output, "A .dot or .svg file; otherwise DOT is printed"},
      {"--kind",
       &o->kind,
       "topics: which follows which; handlers: who raises what",
       {.values = choices{"topics", "handlers"}, .show_default = true}},
      {"--threshold",
       &o->graph.threshold,
       "Leave out what happened less often than this share of the busiest edge",
       {.values = accepts::share, .show_default = true}},
  });
  return [o] { return run(*o); };
}

}  // namespace heddle::cli
