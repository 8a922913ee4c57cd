// SPDX-License-Identifier: MIT
// The command lines of the translator.
#include "tame/command.hh"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "source/makefile_rule.hh"
#include "tame/translate.hh"

namespace heddle::tame {
namespace {

enum class action : std::uint8_t { show, write, check, build };

struct wish {
  std::vector<std::string> files;
  std::string output;
  std::string depends;
  translate_options options;
  action does = action::show;
  bool has_dialect = false;
  bool json = false;
};

int mistake(const std::string& what, const std::string& help) {
  std::fprintf(stderr, "heddle tame: %s\n  help: %s\n", what.c_str(), help.c_str());
  return 2;
}

bool has_colors(std::FILE* to) {
  const char* const none = std::getenv("NO_COLOR");
  return (none == nullptr || *none == '\0') && ::isatty(::fileno(to)) != 0;
}

void print_diagnostics(const source::diagnostics& found, const wish& w) {
  if (found.size() == 0 && !w.json) return;
  const std::string text =
      source::print(found, {.colors = has_colors(stderr) && !w.json, .json = w.json});
  std::fputs(text.c_str(), w.json ? stdout : stderr);
}

std::string colored(const std::string& diff) {
  std::string out;
  for (std::size_t at = 0; at < diff.size();) {
    std::size_t end = diff.find('\n', at);
    if (end == std::string::npos) end = diff.size();
    const std::string_view line(diff.data() + at, end - at);
    const char* const color = line.starts_with("+++") || line.starts_with("---") ? "\033[1m"
                              : line.starts_with('+')                            ? "\033[32m"
                              : line.starts_with('-')                            ? "\033[31m"
                              : line.starts_with("@@")                           ? "\033[36m"
                                                                                 : "";
    out += color;
    out += line;
    if (*color != '\0') out += "\033[0m";
    out += '\n';
    at = end + 1;
  }
  return out;
}

std::string plural(std::size_t n, const char* one) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

void print_summary(const translation& t, std::FILE* to) {
  std::fprintf(
      to, "%s, %s, %s; %s left to you\n", plural(t.counts.functions, "tamed function").c_str(),
      plural(t.counts.waits, "wait").c_str(), plural(t.counts.variables, "tvars block").c_str(),
      plural(t.left.size(), "matter").c_str());
}

bool write_or_complain(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return std::fflush(stdout) == 0;
  }
  const auto written = source::write_text(path, text);
  if (written) return true;
  std::fprintf(stderr, "heddle tame: %s\n", written.error().c_str());
  return false;
}

dialect dialect_of(const wish& w, const std::string& file) {
  if (w.has_dialect) return w.options.language;
  return file.ends_with(".T") ? dialect::tame : dialect::tamer;
}

using form = translation (*)(const source::source_file&, const translate_options&,
                             source::diagnostics&);

/// Reads a file, makes one of its two forms, and prints the diagnostics. If that failed, `failure`
/// is the exit code.
struct outcome {
  outcome(const wish& w, const std::string& path, form make) {
    const auto read = source::read_text(path);
    if (!read) {
      failure = mistake(read.error(), "give the name of a Tame source file");
      return;
    }
    text = *read;
    const source::source_file file(path, text);
    source::diagnostics found;
    translate_options options = w.options;
    options.language = dialect_of(w, path);
    made = make(file, options, found);
    print_diagnostics(found, w);
    if (found.has_errors()) failure = 1;
  }

  std::string text;  ///< the text of the source
  translation made;
  int failure = 0;
};

int build_one(const wish& w, const std::string& path) {
  const outcome o(w, path, &translate);
  if (o.failure != 0) return o.failure;
  const std::string output = w.output.empty() ? output_name(path) : w.output;
  if (!write_or_complain(output, o.made.text)) return 1;
  if (w.depends.empty()) return 0;
  std::vector<std::string> inputs = {path};
  inputs.insert(inputs.end(), o.made.read.begin(), o.made.read.end());
  return write_or_complain(w.depends, source::makefile_rule(output, inputs)) ? 0 : 1;
}

int port_one(const wish& w, const std::string& path) {
  const outcome o(w, path, &port);
  if (o.failure != 0) return o.failure;
  const translation& t = o.made;
  const bool changes = t.text != o.text;
  if (w.does == action::check) {
    if (changes) std::fprintf(stderr, "%s: a port would change it\n", path.c_str());
    return changes ? 1 : 0;
  }
  if (w.does == action::write) {
    if (changes && !write_or_complain(path, t.text)) return 1;
  } else if (!w.json) {
    const std::string diff = has_colors(stdout) ? colored(t.diff) : t.diff;
    std::fputs(diff.c_str(), stdout);
  }
  std::FILE* const to = w.does == action::write ? stdout : stderr;
  for (const by_hand& b : t.left)
    std::fprintf(to, "%s:%u: by hand: %s\n", path.c_str(), b.line, b.what.c_str());
  std::fprintf(to, "%s: ", path.c_str());
  print_summary(t, to);
  return 0;
}

/// All files of a command line.
int run_files(const wish& w, const char* example) {
  if (w.files.empty()) return mistake("no file is given", example);
  if (!w.output.empty() && w.files.size() != 1)
    return mistake("-o takes one source file", "translate each file by a command of its own");
  int worst = 0;
  for (const std::string& file : w.files)
    worst = std::max(worst, w.does == action::build ? build_one(w, file) : port_one(w, file));
  return worst;
}

}  // namespace

