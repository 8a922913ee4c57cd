// SPDX-License-Identifier: MIT
// any, wait, scope, within, shield and defer in C++. A block that has to wait at its end, however
// it is left, becomes a lambda: a scope, and what follows a defer that waits.
#include <utility>

#include "draft/cc_emitter.hh"
#include "draft/cc_text.hh"
#include "draft/front.hh"
#include "draft/walk.hh"

namespace heddle::draft {

void cc_emitter::emit_any(const any_stmt& x) {
  std::string arms;
  const any_arm* otherwise = nullptr;
  std::vector<const any_arm*> list;
  for (const any_arm& a : x.arms) {
    if (a.kind == any_arm::form::failed) {
      otherwise = &a;
      continue;
    }
    const cc_expr what = a.kind == any_arm::form::after ? cc_call("draft::after", {text(*a.what)})
                                                        : bare_call(*a.what);
    arms += (arms.empty() ? "" : ", ") + what.alone();
    list.push_back(&a);
  }
  const std::size_t count = list.size();
  if (otherwise != nullptr) list.push_back(otherwise);
  std::size_t last = list.size();  // nothing is written for empty arms at the end
  while (last != 0 && list[last - 1]->body.body.empty()) --last;
  const std::string call = std::string("co_await draft::") +
                           (otherwise != nullptr ? "try_any(" : "any(") +
                           (turns_.empty() ? "" : turns_ + ", ") + arms + ")";
  if (last == 0) return line("static_cast<void>(" + call + ");");
  const std::string ready = fresh("ready");
  line("auto " + ready + " = " + call + ";");
  for (std::size_t i = 0; i != last; ++i) {
    const any_arm& a = *list[i];
    const bool failed = i == count;
    const std::string test = "if (" + ready + ".index() == " + std::to_string(i) + ")";
    const bool rest = i + 1 == list.size();
    if (i == 0)
      out_.open(rest ? "" : test);
    else
      out_.between(rest ? "else" : "else " + test);
    out_.comments_before(a.at.begin);
    const std::size_t from = out_.size();
    if (a.var != nullptr && a.name != "_" && a.var->used) {
      if (failed)
        texts_[a.var] = cc_expr(ready + ".error()");
      else
        line((moved(*a.var) ? "" : "const ") + type_text(*a.var->type, a.at) + " " +
             name_of(*a.var) + " = " + ready + ".get<" + std::to_string(i) + ">();");
    }
    emit_block(a.body);
    if (out_.size() != from) out_.comment_at(a.at.file->line_of(a.at.begin), from);
  }
  out_.close();
}

void cc_emitter::emit_wait(const wait_stmt& x) {
  const std::string outer = std::exchange(waits_, fresh("all"));
  out_.open("");
  line("draft::wait " + waits_ + ";");
  // Variables of the block, an event for instance, end before the wait.
  bool holds = false;
  for (const stmt_ptr& s : x.body.body) holds |= s->is<let_stmt>();
  if (holds) out_.open("");
  emit_block(x.body, 0, holds);
  if (holds) out_.close();
  if (!leaves(x.body)) line("co_await " + waits_ + ".done();");
  out_.close();
  waits_ = outer;
}

void cc_emitter::emit_bounded(const block& b, const expr* limit, bool last) {
  const std::string span = limit != nullptr ? text(*limit).alone() : "";
  if (!last) out_.open("");
  if (limit == nullptr)
    line("const draft::shield " + fresh("uncanceled") + ";");
  else
    line("const draft::within " + fresh("limit") + "(" + span + ");");
  emit_block(b);
  if (!last) out_.close();
}

bool cc_emitter::emit_defer(const defer_stmt& x, const block& b, std::size_t next) {
  bool waiting = false;
  const auto look = [&](const expr& e) { waiting |= e.waits; };
  if (x.value)
    walk(*x.value, look, [](const stmt&) {});
  else
    walk(x.body, look, [](const stmt&) {});
  const auto write = [&] {
    places_.emplace_back();
    if (x.value && x.value->is<or_expr>())
      emit_or(x.value->as<or_expr>());
    else if (x.value)
      line((x.value->type->is(kind::void_) ? text(*x.value)
                                           : cc_call("static_cast<void>", {text(*x.value)}))
               .alone() +
           ";");
    else
      emit_block(x.body);
    places_.pop_back();
  };
  if (!waiting) {
    const std::size_t from = out_.size();
    out_.open("const draft::defer " + fresh("at_end") + "([&]");
    write();
    out_.close_lambda(from, ");");
    return false;
  }
  const std::string cleanup = fresh("cleanup");
  out_.open("auto " + cleanup + " = [&]() -> heddle::task<>");
  if (!x.value) line("const draft::shield " + fresh("uncanceled") + ";");
  write();
  out_.close(";");
  emit_lambda(b, next, "", "finally(", ", " + cleanup);
  return true;
}

void cc_emitter::leave_with(const std::string& value) {
  const place& p = places_.back();
  if (p.how == place::form::ways) {
    if (!value.empty()) line(p.result + " = " + value + ";");
    return line("co_return draft::way::returns;");
  }
  if (!p.jobs.empty()) line(p.jobs + ".cancel();");
  const bool task = p.is_task(*function_);
  line(std::string(task ? "co_return" : "return") + (value.empty() ? "" : " " + value) + ";");
}

void cc_emitter::emit_lambda(const block& b, std::size_t first, const std::string& jobs,
                             const std::string& call, const std::string& after) {
  const exits e = exits_of(b, first);
  const bool falls = !leaves(b);
  const type& result = *result_;
  const bool nothing = result.is(kind::void_);
  const bool ways = e.breaks || e.continues || (e.returns && falls);
  const bool values = !ways && e.returns;
  const std::string body = fresh("body");
  place inside;
  inside.how = ways ? place::form::ways : place::form::value;
  inside.jobs = nothing && values ? jobs : "";
  if (ways && e.returns && !nothing) {
    inside.result = fresh("result");
    line("std::optional<" + type_text(result, b.at) + "> " + inside.result + ";");
  }
  const std::string type = ways ? "draft::way" : values && !nothing ? type_text(result, b.at) : "";
  const std::string outer = jobs_, turns = turns_;
  const std::size_t head = out_.size();
  if (!jobs.empty()) jobs_ = jobs;
  out_.open("auto " + body + " = [&](" + (jobs.empty() ? "" : "draft::scope& " + jobs) +
            ") -> heddle::task<" + type + ">");
  const std::size_t from = out_.size();
  places_.push_back(inside);
  emit_block(b, first);
  if (ways && falls) line("co_return draft::way::on;");
  end_coroutine(from);
  places_.pop_back();
  out_.close(";");
  if (!jobs.empty() && out_.text().find(jobs + ".", from) == std::string::npos)
    out_.replace_from(head, "& " + jobs + ")", "&)");
  jobs_ = outer;
  turns_ = turns;
  const std::string run = "co_await draft::" + call + body + after + ")";
  if (!ways) {
    if (!values) return line(run + ";");
    if (!nothing) return leave_with(run);
    line(run + ";");
    return leave_with("");
  }
  const std::string left = fresh("left");
  line("const draft::way " + left + " = " + run + ";");
  int kinds = (e.returns ? 1 : 0) + (e.breaks ? 1 : 0) + (e.continues ? 1 : 0);
  const auto when = [&](const char* name, const auto& write) {
    if (--kinds == 0 && !falls) return write();
    const std::size_t at = out_.size();
    out_.open("if (" + left + " == draft::way::" + name + ")");
    write();
    out_.close_if(at);
  };
  if (e.breaks) when("breaks", [&] { emit_jump(true); });
  if (e.continues) when("continues", [&] { emit_jump(false); });
  if (e.returns)
    when("returns", [&] { leave_with(nothing ? "" : "std::move(*" + inside.result + ")"); });
}

}  // namespace heddle::draft
