// SPDX-License-Identifier: MIT
// Loading: a file, then the modules that it uses, each once. `use a.b` is a/b.draft beside the
// user, or on an import path; net, fs, time, log, rand and os are built in.
#include <algorithm>

#include "draft/front.hh"
#include "draft/parser.hh"

namespace heddle::draft {
namespace {

constexpr std::string_view builtin_modules[] = {"net", "fs", "time", "log", "rand", "os"};

class loader {
 public:
  loader(program& p, const front_options& options, source::diagnostics& report)
      : program_(p), options_(options), report_(report) {}

  bool load_main(const std::string& path) {
    auto text = read(path);
    if (!text) {
      report_.error("D0003", {}, text.error());
      return false;
    }
    program_.main_module = add(path, std::move(*text));
    return true;
  }

 private:
  std::expected<std::string, std::string> read(const std::string& path) const {
    return options_.read ? options_.read(path) : source::read_text(path);
  }

  /// One name for a file, however it was reached. Without <filesystem>, whose std::quoted()
  /// would be found beside our quoted().
  static std::string plain(const std::string& path) {
    std::vector<std::string_view> parts;
    const std::string_view all = path;
    for (std::size_t at = 0; at <= all.size();) {
      const std::size_t end = std::min(all.find('/', at), all.size());
      const std::string_view part = all.substr(at, end - at);
      at = end + 1;
      if (part == ".." && !parts.empty() && parts.back() != "..")
        parts.pop_back();
      else if (!part.empty() && part != ".")
        parts.push_back(part);
    }
    std::string out;
    for (const std::string_view part : parts)
      out += (out.empty() && !all.starts_with('/') ? "" : "/") + std::string(part);
    return out;
  }
  static std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
  }

  module* add(const std::string& path, std::string text) {
    const source::source_file& file = program_.files.emplace_back(path, std::move(text));
    auto made = std::make_unique<module>();
    module* const m = made.get();
    m->file = &file;
    m->loading = true;
    by_path_.emplace_back(plain(path), m);
    const lexed tokens = lex(file, report_);
    m->tree = parse(file, tokens, report_);
    m->name = m->tree.module_name;
    if (m->name.empty()) {
      const std::size_t slash = path.rfind('/');
      m->name = path.substr(slash == std::string::npos ? 0 : slash + 1);
      m->name.resize(std::min(m->name.find('.'), m->name.size()));
    }
    m->c_name = m->name;
    for (char& c : m->c_name)
      if (c == '.' || c == '-') c = '_';
    chain_.push_back(m);
    for (const use_line& u : m->tree.uses) load_use(*m, u);
    chain_.pop_back();
    m->loading = false;
    program_.modules.push_back(std::move(made));
    return m;
  }

  void load_use(module& user, const use_line& u) {
    for (const auto& [path, known] : user.uses) {
      if (path != u.path) continue;
      report_.error("D0003", u.at, "'" + u.path + "' is used already").hint = "delete this line";
      return;
    }
    if (std::find(std::begin(builtin_modules), std::end(builtin_modules), u.path) !=
        std::end(builtin_modules)) {
      user.uses.emplace_back(u.path, nullptr);
      return;
    }
    std::string tail = u.path;
    std::replace(tail.begin(), tail.end(), '.', '/');
    tail += ".draft";
    std::vector<std::string> tries = {folder_of(user.file->path()) + tail};
    for (const std::string& each : options_.import_paths) tries.push_back(each + "/" + tail);
    for (const std::string& path : tries) {
      const std::string name = plain(path);
      for (const auto& [known, m] : by_path_) {
        if (known != name) continue;
        if (m->loading) return report_cycle(*m, u);
        return add_use(user, u, m);
      }
    }
    if (chain_.size() >= nesting_max) {
      report_
          .error("D0007", u.at,
                 "modules use each other to a depth of more than " + std::to_string(nesting_max))
          .hint = "'" + chain_.front()->name + "' can use '" + u.path + "' itself";
      return;
    }
    for (const std::string& path : tries) {
      auto text = read(path);
      if (!text) continue;
      module* const m = add(path, std::move(*text));
      if (m->name != u.path) {
        auto& d = report_.error("D0003", u.at,
                                "the file of '" + u.path + "' calls itself '" + m->name + "'");
        if (m->tree.module_at) d.notes.push_back({m->tree.module_at, "here"});
        d.hint = "write 'module " + u.path + "' there";
      }
      for (const auto& other : program_.modules) {
        if (other.get() == m || other->c_name != m->c_name) continue;
        auto& d = report_.error("D0005", u.at,
                                other->name == m->name
                                    ? "there are two modules '" + m->name + "'"
                                    : "the modules '" + other->name + "' and '" + m->name +
                                          "' have one name in C, " + m->c_name);
        d.notes.push_back({{}, "one is " + other->file->path()});
        d.notes.push_back({{}, "the other is " + m->file->path()});
        d.hint = "give one of them another name";
      }
      return add_use(user, u, m);
    }
    auto& d = report_.error("D0003", u.at, "there is no module '" + u.path + "'");
    for (const std::string& path : tries) d.notes.push_back({{}, "looked for " + path});
    d.hint = "built in are net, fs, time, log, rand, os; other folders are given by -I";
  }

  void add_use(module& user, const use_line& u, module* m) {
    const std::string_view name = short_name(u.path);
    for (const use_line& other : user.tree.uses) {
      if (other.at.begin >= u.at.begin || short_name(other.path) != name) continue;
      auto& d = report_.error("D0005", u.at,
                              "'" + other.path + "' and '" + u.path + "' are both called '" +
                                  std::string(name) + "' here");
      d.notes.push_back({other.at, "the first"});
      d.hint = "give one of them another name";
      break;
    }
    user.uses.emplace_back(u.path, m);
  }
  static std::string_view short_name(const std::string& path) {
    const std::size_t dot = path.rfind('.');
    return std::string_view(path).substr(dot == std::string::npos ? 0 : dot + 1);
  }

  void report_cycle(const module& to, const use_line& u) {
    auto& d = report_.error("D0003", u.at, "these modules use each other in a circle");
    bool inside = false;
    for (std::size_t i = 0; i != chain_.size(); ++i) {
      inside |= chain_[i] == &to;
      if (!inside) continue;
      const std::string next = i + 1 < chain_.size() ? chain_[i + 1]->name : to.name;
      d.notes.push_back({{}, "'" + chain_[i]->name + "' uses '" + next + "'"});
    }
    d.hint = "move what both need to a third module";
  }

  program& program_;
  const front_options& options_;
  source::diagnostics& report_;
  std::vector<std::pair<std::string, module*>> by_path_;
  std::vector<module*> chain_;
};

}  // namespace

bool load(program& p, const std::string& path, const front_options& options,
          source::diagnostics& report) {
  return loader(p, options, report).load_main(path);
}

void check(program& p, source::diagnostics& report) {
  declare(p, report);
  check_types(p, report);
  // The next checks need types: after errors they would report faults that are none.
  if (report.has_errors()) return;
  find_waits(p, report);
  check_ownership(p, report);
}

}  // namespace heddle::draft
