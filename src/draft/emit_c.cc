// SPDX-License-Identifier: MIT
// Flows to one C file and one header.
#include <set>

#include "draft/c_emitter.hh"
#include "draft/checker.hh"

namespace heddle::draft {

std::string c_emitter::run() {
  collect_types();
  find_called();
  std::string body;
  for (const flow& f : flows_) prototypes_ += prototype(f);
  for (const flow& f : flows_) {
    out_.clear();
    emit_function(f);
    body += out_;
  }
  out_.clear();
  emit_main();
  body += out_;
  std::string head = "/* Compiled from " + program_.main_module->file->path() +
                     " by heddle draft; changes belong there. */\n";
  // Comparisons like `x == x`, or `n >= 0` of a u8, are the program's own matter. GCC also warns of
  // a ~ of a narrow unsigned number that is compared, although the C casts it.
  head +=
      "#include \"heddle/draft.h\"\n"
      "#pragma GCC diagnostic ignored \"-Wtautological-compare\"\n"
      "#pragma GCC diagnostic ignored \"-Wtype-limits\"\n"
      "#pragma GCC diagnostic ignored \"-Wsign-compare\"\n";
  if (!options_.header_name.empty()) head += "\n#include " + c_text(options_.header_name) + "\n";
  std::set<std::string> headers;
  for (const auto& m : program_.modules)
    for (const auto& x : m->tree.items)
      if (const auto& h = x->head().header; h && headers.insert(*h).second)
        head += "#include " + c_text(*h) + "\n";
  head +=
      "\n_Static_assert(HEDDLE_ABI_VERSION == 3, \"this file was compiled for version 3 of "
      "heddle/abi.h\");\n";
  return head + types_text_ + foreign_checks() + literals_ + error_names() + drops_ + prototypes_ +
         frames_ + thunks_ + body;
}

std::string c_emitter::header() {
  collect_types();
  std::string out = "/* Compiled from " + program_.main_module->file->path() +
                    " by heddle draft. */\n#pragma once\n#include \"heddle/draft.h\"\n";
  std::set<std::string> headers;
  for (const auto& m : program_.modules)
    for (const auto& x : m->tree.items)
      if (const auto& h = x->head().header; h && headers.insert(*h).second)
        out += "#include " + c_text(*h) + "\n";
  out += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n" + types_text_;
  for (const flow& f : flows_)
    if (f.fn->decl->is_pub && f.fn->home == program_.main_module) out += prototype(f);
  return out + "#ifdef __cplusplus\n}\n#endif\n";
}

std::string c_emitter::foreign_checks() {
  std::string out;
  for (const auto& m : program_.modules) {
    for (const auto& x : m->tree.items) {
      const item_head& head = x->head();
      if (!head.is_extern()) continue;
      if (options_.lines)
        out += source::line_directive(head.at.file->line_of(head.at.begin), head.at.file->path()) +
               "\n";
      by_kind(
          *x, [](const one_of<constant_item, opaque_item> auto&) {},
          [&](const record_item& made) {
            const record& r = *made.made;
            std::uint64_t at = 0;
            for (const record::part& p : r.parts) {
              at = (at + align_of(*p.type) - 1) / align_of(*p.type) * align_of(*p.type);
              out += "_Static_assert(offsetof(" + r.c_name + ", " + p.name +
                     ") == " + std::to_string(at) + " && sizeof(((" + r.c_name + "*)0)->" + p.name +
                     ") == " + std::to_string(size_of(*p.type)) + ", \"the field " + p.name +
                     " of " + r.c_name + " is declared otherwise in C\");\n";
              at += size_of(*p.type);
            }
            out += "_Static_assert(sizeof(" + r.c_name +
                   ") == " + std::to_string(size_of(*r.type)) + ", \"" + r.c_name +
                   " has other fields in C\");\n";
          },
          [&](const enum_item& made) {
            const enumeration& e = *made.made;
            out += "_Static_assert(sizeof(" + e.c_name +
                   ") == " + std::to_string(size_of(*e.type)) + ", \"" + e.c_name +
                   " has another size in C\");\n";
          },
          [&](const function_item& made) {
            const function& f = *made.made;
            const std::string result = c_type(*f.result);
            std::string params;
            for (std::size_t i = 0; i != f.params.size(); ++i)
              params += (i == 0 ? "" : ", ") + foreign_param(*f.params[i]);
            if (f.params.empty()) params = "void";
            // An initialization by another type is only a warning of GCC 12.
            out += "_Static_assert(_Generic(&" + f.name + ", " + result + " (*)(" + params +
                   "): 1, default: 0), \"" + f.name + " is declared otherwise in C: " + result +
                   " " + f.name + "(" + params + ")\");\n";
            if (const std::string alias = foreign_name(f); alias != f.name)
              out += "__attribute__((unused)) static " + result + " (*const " + alias + ")(" +
                     params + ") = " + f.name + ";\n";
          });
    }
  }
  if (options_.lines && !out.empty()) out += reset_line();
  return out;
}

std::string c_emitter::foreign_name(const function& f) {
  if (own_names_.empty()) {
    own_names_ = {"x", "at", "result_"};  // the names of variables without a slot
    for (const flow& each : flows_)
      for (const slot& s : each.slots) own_names_.insert(c_name(s.name));
  }
  return is_c_word(f.name) || own_names_.contains(f.name) ? "heddle_c_" + f.name : f.name;
}

std::string c_emitter::foreign_param(const variable& v) {
  if (v.type->is(kind::text)) return "heddle_view";
  if (v.type->is(kind::record))
    return (v.how == passing::change ? "" : "const ") + v.type->record->c_name + "*";
  if (v.how == passing::change && !is_pointer(*v.type)) return c_type(*v.type) + "*";
  return c_type(*v.type);
}

std::string c_emitter::reset_line() {
  return "#line 1 \"" + std::string("compiled from draft") + "\"\n";
}

std::string c_emitter::error_names() {
  std::string out =
      "__attribute__((unused)) static heddle_view error_name(int32_t error) {\n  switch (error) "
      "{\n";
  bool any = false;
  for (const auto& [name, code] : program_.errors) {
    if (code < 4096) continue;
    any = true;
    out +=
        "    case " + std::to_string(code) + ":\n      return HEDDLE_VIEW(" + c_text(name) + ");\n";
  }
  if (!any) return "";
  has_errors_ = true;
  return out + "    default:\n      return heddle_error_name(error);\n  }\n}\n";
}

std::string c_emitter::literal(const std::string& s) {
  if (s.empty()) return "NULL";
  const auto [at, fresh] = literal_numbers_.emplace(s, literal_numbers_.size() + 1);
  const std::string name = "literal_" + std::to_string(at->second);
  if (fresh) literals_ += "HEDDLE_BYTES(" + name + ", " + c_text(s) + ");\n";
  return "(heddle_bytes*)&" + name;
}

bool c_emitter::has_errors() const {
  for (const auto& [name, code] : program_.errors)
    if (code >= 4096) return true;
  return false;
}

void c_emitter::emit_main() {
  const flow* found = nullptr;
  for (const flow& f : flows_)
    if (f.fn->is_main() && f.fn->home == program_.main_module) found = &f;
  if (found == nullptr) return;
  const flow& f = *found;
  std::string list, table;
  for (std::size_t i = 0; i != f.params.size(); ++i) {
    const variable& v = *f.fn->params[i];
    const type& t = *v.type;
    const param& p = f.fn->decl->params[i];
    const std::string a = "arguments[" + std::to_string(i) + "]";
    std::string form = "HEDDLE_PARAMETER_INT", low = "INT64_MIN", high = "INT64_MAX",
                value = a + ".number";
    if (t.is(kind::boolean)) {
      form = "HEDDLE_PARAMETER_BOOL";
      value = a + ".number != 0";
    } else if (t.is(kind::duration)) {
      form = "HEDDLE_PARAMETER_DURATION";
    } else if (t.is(kind::text)) {
      form = "HEDDLE_PARAMETER_TEXT";
      high = std::to_string(t.count);
      value = c_type(t) + "_of(" + a + ".text)";
    } else if (t.is(kind::bytes)) {
      form = "HEDDLE_PARAMETER_TEXT";
      value = a + ".bytes";
    } else if (t.is_integer()) {
      if (t.bits() < 64) {
        low = std::to_string(min_of(t));
        high = std::to_string(max_of(t));
      }
      if (!t.is_signed()) low = "0";
      value = "(" + c_type(t) + ")" + value;
    }
    const bool has = p.fallback != nullptr;
    table += "      {" + c_text(v.name) + ", " + form + ", " +
             (low == "INT64_MIN" ? low : "INT64_C(" + low + ")") + ", " +
             (high == "INT64_MAX" || (t.is_integer() && t.bits() == 64) ? std::string("INT64_MAX")
                                                                        : "INT64_C(" + high + ")") +
             ", " + (has ? "true" : "false") + ", " +
             (has && p.fallback->is_constant
                  ? constant_text(*program_.types.basic(kind::i64), p.fallback->number)
                  : "0") +
             ", " +
             (has && !bytes_of(*p.fallback).empty() ? c_text(bytes_of(*p.fallback)) : "NULL") +
             "},\n";
    list += ", " + value;
  }
  out_ +=
      "\nstatic heddle_frame* start_main(heddle_worker* w, const heddle_argument* arguments) {\n "
      " (void)arguments;\n  return " +
      f.fn->c_name + "_new(w" + list + ");\n}\n";
  out_ += "\nint main(int argc, char** argv) {\n";
  if (table.empty()) {
    out_ += "  return heddle_main(argc, argv, start_main, NULL, 0);\n}\n";
  } else {
    out_ += "  static const heddle_parameter parameters[] = {\n" + table + "  };\n";
    out_ += "  return heddle_main(argc, argv, start_main, parameters, " +
            std::to_string(f.params.size()) + ");\n}\n";
  }
}

std::string emit_c(program& p, std::vector<flow>& flows, const emit_options& options) {
  return c_emitter(p, flows, options).run();
}

std::string emit_header(program& p, std::vector<flow>& flows) {
  const emit_options options;
  return c_emitter(p, flows, options).header();
}

}  // namespace heddle::draft
