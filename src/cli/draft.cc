// SPDX-License-Identifier: MIT
// heddle draft FILE: compiles Draft to C. heddle draft run FILE: also compiles the C with the C
// compiler found, and runs it. heddle draft fmt FILE...: formats it. heddle draft lsp: serves an
// editor.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "cli/verbs.hh"
#include "draft/format.hh"
#include "draft/highlight.hh"
#include "draft/language_server.hh"
#include "draft/tool.hh"
#include "source/makefile_rule.hh"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

struct options {
  std::string file;
  std::string out;
  std::string depends;  ///< the file for a makefile rule
  std::string emit = "c";
  bool check = false;
  bool json = false;
  bool no_line = false;
  bool keep = false;
  std::vector<std::string> imports;
  std::vector<std::string> off;  ///< passes that are switched off
  std::vector<std::string> files;
  std::vector<std::string> arguments;
  std::string form;  ///< the form of a syntax file
};

void show(const source::diagnostics& report, bool json) {
  const std::string text =
      source::print(report, {.colors = !json && ::isatty(2) == 1, .json = json});
  std::fputs(text.c_str(), json ? stdout : stderr);
}

bool pass_off(draft::pass_options& passes, const std::string& name) {
  bool* const found = name == "simplify"  ? &passes.simplify
                      : name == "fold"    ? &passes.fold
                      : name == "dead"    ? &passes.dead
                      : name == "fuse"    ? &passes.fuse
                      : name == "overlap" ? &passes.overlap
                                          : nullptr;
  if (found != nullptr) *found = false;
  return found != nullptr;
}

int compile(const options& o) {
  if (o.file.empty()) {
    print_error("which file?", "heddle draft FILE, or heddle draft run FILE");
    return 2;
  }
  if (!o.depends.empty() && o.out.empty()) {
    print_error("--depfile needs the output's name", "heddle draft FILE -o a.c --depfile a.d");
    return 2;
  }
  const auto until = o.check ? draft::stage::check : draft::stage_named(o.emit);
  if (!o.check && !draft::stage_named(o.emit)) {
    print_error("there is no stage '" + o.emit + "'",
                "stages are tokens, ast, types, cfg, dot, svg, plan, c, cc, header");
    return 2;
  }
  draft::compile_options how;
  how.front.import_paths = o.imports;
  how.emit.lines = !o.no_line;
  for (const std::string& name : o.off) {
    if (pass_off(how.passes, name)) continue;
    print_error("there is no pass '" + name + "'",
                "passes are simplify, fold, dead, fuse, overlap");
    return 2;
  }
  const draft::compiled made = draft::compile(o.file, *until, how);
  if (!made.report.all().empty() || o.json) show(made.report, o.json);
  if (!made.good()) return 1;
  if (o.check) return 0;
  if (o.out.empty()) {
    std::fputs(made.text.c_str(), stdout);
    return 0;
  }
  if (const auto written = source::write_text(o.out, made.text); !written) {
    print_error(written.error(), "");
    return 1;
  }
  if (o.depends.empty()) return 0;
  std::vector<std::string> read;
  for (const source::source_file& f : made.made->files) read.push_back(f.path());
  const auto written = source::write_text(o.depends, source::makefile_rule(o.out, read));
  if (!written) print_error(written.error(), "");
  return written ? 0 : 1;
}

/// The headers and the library that belong to this program: in its build tree, or where it is
/// installed.
struct installation {
  std::string include;
  fs::path library;  ///< static or shared
};
installation find_installation() {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  const fs::path top = self.parent_path().parent_path();
  installation found;
  for (fs::path at = top; found.include.empty(); at = at.parent_path()) {
    if (fs::exists(at / "include/heddle/draft.h", failed)) found.include = at / "include";
    if (!at.has_relative_path()) break;
  }
  for (const char* lib : {"lib", HEDDLE_LIBDIR})
    for (const char* name : {"libheddle.a", "libheddle.so"})
      if (found.library.empty() && fs::exists(top / lib / name, failed))
        found.library = top / lib / name;
  return found;
}

