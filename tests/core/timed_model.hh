// SPDX-License-Identifier: MIT
// A sequential model of waits: it says of each node of a random tree (timed_tree.hh) whether it
// begins, when, when it ends, and how. It knows nothing of frames, contexts or queues: a node is a
// function of its start and of the time at which the context around it is cancelled. The model does
// not order results of one instant: where such an order would decide, the program is set aside.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/timed_tree.hh"

namespace heddle::test::timed {

/// The diagnostics that a program gives.
struct reports {
  int abandoned = 0;
  int double_triggers = 0;
  int leftovers = 0;
  int unhandled = 0;
  int lost_peers = 0;  ///< tasks without a joiner that ended with broken_pipe
  friend bool operator==(const reports&, const reports&) = default;
};

class model {
 public:
  explicit model(program& p) : p_(p) {
    fires_.resize(static_cast<std::size_t>(p.events));
    stops_.assign(static_cast<std::size_t>(p.sources), forever);
    for (const action& a : p.actions) {
      if (a.what == act::cancel_source)
        stops_[static_cast<std::size_t>(a.index)] = a.at;
      else
        fires_[static_cast<std::size_t>(a.index)] = a;
    }
  }
  /// Fills in the nodes' records. False if an order within one instant decides the outcome.
  [[nodiscard]] bool predict() {
    if (!p_.actions.empty() && stops_[0] == 0) return false;
    eval(p_.root, around{0, stops_[0], forever});
    for (const action& a : p_.actions) {
      if (a.what == act::drop) ++told_.abandoned;
      if (a.what == act::trigger_twice) ++told_.double_triggers;
    }
    count_reports(p_.root);
    return !undecided_;
  }
  [[nodiscard]] const reports& told() const noexcept { return told_; }

 private:
  struct result {
    instant end = 0;
    outcome got;
    [[nodiscard]] bool ok() const noexcept { return got.how == ends::value; }
    [[nodiscard]] bool canceled() const noexcept { return got.how == ends::canceled; }
  };
  /// Where a node runs: its start, when its context is cancelled, and the context's deadline.
  struct around {
    instant start;
    instant stop;
    instant deadline;
    /// Whether the context was cancelled before the start; else a stop in the start's instant may
    /// come before or after it.
    bool after = false;
    /// For the next step, which begins where the one before it ended.
    [[nodiscard]] around at(instant t) const noexcept {
      return {t, stop, deadline, after || (t > start && t >= stop)};
    }
    [[nodiscard]] around until(instant t) const noexcept {
      return t < stop ? around{start, t, deadline} : *this;
    }
    [[nodiscard]] bool unclear() const noexcept { return stop == start && !after; }
  };

  void undecided() noexcept { undecided_ = true; }
  static result good(instant t, std::uint64_t v) { return {t, {ends::value, v}}; }
  static result bad(instant t, ends how, std::uint64_t v = 0) { return {t, {how, v}}; }

  result eval(node& n, const around& c) {
    forget(n);
    n.model.entered = true;
    n.model.start = c.start;
    const result r = ending(n, c);
    n.model.end = r.end;
    n.model.got = r.got;
    return r;
  }
  static void forget(node& n) {
    n.model = {};
    n.leaves_event = false;
    for (node& child : n.children) forget(child);
  }

