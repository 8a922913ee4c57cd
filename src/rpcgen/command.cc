// SPDX-License-Identifier: MIT
// Reads the arguments, and writes the header or the diagnostics.
#include "rpcgen/command.hh"

#include <cstdio>

#include "rpcgen/syntax.hh"
#include "source/print_error.hh"

namespace heddle::rpcgen {
namespace {

int refuse(const std::string& what) {
  source::print_error(what, "heddle rpcgen FILE.x -o FILE.hh; heddle rpcgen --help says more");
  return 2;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

const char* command_help() noexcept {
  return "heddle rpcgen FILE.x [-o FILE.hh] [--libasync] [--json]\n"
         "writes the C++ header of an XDR file (RFC 4506, RFC 5531): its types, and a struct for\n"
         "each procedure. Without -o the header goes to standard output. --libasync writes the\n"
         "names of libasync's compiler, for programs that include arpc.h: rpc_str, ex_prog_1,\n"
         "RPC::ex_prog_1::ex_random(). --json writes mistakes as JSON.\n";
}

int run_command(const std::vector<std::string>& arguments) {
  std::string from;
  std::string to;
  bool json = false;
  bool libasync = false;
  for (std::size_t i = 0; i != arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "-h" || word == "--help") {
      std::fputs(command_help(), stdout);
      return 0;
    }
    if (word == "--json") {
      json = true;
    } else if (word == "--libasync") {
      libasync = true;
    } else if (word == "-o") {
      if (++i == arguments.size()) return refuse("-o needs the name of a file");
      to = arguments[i];
    } else if (word.size() > 1 && word.starts_with('-')) {
      return refuse("heddle rpcgen has no option " + word);
    } else if (!from.empty()) {
      return refuse("one file at a time: " + from + " and " + word + " are two");
    } else {
      from = word;
    }
  }
  if (from.empty()) return refuse("the name of an .x file is missing");
  auto text = source::read_text(from);
  if (!text) {
    source::print_error(text.error(), "");
    return 2;
  }
  const source::source_file file(from, std::move(*text));
  source::diagnostics found;
  const specification parsed = parse(file, found);
  if (libasync && !found.has_errors()) check_libasync(parsed, found);
  if (found.size() != 0 || json) std::fputs(print(found, {.json = json}).c_str(), stderr);
  if (found.has_errors()) return 1;
  const std::string made =
      libasync ? to_libasync(parsed, file_name(from)) : to_cpp(parsed, file_name(from));
  if (to.empty()) {
    std::fputs(made.c_str(), stdout);
    return 0;
  }
  if (const auto written = source::write_text(to, made); !written) {
    source::print_error(written.error(), "");
    return 2;
  }
  return 0;
}

}  // namespace heddle::rpcgen