std::string quoted(const std::string& s) {
  std::string out = "'";
  for (const char c : s) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The libraries by which HEDDLE_NET chooses a program's TCP, if they are there.
std::string network_of(const installation& heddle) {
  std::string words;
  for (const char* name : {"libheddle_net", "libheddle_tcp"}) {
    fs::path library = heddle.library.parent_path() / name;
    library += heddle.library.extension();
    std::error_code failed;
    if (!fs::exists(library, failed)) return {};
    words += " " + quoted(library);
  }
  return " -Wl,-u,heddle_net_from_environment" + words;
}

int run(const options& o) {
  if (o.arguments.empty()) {
    print_error("which file?", "heddle draft run FILE [ARGUMENTS]");
    return 2;
  }
  const std::string file = o.arguments.front();
  draft::compile_options how;
  how.front.import_paths = o.imports;
  const draft::compiled made = draft::compile(file, draft::stage::c, how);
  if (!made.report.all().empty()) show(made.report, false);
  if (!made.good()) return 1;
  if (made.text.find("\nint main(") == std::string::npos) {
    print_error(file + " has no main", "main(port: u16 = 7777) -> ! { ... }");
    return 1;
  }
  const installation heddle = find_installation();
  if (heddle.include.empty() || heddle.library.empty()) {
    print_error("the headers and the library of heddle are not beside this program",
                "build the target heddle, or install the component library");
    return 1;
  }
  char folder[] = "/tmp/heddle-draft-XXXXXX";
  if (::mkdtemp(folder) == nullptr) {
    print_error("cannot make a folder in /tmp", "");
    return 1;
  }
  const std::string source_name = std::string(folder) + "/program.c";
  const std::string program = std::string(folder) + "/program";
  int code = 1;
  if (const auto written = source::write_text(source_name, made.text); !written) {
    print_error(written.error(), "");
  } else {
    const char* const cc = std::getenv("CC");
    const fs::path beside = fs::path(file).parent_path();
    std::string command = (cc != nullptr && *cc != '\0' ? std::string(cc) : "cc") +
                          " -std=c11 -O2 -g -w -D_GNU_SOURCE -I" + quoted(heddle.include) + " -I" +
                          quoted(beside.empty() ? "." : beside.string()) + " " +
                          quoted(source_name);
    // The declarations of `extern "parse.h"` are defined in parse.c, beside the module that has
    // them.
    for (const auto& m : made.made->modules) {
      const fs::path home = fs::path(m->file->path()).parent_path();
      const std::string include = " -I" + quoted(home.empty() ? "." : home.string());
      for (const auto& x : m->tree.items) {
        if (!x->head().is_extern()) continue;
        if (command.find(include) == std::string::npos) command += include;
        fs::path c = home / *x->head().header;
        c.replace_extension(".c");
        std::error_code failed;
        if (fs::exists(c, failed) && command.find(quoted(c)) == std::string::npos)
          command += " " + quoted(c);
      }
    }
    command += " -o " + quoted(program) + network_of(heddle) + " " + quoted(heddle.library);
    if (heddle.library.extension() == ".so")
      command += " -Wl,-rpath," + quoted(heddle.library.parent_path());
    command += " " HEDDLE_LINK_LIBRARIES;
    if (std::system(command.c_str()) != 0) {
      print_error("the C compiler failed", "the command was: " + command);
    } else {
      std::vector<std::string> words = {file};
      words.insert(words.end(), o.arguments.begin() + 1, o.arguments.end());
      std::vector<char*> argv;
      for (std::string& w : words) argv.push_back(w.data());
      argv.push_back(nullptr);
      // exec() replaces this process, so the file is deleted first and run from an open handle.
      const int handle = ::open(program.c_str(), O_RDONLY | O_CLOEXEC);
      std::error_code failed;
      fs::remove_all(folder, failed);
      if (handle >= 0) ::fexecve(handle, argv.data(), environ);
      print_error("cannot run the compiled program", "");
    }
  }
  std::error_code failed;
  fs::remove_all(folder, failed);
  return code;
}

int lay_out(const options& o) {
  int code = 0;
  for (const std::string& name : o.files) {
    const auto text = source::read_text(name);
    if (!text) {
      print_error(text.error(), "");
      code = 1;
      continue;
    }
    const source::source_file file(name, *text);
    const std::string formatted = draft::format(file);
    if (o.check) {
      if (formatted != *text) {
        std::printf("%s\n", name.c_str());
        code = 1;
      }
    } else if (formatted != *text) {
      if (const auto written = source::write_text(name, formatted); !written) {
        print_error(written.error(), "");
        code = 1;
      }
    }
  }
  return code;
}

}  // namespace

verb_function add_draft(command& verb) {
  auto o = std::make_shared<options>();
  verb.add_options({
      {"FILE", &o->file, "A .draft file"},
      {"-o", &o->out, "Where the result goes; standard output without it"},
      {"--emit", &o->emit, "tokens, ast, types, cfg, dot, svg, plan, c, cc or header"},
      {"--check", &o->check, "Only say what is wrong"},
      {"--json", &o->json, "Diagnostics as JSON"},
      {"--no-line", &o->no_line, "C without #line"},
      {"-I", &o->imports, "Where modules are looked for"},
      {"--depfile", &o->depends, "Write a makefile rule: the files that the output is made from"},
      {"--without", &o->off, "Passes that do not run: simplify, fold, dead, fuse, overlap"},
  });
  command& runs = verb.add_command("run", "Compile it with the C compiler and run it");
  runs.take_rest();
  command& formats = verb.add_command("fmt", "Lay out files in the one style");
  formats.add_options({
      {"FILES", &o->files, "The files", {.required = true}},
      {"--check", &o->check, "Only name the files that would change"},
  });
  command& serves = verb.add_command("lsp", "Serve an editor on standard input and output");
  command& syntax = verb.add_command("syntax", "Print a syntax file for an editor");
  syntax.add_options({{"FORM",
                       &o->form,
                       "vim or textmate",
                       {.values = choices{"vim", "textmate"}, .required = true}}});
  return [o, &runs, &formats, &serves, &syntax] {
    if (serves.given()) return draft::serve_editor(stdin, stdout);
    if (syntax.given()) {
      std::fputs((o->form == "vim" ? draft::vim_syntax() : draft::textmate_grammar()).c_str(),
                 stdout);
      return 0;
    }
    if (runs.given()) {
      o->arguments = runs.rest();
      return run(*o);
    }
    if (formats.given()) return lay_out(*o);
    return compile(*o);
  };
}

}  // namespace heddle::cli
