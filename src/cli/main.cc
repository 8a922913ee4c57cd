// SPDX-License-Identifier: MIT
// heddle VERB: finds the verb, suggests the nearest when there is none of that name, and turns what
// goes wrong into three lines and an exit code.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "cli/verbs.hh"

namespace heddle::cli {
namespace {

constexpr const char* examples =
    "heddle - network services written straight down, run as events\n\n"
    "  heddle serve                  serve this directory on http://127.0.0.1:8000/\n"
    "  heddle serve site -p 9000     another directory, another port\n"
    "  heddle serve --public         on every interface, for others on this network\n"
    "  heddle doctor                 which driver runs here, and what to do about it\n"
    "  heddle explain abandoned-event  what a diagnostic means\n\n"
    "heddle --help lists everything; heddle VERB --help, the options of a verb.\n";

std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

bool has_verb(const CLI::App& app, const std::string& word) {
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    if (verb->get_name() == word) return true;
  return false;
}

std::string nearest_verb(const CLI::App& app, const std::string& word) {
  std::string best;
  std::size_t least = 3;  // further away it is another word, not a slip
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::size_t d = distance(word, verb->get_name());
    if (d < least) {
      least = d;
      best = verb->get_name();
    }
  }
  return best;
}

struct verb {
  CLI::App* command;
  verb_function run;
};

int run(int argc, char** argv) {
  CLI::App app("Network services written straight down, run as events.", "heddle");
  app.set_help_flag("--help", "Everything");
  bool short_help = false;
  app.add_flag("-h", short_help, "Five examples");
  app.set_version_flag("--version", "heddle " HEDDLE_VERSION);
  std::vector<verb> verbs;
  const auto add = [&](const char* name, const char* what, verb_function (*make)(CLI::App&)) {
    CLI::App* command = app.add_subcommand(name, what);
    verbs.push_back({command, make(*command)});
  };
  add("serve", "Serve a directory over HTTP", &add_serve);
  add("doctor", "Say what runs on this machine, and what to do about what does not", &add_doctor);
  add("explain", "Explain a diagnostic", &add_explain);
  add("optimize", "Merge the handlers that a profile found busy", &add_optimize);
  add("graph", "Draw a profile of topics and handlers", &add_graph);
  if (argc < 2) {
    std::fputs(examples, stdout);
    return 0;
  }
  const std::string first = argv[1];
  if (!first.empty() && first[0] != '-' && !has_verb(app, first)) {
    const std::string close = nearest_verb(app, first);
    print_error("there is no verb '" + first + "'",
                close.empty() ? "heddle --help lists the verbs" : "did you mean '" + close + "'?");
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    std::printf("%s\n", version.what());
    return 0;
  } catch (const CLI::ParseError& e) {
    print_error(e.what(), "heddle " + first + " --help lists the options");
    return 2;
  }
  if (short_help) {
    std::fputs(examples, stdout);
    return 0;
  }
  for (const verb& v : verbs)
    if (v.command->parsed()) return v.run();
  return 2;
}

}  // namespace
}  // namespace heddle::cli

int main(int argc, char** argv) {
  try {
    return heddle::cli::run(argc, argv);
  } catch (const std::system_error& e) {
    heddle::cli::print_error(e.what(), "heddle doctor says what works on this machine");
    return 1;
  } catch (const std::invalid_argument& e) {  // the runtime read it from the environment
    heddle::cli::print_error(e.what(),
                             "HEDDLE_DIAGNOSTICS switches diagnostics, as in "
                             "double-trigger=report,two-waiters=off");
    return 2;
  } catch (const std::exception& e) {
    heddle::cli::print_error(e.what(), "this is a mistake of heddle's; please report it");
    return 70;
  }
}
