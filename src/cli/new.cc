// SPDX-License-Identifier: MIT
// heddle new NAME --kind draft: a folder with a program that compiles, runs and has a test.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/verbs.hh"
#include "draft/new_project.hh"
#include "source/source_file.hh"

namespace heddle::cli {
namespace {

struct new_options {
  std::string name;
  std::string kind = "draft";
};

int make_project(const new_options& o) {
  namespace fs = std::filesystem;
  if (o.kind != "draft") {
    print_error("there is no kind '" + o.kind + "'", "heddle new NAME --kind draft");
    return 2;
  }
  const fs::path folder = o.name;
  const std::string name = folder.filename();
  if (!draft::is_project_name(name)) {
    print_error("'" + name + "' cannot name a program", "letters, digits and _, and no keyword");
    return 2;
  }
  std::error_code failed;
  if (fs::exists(folder, failed)) {
    print_error(o.name + " exists already", "");
    return 1;
  }
  if (!fs::create_directories(folder, failed)) {
    print_error("cannot make the folder " + o.name + ": " + failed.message(), "");
    return 1;
  }
  for (const draft::project_file& f : draft::new_project(name)) {
    const fs::path path = folder / f.path;
    if (const auto written = source::write_text(path, f.text); !written) {
      print_error(written.error(), "");
      return 1;
    }
    if (f.executable) fs::permissions(path, fs::perms::owner_exec, fs::perm_options::add, failed);
  }
  std::printf("%s/: heddle draft run %s/main.draft\n", o.name.c_str(), o.name.c_str());
  return 0;
}

}  // namespace

verb_function add_new(command& verb) {
  auto o = std::make_shared<new_options>();
  verb.add_options({
      {"NAME", &o->name, "The folder, whose last part names the program", {.required = true}},
      {"--kind", &o->kind, "draft: a server in Draft with a helper in C"},
  });
  return [o] { return make_project(*o); };
}

}  // namespace heddle::cli