  /// A wait until t.
  result wait(const around& c, instant t, std::uint64_t v) {
    if (c.stop <= c.start) {
      if (t == c.start && c.unclear()) undecided();
      return bad(c.start, ends::canceled);
    }
    if (c.stop == t) undecided();
    return c.stop < t ? bad(c.stop, ends::canceled) : good(t, v);
  }
  result ending(node& n, const around& c) {
    switch (n.k) {
      case kind::sleep_span:
        return wait(c, c.start + n.a, value_of(n));
      case kind::sleep_time:
        return wait(c, std::max(c.start, n.a), value_of(n));
      case kind::alarm: {
        const result r = wait(c, c.start + n.a, value_of(n));
        n.leaves_event = !r.ok();
        return r;
      }
      case kind::two_alarms: {
        const std::uint64_t order = n.a < n.b ? 1 : 2;
        result r = wait(c, c.start + std::min(n.a, n.b), 0);
        if (r.ok()) r = wait(c.at(r.end), c.start + std::max(n.a, n.b), mix(value_of(n), order));
        n.leaves_event = !r.ok();
        return r;
      }
      case kind::block:
        return wait(c, c.start + std::max(n.a, n.b), value_of(n));
      case kind::outside: {
        const action& fire = fires_[static_cast<std::size_t>(n.index)];
        const bool stores = fire.what == act::trigger || fire.what == act::trigger_twice;
        const std::uint64_t v = stores ? value_of(n) : 0;
        if (fire.at == c.start) undecided();
        return fire.at <= c.start ? good(c.start, v) : wait(c, fire.at, v);
      }
      case kind::value:
        return good(c.start, value_of(n));
      case kind::give_way:
        return wait(c, c.start, value_of(n));
      case kind::failure:
        return n.variant == 0 ? bad(c.start, ends::broken_pipe)
                              : bad(c.start, ends::own, static_cast<std::uint64_t>(n.number));
      case kind::sequence:
        return sequence(n, c);
      case kind::all_of:
        return all_of(n, c);
      case kind::any_of:
        return any_of(n, c);
      case kind::choose:
        return choose(n, c);
      case kind::choose_ok:
        return choose_ok(n, c);
      case kind::nursery:
        return nursery(n, c);
      case kind::sheltered: {
        const result r = limited(n, {c.start, forever, forever}, c.start + n.a);
        if (r.canceled() && r.end == c.stop) undecided();
        return r;
      }
      case kind::limit:
        return limited(n, c, c.start + n.a);
      case kind::due:
        return limited(n, c, n.a);
      case kind::stoppable: {
        const instant own = stops_[static_cast<std::size_t>(n.index)];
        const result r = eval(n.children[0], c.until(own));
        // Whoever is around asked this one to end, or it failed before that.
        if (r.canceled() && r.end == own && c.stop == own) undecided();
        return r;
      }
      case kind::expected: {
        result r = eval(n.children[0], c);
        if (!r.ok() && r.got.how != ends::own) r.got = {ends::value, value_of(r.got.how)};
        return r;
      }
      case kind::caught: {
        const result r = eval(n.children[0], c);
        if (r.ok()) return r;
        const result cleaned = eval(n.children[1], c.at(r.end));
        if (!cleaned.ok()) return cleaned;
        if (n.variant == 0) return good(cleaned.end, mix(cleaned.got.value, value_of(r.got.how)));
        if (n.variant == 1) return {cleaned.end, r.got};
        return bad(cleaned.end, ends::own, static_cast<std::uint64_t>(n.number));
      }
      case kind::started:
        return started(n, c);
      case kind::hedge:
        return hedge(n, c);
      case kind::kinds_end:
        break;
    }
    return {};
  }

  result sequence(node& n, const around& c) {
    instant t = c.start;
    std::uint64_t v = 0;
    for (node& child : n.children) {
      const result r = eval(child, c.at(t));
      t = r.end;
      if (!r.ok()) return r;
      v = mix(v, r.got.value);
    }
    return good(t, v);
  }
  /// A limit of time: an outer deadline that comes first is left to its own node.
  result limited(node& n, const around& c, instant due) {
    if (due == c.deadline) undecided();
    if (due >= c.deadline) return eval(n.children[0], c);
    around inner = c.until(std::max(c.start, due));
    inner.deadline = due;
    inner.after |= due <= c.start;
    result r = eval(n.children[0], inner);
    if (r.canceled() && due <= r.end) r.got = {ends::timed_out, 0};
    return r;
  }

