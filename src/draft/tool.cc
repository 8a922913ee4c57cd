// SPDX-License-Identifier: MIT
// One compilation from file to text.
#include "draft/tool.hh"

#include "draft/codes.hh"
#include "draft/emit_cc.hh"
#include "draft/parser.hh"
#include "draft/print_flow.hh"

namespace heddle::draft {

std::optional<stage> stage_named(std::string_view name) noexcept {
  struct row {
    std::string_view name;
    stage what;
  };
  static constexpr row rows[] = {{"tokens", stage::tokens}, {"ast", stage::ast},
                                 {"types", stage::types},   {"cfg", stage::cfg},
                                 {"dot", stage::dot},       {"svg", stage::svg},
                                 {"plan", stage::plan},     {"c", stage::c},
                                 {"cc", stage::cc},         {"header", stage::header}};
  for (const row& r : rows)
    if (r.name == name) return r.what;
  return std::nullopt;
}

compiled compile(const std::string& path, stage until, const compile_options& options) {
  compiled out;
  program& p = *out.made;
  if (!load(p, path, options.front, out.report)) return out;
  const module& m = *p.main_module;
  if (until == stage::tokens) {
    source::diagnostics again;
    out.text = print_tokens(*m.file, lex(*m.file, again));
    return out;
  }
  if (until == stage::ast) {
    out.text = print_tree(m.tree, false);
    return out;
  }
  if (!out.report.has_errors()) check(p, out.report);
  out.report.sort();
  if (out.report.has_errors() || until == stage::check) return out;
  if (until == stage::types) {
    out.text = print_tree(m.tree, true);
    for (const auto& f : m.functions)
      if (f->waits && !f->decl->is_extern()) out.text += explain_wait(*f) + "\n";
    return out;
  }
  if (until == stage::cc) {
    out.text = emit_cc(p, out.report);
    return out;
  }
  std::vector<flow> flows = lower(p);
  for (flow& f : flows) optimize(f, options.passes);
  switch (until) {
    case stage::cfg:
      for (const flow& f : flows) out.text += print_flow(f);
      break;
    case stage::dot:
      out.text = "digraph draft {\n  node [fontname=monospace,fontsize=10];\n";
      for (const flow& f : flows) out.text += print_dot(f);
      out.text += "}\n";
      break;
    case stage::svg:
      out.text = print_svg(flows);
      break;
    case stage::plan:
      for (const flow& f : flows) out.text += print_plan(f);
      break;
    case stage::header:
      out.text = emit_header(p, flows);
      break;
    default:
      out.text = emit_c(p, flows, options.emit);
  }
  return out;
}

std::string explain(std::string_view code) {
  for (const code_page& page : code_pages())
    if (page.code == code)
      return std::string(page.code) + ": " + std::string(page.title) + "\n\n" +
             std::string(page.text);
  return {};
}

}  // namespace heddle::draft
