// SPDX-License-Identifier: MIT
// heddle VERB: finds the verb, suggests the nearest one for an unknown name, and turns exceptions
// into three lines and an exit code.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "cli/verbs.hh"
#include "heddle/base/detail/standard_streams.hh"
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

struct verb {
  const char* name;
  const char* what;
  verb_function (*make)(command&);
};
constexpr verb verbs[] = {
    {"serve", "Serve a directory over HTTP", &serve::add_command},
    {"proxy", "Send requests on to other servers", &serve::add_proxy_command},
    {"cert", "Make a certificate for development, for https", &add_cert},
    {"password", "Hash a password, for serve --auth", &add_password},
    {"doctor", "Report which drivers work on this machine, and how to fix problems", &add_doctor},
    {"explain", "Explain a diagnostic", &add_explain},
    {"optimize", "Merge the busy handlers of a profile", &add_optimize},
    {"new", "Make a folder with a new program", &add_new},
    {"draft", "Compile Draft, a language for network services, to C; run it", &add_draft},
    {"rpcgen", "Compile an XDR file of types and RPC programs to C++", &add_rpcgen},
    {"graph", "Draw a profile of topics and handlers", &add_graph},
    {"tame", "Translate or port source that was written for Tame or tamer", &add_tame},
    {"trace", "Draw the TCP connections of a packet trace", &add_trace},
};

struct made_verb {
  command& words;
  verb_function run;
};

int run(int argc, char** argv) {
  bool short_help = false;
  command program("heddle", "Network services as sequential code, run on events.");
  program.set_help_flag("--help", "Everything");
  program.add_options({{"-h", &short_help, "Examples"}});
  program.set_version_flag("--version", "heddle " HEDDLE_VERSION);
  std::vector<std::string> known;
  std::vector<made_verb> made;
  for (const verb& v : verbs) {
    command& words = program.add_command(v.name, v.what);
    words.set_help_flag("-h,--help", "This list");
    known.emplace_back(v.name);
    made.push_back({words, v.make(words)});
  }
  if (argc < 2) {
    std::fputs(examples, stdout);
    return 0;
  }
  const std::string first = argv[1];
  if (!first.empty() && first[0] != '-' && std::ranges::find(known, first) == known.end()) {
    const std::string close = source::nearest(first, known);
    print_error("there is no verb '" + first + "'",
                close.empty() ? "heddle --help lists the verbs" : "did you mean '" + close + "'?");
    return 2;
  }
  if (const std::optional<int> code = program.parse(argc, argv)) return *code;
  if (short_help) {
    std::fputs(examples, stdout);
    return 0;
  }
  for (const made_verb& v : made)
    if (v.words.given()) return v.run();
  return 2;
}

}  // namespace
}  // namespace heddle::cli

int main(int argc, char** argv) {
  heddle::hold_standard_streams();
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