  /// Whether a child that ended so has failed: one that was asked to end and did has not.
  bool failed(const result& r, const around& c) {
    if (r.canceled() && r.end == c.stop && c.unclear()) undecided();
    return failed(r, c.stop);
  }
  static bool failed(const result& r, instant stop) {
    return !r.ok() && !(r.canceled() && stop <= r.end);
  }
  /// The child with the first end for which `counts` is true, or -1.
  template <class F>
  static int first(const std::vector<result>& all, F counts) {
    int least = -1;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (counts(i) && (least < 0 || all[i].end < all[static_cast<std::size_t>(least)].end))
        least = static_cast<int>(i);
    return least;
  }
  /// Whether another one than `least`, for which `counts` is true, ended at the same instant.
  template <class F>
  static bool shared(const std::vector<result>& all, int least, F counts) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (static_cast<int>(i) != least && counts(i) &&
          all[i].end == all[static_cast<std::size_t>(least)].end)
        return true;
    return false;
  }
  static instant last_end(const std::vector<result>& all, instant t) {
    for (const result& r : all) t = std::max(t, r.end);
    return t;
  }

  result all_of(node& n, const around& c) {
    const std::size_t count = n.children.size();
    std::vector<result> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = eval(n.children[i], c);
    const auto fails = [&](std::size_t i) { return failed(all[i], c); };
    const int f = first(all, fails);
    if (f >= 0) {
      const result failure = all[static_cast<std::size_t>(f)];
      if (shared(all, f, fails)) undecided();  // also if both end alike, as in nursery()
      for (std::size_t i = 0; i < count; ++i)
        if (static_cast<int>(i) != f) all[i] = eval(n.children[i], c.until(failure.end));
      return {last_end(all, c.start), failure.got};
    }
    const instant end = last_end(all, c.start);
    bool cut_short = false;
    for (const result& r : all) cut_short |= r.canceled();
    if (cut_short) return bad(end, ends::canceled);
    if (c.unclear()) undecided();
    std::uint64_t v = 0;
    for (const result& r : all) v = mix(v, r.got.value);
    return good(end, v);
  }

  /// The outcome of a race in which any end counts.
  struct race_result {
    std::vector<result> all;
    instant end = 0;
    int winner = -1;      ///< the first to finish, or -1
    bool shared = false;  ///< another one finished at the same instant
    std::vector<std::size_t> good;
  };
  race_result race(node& n, std::size_t count, const around& c) {
    race_result r;
    r.all.resize(count);
    for (std::size_t i = 0; i < count; ++i) r.all[i] = eval(n.children[i], c);
    const auto finishes = [&](std::size_t i) { return r.all[i].ok() || failed(r.all[i], c); };
    r.winner = first(r.all, finishes);
    if (r.winner >= 0) {
      r.shared = shared(r.all, r.winner, finishes);
      const instant won = r.all[static_cast<std::size_t>(r.winner)].end;
      if (r.shared && won < c.stop) undecided();
      if (won < c.stop)
        for (std::size_t i = 0; i < count; ++i)
          if (static_cast<int>(i) != r.winner) r.all[i] = eval(n.children[i], c.until(won));
    }
    r.end = last_end(r.all, c.start);
    for (std::size_t i = 0; i < count; ++i)
      if (r.all[i].ok()) r.good.push_back(i);
    return r;
  }
  result any_of(node& n, const around& c) {
    const race_result r = race(n, n.children.size(), c);
    if (r.winner < 0) return bad(r.end, ends::canceled);
    const result& won = r.all[static_cast<std::size_t>(r.winner)];
    if (r.shared)  // several finish at once: the order matters unless all bring results
      for (const result& each : r.all)
        if (each.end == won.end && !each.ok() && !(each.canceled() && c.stop <= each.end))
          undecided();
    if (r.good.empty()) return {r.end, won.got};
    std::uint64_t v = won.ok() ? 0 : 1;
    for (const std::size_t i : r.good) v = mix(v, mix(i, r.all[i].got.value));
    return good(r.end, v);
  }
  result choose(node& n, const around& c) {
    const std::size_t count = n.children.size() / 2;
    const race_result r = race(n, count, c);
    for (std::size_t i = count; i < n.children.size(); ++i) forget(n.children[i]);
    if (r.winner < 0) return bad(r.end, ends::canceled);
    if (r.shared) undecided();
    const result& won = r.all[static_cast<std::size_t>(r.winner)];
    if (r.good.empty()) return {r.end, won.got};
    int chosen = r.winner;
    if (!won.ok()) {
      const auto ok = [&](std::size_t i) { return r.all[i].ok(); };
      chosen = first(r.all, ok);
      if (shared(r.all, chosen, ok)) undecided();
    }
    const auto at = static_cast<std::size_t>(chosen);
    result handled = eval(n.children[count + at], c.at(r.end));
    if (!handled.ok()) return handled;
    if (!won.ok()) return {handled.end, won.got};
    handled.got.value = mix(handled.got.value, r.all[at].got.value);
    return handled;
  }
  result choose_ok(node& n, const around& c) {
    const std::size_t count = n.children.size();
    std::vector<result> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = eval(n.children[i], c);
    const auto ok = [&](std::size_t i) { return all[i].ok(); };
    const int won = first(all, ok);
    if (won >= 0) {
      const result winner = all[static_cast<std::size_t>(won)];
      if (shared(all, won, ok)) undecided();
      if (winner.end < c.stop)
        for (std::size_t i = 0; i < count; ++i)
          if (static_cast<int>(i) != won) all[i] = eval(n.children[i], c.until(winner.end));
      return {last_end(all, c.start), winner.got};
    }
    const instant end = last_end(all, c.start);
    int last = -1;
    bool cut_short = false;
    for (std::size_t i = 0; i < count; ++i) {
      if (!failed(all[i], c)) {
        cut_short = true;
      } else if (last < 0 || all[i].end > all[static_cast<std::size_t>(last)].end) {
        last = static_cast<int>(i);
      }
    }
    if (cut_short) return bad(end, ends::canceled);
    const result& final = all[static_cast<std::size_t>(last)];
    for (const result& r : all)
      if (r.end == final.end && !(r.got == final.got)) undecided();
    return {end, final.got};
  }