const char* command_help() noexcept {
  return "heddle tame FILE...            show what porting these files to Heddle would change\n"
         "heddle tame --write FILE...    port them\n"
         "heddle tame --check FILE...    exit with 1 if a port would change one of them\n"
         "heddle tame -o OUT FILE        write C++ for the compiler (- is standard output)\n\n"
         "  --dialect tamer|tame         of the source; .T files are tame, others tamer\n"
         "  --api                        in a port, also rename what Heddle has alike\n"
         "  --json                       diagnostics as JSON on standard output\n"
         "  --no-line                    no #line directives in the output\n"
         "  --returns TYPE               in the output, tamed functions return TYPE and not void\n"
         "  --scan-includes              read headers for macros that return\n"
         "  -I FOLDER                    where these headers are, besides the source's folder\n"
         "  -MD FILE                     write a makefile rule for the output\n";
}

int run_command(const std::vector<std::string>& arguments) {
  wish w;
  bool contradicts = false;
  const auto choose = [&](action does) {
    contradicts |= w.does != action::show && w.does != does;
    w.does = does;
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    const auto value = [&](std::string& to) {
      if (i + 1 == arguments.size()) return false;
      to = arguments[++i];
      return true;
    };
    std::string name;
    if (a == "-h" || a == "--help") {
      std::fputs(command_help(), stdout);
      return 0;
    }
    if (a == "-o" || a == "--output") {
      if (!value(w.output))
        return mistake("-o needs a file name", "-o - writes to standard output");
      choose(action::build);
    } else if (a == "-MD") {
      if (!value(w.depends)) return mistake("-MD needs a file name", "-MD a.d");
    } else if (a == "--dialect") {
      if (!value(name) || (name != "tamer" && name != "tame"))
        return mistake("--dialect is tamer or tame", "--dialect tame for sources with CLOSURE");
      w.options.language = name == "tame" ? dialect::tame : dialect::tamer;
      w.has_dialect = true;
    } else if (a == "--write") {
      choose(action::write);
    } else if (a == "--check") {
      choose(action::check);
    } else if (a == "--json") {
      w.json = true;
    } else if (a == "--api") {
      w.options.rename_api = true;
    } else if (a == "--returns") {
      if (!value(w.options.returns) || w.options.returns.empty())
        return mistake("--returns needs a type", "--returns heddle::tame::function");
    } else if (a == "--scan-includes") {
      w.options.scan_includes = true;
    } else if (a == "-I") {
      if (!value(name)) return mistake("-I needs a folder", "-I include");
      w.options.folders.push_back(name);
    } else if (a.starts_with("-I")) {
      w.options.folders.push_back(a.substr(2));
    } else if (a == "--no-line") {
      w.options.line_directives = false;
    } else if (a.size() > 1 && a[0] == '-') {
      return mistake("unknown option " + a, "heddle tame --help lists the options");
    } else {
      w.files.push_back(a);
    }
  }
  if (contradicts)
    return mistake("-o, --write and --check exclude each other", "choose one of them");
  return run_files(w, "heddle tame --help");
}

int run_known_tool(const std::vector<std::string>& arguments) {
  wish w;
  w.does = action::build;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if (a == "-o") {
      if (i + 1 == arguments.size()) return mistake("-o needs a file name", "-o a.cc");
      w.output = arguments[++i];
    } else if (a.starts_with("-o") && a.size() > 2) {
      w.output = a.substr(2);
    } else if (a == "-n" || a == "-L") {
      w.options.line_directives = false;
    } else if (a == "-h" || a == "--help") {
      std::fputs(
          "tamer [-n] [-o OUT] [-c] FILE...   the translator of Heddle: heddle tame --help\n",
          stdout);
      return 0;
    } else if (a == "-c" || a == "-g" || a == "-b" || a == "-D" || a == "-F" || a == "-l") {
      // These flags ask for what the translator always does.
    } else if (a.size() > 1 && a[0] == '-') {
      return mistake("unknown option " + a, "known are -o -c -n -L -g -b -D -F -l");
    } else {
      w.files.push_back(a);
    }
  }
  return run_files(w, "tamer -o a.cc a.tcc");
}

}  // namespace heddle::tame
