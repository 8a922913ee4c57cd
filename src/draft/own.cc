// SPDX-License-Identifier: MIT
// Ownership, borrowing and definite assignment: a worklist finds the state at each node of the
// graph, then each event is held against the rules once.
#include <algorithm>
#include <set>

#include "draft/own_graph.hh"

namespace heddle::draft {
namespace {

/// The knowledge of a variable at one place. 0 no, 1 yes, 2 on some path.
struct knowledge {
  std::uint8_t assigned = 0;
  std::uint8_t moved = 0;
  bool stale = false;       ///< a view whose owner was changed or moved
  std::uint8_t lent = 0;    ///< 1 shared, 2 a job may change it
  std::uint8_t pinned = 0;  ///< 1 a defer uses it, 2 a view of a defer looks into it
  span moved_at{};
  span stale_at{};
  span lent_at{};
  span pinned_at{};
  variable* stale_by = nullptr;

  friend bool operator==(const knowledge& a, const knowledge& b) noexcept {
    return a.assigned == b.assigned && a.moved == b.moved && a.stale == b.stale &&
           a.lent == b.lent && a.pinned == b.pinned;
  }
};

using state = std::vector<knowledge>;

std::uint8_t join(std::uint8_t a, std::uint8_t b) noexcept { return a == b ? a : std::uint8_t{2}; }

/// Joins `from` into `into`; whether that changed it.
bool join(state& into, const state& from) {
  bool changed = false;
  for (std::size_t i = 0; i != into.size(); ++i) {
    knowledge k = into[i];
    k.assigned = join(k.assigned, from[i].assigned);
    k.moved = join(k.moved, from[i].moved);
    k.stale = k.stale || from[i].stale;
    k.lent = std::max(k.lent, from[i].lent);
    k.pinned = std::max(k.pinned, from[i].pinned);
    if (!k.moved_at) k.moved_at = from[i].moved_at;
    if (!k.stale_at) {
      k.stale_at = from[i].stale_at;
      k.stale_by = from[i].stale_by;
    }
    if (!k.lent_at) k.lent_at = from[i].lent_at;
    if (!k.pinned_at) k.pinned_at = from[i].pinned_at;
    changed |= !(k == into[i]);
    into[i] = k;
  }
  return changed;
}

class ownership_flow {
 public:
  ownership_flow(function& f, std::vector<node>& nodes, source::diagnostics& report)
      : function_(f), nodes_(nodes), report_(report) {}

  void run() {
    std::vector<state> entry(nodes_.size());
    std::vector<bool> reached(nodes_.size(), false);
    std::vector<std::size_t> work = {0};
    entry[0].resize(function_.variables.size());
    reached[0] = true;
    while (!work.empty()) {
      const std::size_t at = work.back();
      work.pop_back();
      state s = entry[at];
      for (const event& e : nodes_[at].events) apply(e, s, false);
      for (const std::size_t next : nodes_[at].next) {
        if (!reached[next]) {
          reached[next] = true;
          entry[next] = s;
          work.push_back(next);
        } else if (join(entry[next], s)) {
          work.push_back(next);
        }
      }
    }
    for (std::size_t at = 0; at != nodes_.size(); ++at) {
      if (!reached[at]) continue;
      state s = entry[at];
      for (const event& e : nodes_[at].events) apply(e, s, true);
    }
  }

 private:
  void make_stale(variable* owner, state& s, span at) {
    for (const auto& [view, roots] : function_.looks_into) {
      if (std::find(roots.begin(), roots.end(), owner) == roots.end()) continue;
      knowledge& k = s[view->number];
      if (k.stale || k.assigned == 0) continue;
      k.stale = true;
      k.stale_at = at;
      k.stale_by = owner;
    }
  }

  void check_use(const event& e, state& s, bool tell) {
    knowledge& k = s[e.var->number];
    if (!tell) return;
    if (!told_.emplace(e.at.begin, e.at.end).second) return;
    if (k.moved == 1 || k.moved == 2) {
      auto& d =
          report_.error(k.moved == 1 ? "D0101" : "D0102", e.at,
                        quoted(e.var->name) + (k.moved == 1 ? " was moved and is gone"
                                                            : " was moved on some path to here"));
      if (k.moved_at) d.notes.push_back({k.moved_at, "it was moved here"});
      k.moved = 0;
      return;
    }
    if (k.assigned != 1) {
      auto& d = report_.error(
          "D0501", e.at,
          quoted(e.var->name) +
              (k.assigned == 0 ? " has no value yet" : " has no value on some path to here"));
      d.notes.push_back({e.var->at, "it is declared here"});
      d.hint = "give it a value where it is declared";
      k.assigned = 1;
      return;
    }
    if (k.stale) {
      auto& d = report_.error("D0301", e.at,
                              quoted(e.var->name) + " looks into " +
                                  quoted(k.stale_by != nullptr ? k.stale_by->name : "?") +
                                  ", which has changed or is gone");
      if (k.stale_at) d.notes.push_back({k.stale_at, "here"});
      d.hint = "use the view before, or make a copy of it";
      k.stale = false;
      return;
    }
    told_.erase({e.at.begin, e.at.end});
  }