  /// One run of a scope's body and children. `from` caused the scope's cancellation at `stop`, and
  /// itself goes on as if there were none: a child's number, body, or nobody.
  static constexpr int body = -1, nobody = -2;
  struct scope_run {
    std::vector<node*> children;
    std::vector<result> ends;
    result body;
    instant cancels = forever;  ///< when the body cancels the scope
    int joined = 0;             ///< children whose ends the body had awaited by then
  };
  /// `joined` children ended before the body failed or cancelled the scope, although perhaps in
  /// that instant.
  scope_run run_scope(node& n, const around& c, instant stop, int from, instant cancels,
                      int joined = 0) {
    for (node& child : n.children) forget(child);
    scope_run r;
    std::size_t next = 0;
    instant t = c.start;
    std::uint64_t v = 0;
    const auto inner = [&](int who, instant from_cancel) {
      // Whatever precedes the child that causes the cancellation has ended before it.
      const bool before = from >= static_cast<int>(r.children.size()) && who == body;
      return std::min({c.stop, who == from || before ? forever : stop, from_cancel});
    };
    for (const scope_step step : n.steps) {
      const bool done = r.cancels != forever;  // the body has cancelled its scope
      const instant stops = inner(body, r.cancels);
      around here = c.at(t);
      here.stop = stops;
      // A child that fails in the instant of its start may do so before or after the next step.
      here.after |= done || t > stops || (t == stops && began_before(r, from, t));
      if (step == scope_step::spawn) {
        const int who = static_cast<int>(r.children.size());
        r.children.push_back(&n.children[next++]);
        const instant stops_child = who < joined ? c.stop : inner(who, cancels);
        r.ends.push_back(eval(*r.children.back(), {t, stops_child, c.deadline, c.after || done}));
      } else if (step == scope_step::await) {
        const result one = eval(n.children[next++], here);
        t = one.end;
        if (!one.ok()) {
          r.body = one;
          return r;
        }
        v = mix(v, one.got.value);
      } else if (step == scope_step::cancel) {
        r.cancels = std::min(r.cancels, t);
        if (cancels == forever && t < std::min(stop, c.stop)) {
          r.body = good(t, v);  // the caller runs it again, and knows the cancellation then
          return r;
        }
      } else {
        const result all = join_inside(r, here, stop, from, c, cancels);
        t = all.end;
        if (!all.ok()) {
          r.body = all;
          return r;
        }
        if (!done) r.joined = static_cast<int>(r.children.size());
      }
    }
    r.body = good(t, v);
    return r;
  }
  static bool began_before(const scope_run& r, int from, instant t) {
    return from >= 0 && static_cast<std::size_t>(from) < r.children.size() &&
           r.children[static_cast<std::size_t>(from)]->model.start < t;
  }
  /// join() in the body: in the scope's own context.
  result join_inside(const scope_run& r, const around& here, instant stop, int from,
                     const around& c, instant cancels) {
    const instant end = last_end(r.ends, here.start);
    const scope_error e = error_of(r, c, stop, from, cancels, end);
    if (e.has) return {end, e.got};
    bool alive = false, cut_short = false;
    for (std::size_t i = 0; i < r.ends.size(); ++i) {
      alive |= r.ends[i].end >= here.start;
      cut_short |= r.ends[i].canceled();
    }
    if (alive && here.start < here.stop && here.stop <= end) return bad(end, ends::canceled);
    if (cut_short && c.stop <= end) return bad(end, ends::canceled);
    // Children that end in this instant may or may not have ended before join() was called.
    if (alive && here.unclear()) undecided();
    return good(end, 0);
  }
  struct scope_error {
    bool has = false;
    outcome got;
    instant at = 0;
  };
  /// The first failure of a child that ended by `end`. The one that caused the cancellation is
  /// first among those of its instant.
  scope_error error_of(const scope_run& r, const around& c, instant stop, int from, instant cancels,
                       instant end) {
    scope_error e;
    for (std::size_t i = 0; i < r.ends.size(); ++i) {
      const instant limit =
          std::min({c.stop, static_cast<int>(i) == from ? forever : stop, cancels});
      const result& one = r.ends[i];
      if (one.end > end || !failed(one, limit)) continue;
      if (static_cast<int>(i) == from) return {true, one.got, one.end};
      if (e.has && e.at == one.end && !(e.got == one.got)) undecided();
      if (!e.has || one.end < e.at) e = {true, one.got, one.end};
    }
    return e;
  }
  result nursery(node& n, const around& c) {
    instant stop = forever, cancels = forever;
    int from = nobody;
    scope_run r = run_scope(n, c, stop, from, cancels);
    // What cancels the scope first: a failure or the body.
    instant least = c.stop;
    for (std::size_t i = 0; i < r.ends.size(); ++i) {
      if (!failed(r.ends[i], c) || r.ends[i].end > least) continue;
      if (r.ends[i].end == least && from != nobody) undecided();
      if (r.ends[i].end == least) continue;
      least = r.ends[i].end;
      from = static_cast<int>(i);
    }
    if (!r.body.ok() && r.body.end < least) {
      least = r.body.end;
      from = body;
    } else if (!r.body.ok() && r.body.end == least && from >= 0) {
      undecided();  // also if both end alike: the first of them cuts the other short
    }
    if (r.cancels < least) {
      cancels = r.cancels;
      from = nobody;
    } else if (from != nobody) {
      stop = least;
      if (r.cancels == least) undecided();
    }
    if (cancels != forever || stop != forever)
      r = run_scope(n, c, stop, from, cancels, from < 0 ? r.joined : 0);
    // The failure that is kept: the first; a body that ends because it was asked to is none then.
    const instant end = last_end(r.ends, r.body.end);
    scope_error e = error_of(r, c, stop, from, cancels, end);
    if (!r.body.ok() && from != body) {
      if (!e.has || r.body.end < e.at) {
        e = {true, r.body.got, r.body.end};
      } else if (r.body.end == e.at && from < 0 && !(e.got == r.body.got)) {
        undecided();
      }
    } else if (!r.body.ok()) {
      e = {true, r.body.got, r.body.end};
    }
    if (e.has) return {end, e.got};
    if (n.variant == 1) return r.body.ok() ? good(end, r.body.got.value) : r.body;
    bool cut_short = false;
    for (const result& one : r.ends) cut_short |= one.canceled();
    const bool asked = r.body.end < c.stop && c.stop <= end;
    if (asked || (cut_short && c.stop <= end)) return bad(end, ends::canceled);
    if (c.stop == r.body.end && !r.ends.empty()) undecided();
    return good(end, value_of(n));
  }

