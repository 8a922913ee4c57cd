// SPDX-License-Identifier: MIT
// heddle VERB: finds the verb, suggests the nearest one for an unknown name, and turns exceptions
// into three lines and an exit code.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "cli/verbs.hh"
#include "cli/wrong_words.hh"
#include "serve/serve.hh"
#include "source/nearest.hh"

namespace heddle::cli {
namespace {

constexpr const char* examples =
    "heddle - network services as sequential code, run on events\n\n"
    "  heddle serve                  serve this directory on http://127.0.0.1:8000/\n"
    "  heddle serve site -p 9000     another directory, another port\n"
    "  heddle serve --public         on every interface, for others on this network\n"
    "  heddle proxy :8080 http://127.0.0.1:3000   in front of another server\n"
    "  heddle cert                   a certificate for https://localhost\n"
    "  heddle doctor                 which driver runs here, and how to fix problems\n"
    "  heddle explain abandoned-event  what a diagnostic means\n"
    "  heddle draft run echo.draft   compile a Draft program and run it\n\n"
    "heddle --help lists everything; heddle VERB --help, the options of a verb.\n";

std::vector<std::string> names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

struct verb {
  CLI::App* command;
  verb_function run;
};

int run(int argc, char** argv) {
  CLI::App app("Network services as sequential code, run on events.", "heddle");
  app.set_help_flag("--help", "Everything");
  bool short_help = false;
  app.add_flag("-h", short_help, "Examples");
  app.set_version_flag("--version", "heddle " HEDDLE_VERSION);
  std::vector<verb> verbs;
  const auto add = [&](const char* name, const char* what, verb_function (*make)(CLI::App&)) {
    CLI::App* command = app.add_subcommand(name, what);
    command->set_help_flag("-h,--help", "This list");
    verbs.push_back({command, make(*command)});
  };
  add("serve", "Serve a directory over HTTP", &serve::add_command);
  add("proxy", "Send requests on to other servers", &serve::add_proxy_command);
  add("cert", "Make a certificate for development, for https", &add_cert);
  add("password", "Hash a password, for serve --auth", &add_password);
  add("doctor", "Report which drivers work on this machine, and how to fix problems", &add_doctor);
  add("explain", "Explain a diagnostic", &add_explain);
  add("optimize", "Merge the busy handlers of a profile", &add_optimize);
  add("new", "Make a folder with a new program", &add_new);
  add("draft", "Compile Draft, a language for network services, to C; run it", &add_draft);
  add("graph", "Draw a profile of topics and handlers", &add_graph);
  add("tame", "Translate or port source that was written for Tame or tamer", &add_tame);
  add("trace", "Draw the TCP connections of a packet trace", &add_trace);
  if (argc < 2) {
    std::fputs(examples, stdout);
    return 0;
  }
  const std::string first = argv[1];
  const std::vector<std::string> known = names_of_verbs(app);
  if (!first.empty() && first[0] != '-' && std::ranges::find(known, first) == known.end()) {
    const std::string close = source::nearest(first, known);
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
    const auto parsed = app.get_subcommands();
    const mistake wrong = describe(e, parsed.empty() ? nullptr : parsed.front());
    print_error(wrong.what, wrong.help);
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
    heddle::cli::print_error(e.what(), "heddle doctor tells what works on this machine");
    return 1;
  } catch (const std::invalid_argument& e) {  // the runtime rejected an environment variable
    heddle::cli::print_error(e.what(),
                             "HEDDLE_DIAGNOSTICS switches diagnostics, as in "
                             "double-trigger=report,two-waiters=off");
    return 2;
  } catch (const std::exception& e) {
    heddle::cli::print_error(e.what(), "this is a bug in heddle; please report it");
    return 70;
  }
}