  void refuse_lent(const event& e, const state& s, bool tell, const char* what) {
    const knowledge& k = s[e.var->number];
    if (!tell || k.lent == 0 || !told_.emplace(e.at.begin, e.at.end).second) return;
    auto& d = report_.error("D0201", e.at, quoted(e.var->name) + " is lent and " + what);
    if (k.lent_at) d.notes.push_back({k.lent_at, "to this"});
    d.hint = "wait until the scope has ended";
  }

  void refuse_pinned(const event& e, const state& s, bool tell, const char* what) {
    const knowledge& k = s[e.var->number];
    if (!tell || !told_.emplace(e.at.begin, e.at.end).second) return;
    auto& d = report_.error(
        "D0201", e.at, quoted(e.var->name) + " is used by a 'defer' and " + what + " before it");
    if (k.pinned_at) d.notes.push_back({k.pinned_at, "here"});
    d.hint = "'defer' runs when its block is left";
  }

  void apply(const event& e, state& s, bool tell) {
    knowledge& k = s[e.var->number];
    switch (e.what) {
      case happening::declare:
        k = knowledge{};
        return;
      case happening::assign:
        k.assigned = 1;
        k.moved = 0;
        k.stale = false;
        return;
      case happening::replace:
        if (tell && e.var->type->is_owned() && k.assigned != 0 && k.moved != 1) {
          auto& d = report_.error(
              "D0902", e.at,
              "this would lose the " + e.var->type->name + " in " + quoted(e.var->name));
          d.notes.push_back({e.var->at, "it is declared here"});
          d.hint = "move or close it first, or use another variable";
        }
        refuse_lent(e, s, tell, "cannot be changed");
        if (k.pinned == 2) refuse_pinned(e, s, tell, "cannot be changed");
        make_stale(e.var, s, e.at);
        k.assigned = 1;
        k.moved = 0;
        k.stale = false;
        k.stale_at = {};
        return;
      case happening::use:
        check_use(e, s, tell);
        if (k.lent == 2) refuse_lent(e, s, tell, "may be changed meanwhile");
        return;
      case happening::wait_on:
        check_use(e, s, tell);
        refuse_lent(e, s, tell, "cannot be waited on here");
        return;
      case happening::change:
        check_use(e, s, tell);
        refuse_lent(e, s, tell, "cannot be changed");
        if (k.pinned == 2) refuse_pinned(e, s, tell, "cannot be changed");
        make_stale(e.var, s, e.at);
        return;
      case happening::move:
        check_use(e, s, tell);
        refuse_lent(e, s, tell, "cannot be moved");
        if (k.pinned != 0) refuse_pinned(e, s, tell, "cannot be moved");
        make_stale(e.var, s, e.at);
        k.moved = 1;
        k.moved_at = e.at;
        return;
      case happening::end:
        make_stale(e.var, s, e.at ? e.at : e.var->at);
        return;
      case happening::lend:
        if (k.lent == 2) refuse_lent(e, s, tell, "may be changed meanwhile");
        k.lent = std::max<std::uint8_t>(k.lent, 1);
        k.lent_at = e.at;
        return;
      case happening::lend_var:
        refuse_lent(e, s, tell, "cannot be changed");
        make_stale(e.var, s, e.at);
        k.lent = 2;
        k.lent_at = e.at;
        return;
      case happening::hand_back:
        k.lent = 0;
        return;
      case happening::pin:
      case happening::pin_looked:
        k.pinned = std::max<std::uint8_t>(k.pinned, e.what == happening::pin ? 1 : 2);
        k.pinned_at = e.at;
        return;
      case happening::unpin:
        k.pinned = 0;
        return;
    }
  }

  function& function_;
  std::vector<node>& nodes_;
  source::diagnostics& report_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;  // places that were reported
};

}  // namespace

void check_ownership(program& p, source::diagnostics& report) {
  for (const auto& m : p.modules) {
    for (const auto& f : m->functions) {
      if (f->decl->is_extern()) continue;
      ownership_graph b(*f, report);
      b.run();
      ownership_flow(*f, b.nodes, report).run();
    }
  }
}

}  // namespace heddle::draft