  result started(node& n, const around& c) {
    node& child = n.children[0];
    result r = eval(child, {c.start, forever, forever});
    if (r.end == c.start && c.stop <= c.start) undecided();
    const instant stopped = std::max(c.start, c.stop);
    if (stopped < r.end) {
      eval(child, {c.start, stopped, forever});
      n.leaves_event = true;
      return bad(stopped, ends::canceled);
    }
    if (stopped == r.end) undecided();
    if (r.ok()) return r;
    if (n.variant == 1) return good(r.end, r.got.how == ends::own ? 2 : value_of(r.got.how));
    return good(r.end, 0);  // the event fires without a value
  }

  result hedge(node& n, const around& c) {
    const std::size_t calls = n.children.size();
    std::vector<result> all;
    std::size_t taken = 0;
    instant t = c.start;
    bool stopped = false;
    const auto answered = [&] {
      return std::any_of(all.begin(), all.end(),
                         [&](const result& r) { return r.ok() && r.end <= t; });
    };
    // The end of the call that is told next: calls tell in the order of their ends.
    const auto next_end = [&] {
      std::vector<instant> at;
      for (const result& r : all) at.push_back(r.end);
      std::sort(at.begin(), at.end());
      if (taken + 1 < at.size() && at[taken] == at[taken + 1] && at[taken] != c.stop) undecided();
      return at[taken];
    };
    while (!answered() && taken < calls) {
      if (all.size() < calls) all.push_back(eval(n.children[all.size()], c.at(t)));
      const instant told = taken < all.size() ? next_end() : forever;
      const bool more = all.size() < calls;
      const instant later = more && t + n.a < c.deadline ? t + n.a : forever;
      if (c.stop <= t) {
        // A call that began in this instant tells later in it; one that began before may have told.
        if (told == t && (c.unclear() || all.size() > 1)) undecided();
        if (told < t) {
          ++taken;
          continue;
        }
        stopped = true;
        break;
      }
      const instant next = std::min({told, later, c.stop});
      if (told == later && told != forever) undecided();
      t = std::max(t, next);
      if (next == c.stop) {  // also where calls end because of it: the wait ends first
        for (std::size_t i = 0; told == next && i < all.size(); ++i) {
          const around own = c.at(n.children[i].model.start);
          if (eval(n.children[i], {own.start, forever, own.deadline}).end == next) undecided();
          all[i] = eval(n.children[i], own);
        }
        stopped = true;
        break;
      }
      if (next == told) ++taken;
    }
    for (std::size_t i = all.size(); i < calls; ++i) forget(n.children[i]);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].end > t) all[i] = eval(n.children[i], c.at(n.children[i].model.start).until(t));
    const instant end = last_end(all, t);
    const auto ok = [&](std::size_t i) { return all[i].ok(); };
    const int answer = first(all, ok);
    if (answer >= 0) {
      if (shared(all, answer, ok)) undecided();
      return {end, all[static_cast<std::size_t>(answer)].got};
    }
    if (stopped) return bad(end, ends::canceled);
    result last = bad(end, ends::nothing);
    for (const result& r : all) {
      if (r.end != end) continue;
      if (last.got.how != ends::nothing && !(last.got == r.got)) undecided();
      last = r;
    }
    return last;
  }

  void count_reports(const node& n) {
    if (!n.model.entered) return;
    if (n.leaves_event) ++told_.leftovers;
    if (n.k == kind::started) {
      const outcome& got = n.children[0].model.got;
      const bool quiet = got.how == ends::value || (n.variant == 1 && got.how != ends::own) ||
                         (n.leaves_event && got.how == ends::canceled);
      if (!quiet) ++(got.how == ends::broken_pipe ? told_.lost_peers : told_.unhandled);
    }
    for (const node& child : n.children) count_reports(child);
  }

  program& p_;
  std::vector<action> fires_;
  std::vector<instant> stops_;
  reports told_;
  bool undecided_ = false;
};

}  // namespace heddle::test::timed
