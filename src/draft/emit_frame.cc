// SPDX-License-Identifier: MIT
// Frames in C: the struct, its constructor, the table of its waits.
#include <algorithm>
#include <utility>

#include "draft/c_emitter.hh"

namespace heddle::draft {

void c_emitter::emit_frame_type(const flow& f) {
  struct member {
    std::uint32_t begin;
    std::uint32_t end;
    const slot* s;
  };
  std::vector<member> list;
  for (const slot& s : f.slots)
    if (s.in_frame) list.push_back({s.offset, s.offset + s.size, &s});
  std::sort(list.begin(), list.end(), [](const member& a, const member& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.s->name < b.s->name;
  });
  const auto declare = [&](const slot& s) {
    std::string t = c_type(*s.type);
    if (s.by_reference && !is_own_address(*s.type)) {
      bool changes = false;
      for (std::size_t i = 0; i != f.params.size(); ++i)
        if (&f.slots[f.params[i]] == &s) changes = f.fn->params[i]->how == passing::change;
      t = (changes ? "" : "const ") + t + "*";
    }
    return t + " " + c_name(s.name) + ";";
  };
  out_ += "\ntypedef struct " + f.fn->c_name + "_frame {\n  heddle_thread h;\n";
  if (f.has_wait) out_ += "  heddle_wait wait;\n";
  if (f.arms_max != 0) out_ += "  heddle_arm arm[" + std::to_string(f.arms_max) + "];\n";
  // Groups of members that overlap, one way or another. C aligns a union as its members, at both
  // ends, so a group may have to take in its neighbours.
  struct group {
    std::size_t first;
    std::size_t last;
    std::uint32_t begin;
    std::uint32_t end;
  };
  std::vector<group> groups;
  for (std::size_t i = 0; i != list.size(); ++i) {
    group g{i, i, list[i].begin, list[i].end};
    for (;;) {
      std::uint32_t align = 1;
      for (std::size_t k = g.first; k <= g.last; ++k) align = std::max(align, list[k].s->align);
      if (g.first != g.last) {
        g.begin = g.begin / align * align;
        g.end = (g.end + align - 1) / align * align;
      }
      if (groups.empty() || groups.back().end <= g.begin) break;
      g.first = groups.back().first;
      g.begin = std::min(g.begin, groups.back().begin);
      g.end = std::max(g.end, groups.back().end);
      groups.pop_back();
    }
    groups.push_back(g);
  }
  std::uint32_t at = 0;
  int pads = 0;
  for (const group& g : groups) {
    if (g.begin > at)
      out_ += "  unsigned char gap_" + std::to_string(++pads) + "[" + std::to_string(g.begin - at) +
              "];\n";
    if (g.first == g.last) {
      line(declare(*list[g.first].s));
    } else {
      out_ += "  union {\n";
      for (std::size_t k = g.first; k <= g.last; ++k) {
        if (list[k].begin == g.begin) {
          line("  " + declare(*list[k].s));
        } else {
          line("  struct {\n      unsigned char pad_" + std::to_string(++pads) + "[" +
               std::to_string(list[k].begin - g.begin) + "];\n      " + declare(*list[k].s) +
               "\n    };");
        }
      }
      out_ += "  };\n";
    }
    at = g.end;
  }
  out_ += "} " + f.fn->c_name + "_frame;\n";
  // Members follow one another, so asserting the last one and those behind a pad checks all others.
  const std::string head = head_text(f);
  for (const member& m : list) {
    const bool pad = std::any_of(groups.begin(), groups.end(), [&](const group& g) {
      return g.begin < m.begin && m.begin < g.end;
    });
    if (!pad && m.begin != list.back().begin) continue;
    out_ += "_Static_assert(offsetof(" + f.fn->c_name + "_frame, " + c_name(m.s->name) +
            ") == " + head + " + " + std::to_string(m.begin) + ", \"" + m.s->name +
            " lies where the plan says\");\n";
  }
  frames_ += std::exchange(out_, {});
}

std::string c_emitter::head_text(const flow& f) {
  return "HEDDLE_FRAME_HEAD(" + std::to_string(f.has_wait ? 1 : 0) + ", " +
         std::to_string(f.arms_max) + ")";
}

std::string c_emitter::wait_what(const flow_block& b) {
  if (const wait_tail* const w = b.tail.get<wait_tail>()) return w->ask.builtin->full_name();
  if (const pool_tail* const p = b.tail.get<pool_tail>()) return p->ask.callee->name;
  if (const call_tail* const c = b.tail.get<call_tail>()) return c->ask.callee->name;
  if (b.tail.is<any_tail>()) return "any";
  return b.tail.is<leave_tail>() ? "scope" : "yield";
}

void c_emitter::emit_wait_table(const flow& f) {
  std::vector<const flow_block*> waits(f.waits + 1, nullptr);
  for (const flow_block& b : f.blocks)
    if (b.tail.waits()) waits[b.wait_number] = &b;
  out_ += "\nstatic const heddle_wait_line " + f.fn->c_name + "_waits[] = {\n    {" +
          c_text(f.fn->decl->at.file->path()) + ", " +
          std::to_string(f.fn->decl->at.file->line_of(f.fn->decl->at.begin)) + ", \"start\"},\n";
  for (std::size_t i = 1; i < waits.size(); ++i) {
    const span at = waits[i] != nullptr ? waits[i]->tail.at : span{};
    out_ += "    {" + c_text(at ? at.file->path() : f.fn->decl->at.file->path()) + ", " +
            std::to_string(at ? at.file->line_of(at.begin) : 0) + ", " +
            c_text(waits[i] != nullptr ? wait_what(*waits[i]) : "") + "},\n";
  }
  out_ += "};\n";
  out_ += "static heddle_link " + f.fn->c_name + "_run(heddle_frame* self, heddle_worker* w);\n";
  std::string name = f.fn->home->name + "." + f.fn->name;
  out_ += "static const heddle_thread_kind " + f.fn->c_name + "_kind = {\n    " + c_text(name) +
          ", sizeof(" + f.fn->c_name + "_frame), " + head_text(f) + ",\n    " +
          (f.result != no_id
               ? "offsetof(" + f.fn->c_name + "_frame, " + c_name(f.slots[f.result].name) + ")"
               : std::string("0")) +
          ", " + f.fn->c_name + "_run, " + f.fn->c_name + "_waits, " + std::to_string(f.waits + 1) +
          "};\n";
}

void c_emitter::emit_body_head_frame(const flow& f) {
  out_ += "\nstatic heddle_link " + f.fn->c_name + "_run(heddle_frame* self, heddle_worker* w) {\n";
  line(f.fn->c_name + "_frame* const f = (" + f.fn->c_name + "_frame*)self;");
  emit_locals(f);
  if (f.waits != 0) {
    line("switch (HEDDLE_AT_NUMBER(self->at)) {");
    std::vector<block_id> waits(f.waits + 1, no_id);
    for (block_id i = 0; i != f.blocks.size(); ++i)
      if (f.blocks[i].tail.waits()) waits[f.blocks[i].wait_number] = i;
    for (std::size_t n = 1; n < waits.size(); ++n)
      if (waits[n] != no_id)
        line("  case " + std::to_string(n) + ": goto " + labels_[waits[n]] + ";");
    line("  default: break;");
    line("}");
  }
}

void c_emitter::emit_constructor(const flow& f) {
  std::string p = prototype(f);
  p.resize(p.size() - 2);
  out_ += "\n" + p + " {\n";
  line(f.fn->c_name + "_frame* const f = (" + f.fn->c_name + "_frame*)heddle_thread_new(w, &" +
       f.fn->c_name + "_kind);");
  std::string drops;
  for (std::size_t i = 0; i != f.params.size(); ++i) {
    const slot& s = f.slots[f.params[i]];
    const variable& v = *f.fn->params[i];
    const bool owns = f.fn->is_thread() || f.fn->is_main() || v.how == passing::take ||
                      (v.type->owning == owning::counted && !s.by_reference);
    if (owns && s.type->needs_release())
      drops += "    " + release_text(*s.type, c_name(s.name)) + ";\n";
  }
  out_ += drops.empty() ? "  if (f == NULL) return NULL;\n"
                        : "  if (f == NULL) {\n" + drops + "    return NULL;\n  }\n";
  for (std::size_t i = 0; i != f.params.size(); ++i) {
    const slot& s = f.slots[f.params[i]];
    line("f->" + c_name(s.name) + " = " + c_name(s.name) + ";");
  }
  if (f.result != no_id && f.slots[f.result].type->needs_release())
    line("f->" + c_name(f.slots[f.result].name) + " = " +
         (is_pointer(*f.slots[f.result].type) ? "NULL"
                                              : "(" + c_type(*f.slots[f.result].type) + "){0}") +
         ";");
  line("return &f->h.frame;");
  out_ += "}\n";
}

}  // namespace heddle::draft
