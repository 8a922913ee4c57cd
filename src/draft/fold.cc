// SPDX-License-Identifier: MIT
// Constants: the value of each variable at each block, where all ways to the block agree on it.
// Branches on known values are decided first, so what only an impossible way would do does not
// count. An owner that is known to hold nothing needs no release.
#include "draft/fold.hh"

#include <algorithm>
#include <utility>
#include <vector>

#include "draft/flow.hh"

namespace heddle::draft {

bool fits(const type& t, __int128 n) {
  if (t.is(kind::duration)) return n >= INT64_MIN && n <= INT64_MAX;
  return n >= min_of(t) && n <= static_cast<__int128>(max_of(t));
}

__int128 wrap_to(const type& t, __int128 n) {
  const unsigned bits = t.is_integer() ? t.bits() : 64;
  auto low = static_cast<std::uint64_t>(static_cast<unsigned __int128>(n));
  if (bits < 64) low &= (std::uint64_t{1} << bits) - 1;
  if (t.is_integer() && !t.is_signed()) return low;
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  return static_cast<std::int64_t>((low ^ sign) - sign);
}

std::optional<__int128> fold_unary(word op, const type& t, __int128 a) {
  switch (op) {
    case word::s_not:
      return a == 0 ? 1 : 0;
    case word::s_tilde:
      return wrap_to(t, ~a);
    case word::s_sub:
      return fits(t, -a) ? std::optional<__int128>(-a) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<__int128> fold_binary(word op, const type& t, __int128 a, __int128 b) {
  const auto checked = [&](__int128 n) { return fits(t, n) ? std::optional(n) : std::nullopt; };
  switch (op) {
    case word::s_add:
      return checked(a + b);
    case word::s_sub:
      return checked(a - b);
    case word::s_mul:
      return checked(a * b);  // factors of 64 bits: the product fits in 128
    case word::s_add_wrap:
      return wrap_to(t, a + b);
    case word::s_sub_wrap:
      return wrap_to(t, a - b);
    case word::s_mul_wrap:
      return wrap_to(t, static_cast<__int128>(static_cast<unsigned __int128>(a) *
                                              static_cast<unsigned __int128>(b)));
    case word::s_div:
      return b == 0 ? std::nullopt : checked(a / b);
    case word::s_mod:
      // The least number by -1 has no quotient that fits; its remainder is a fault too, as in C.
      return b == 0 || !fits(t, a / b) ? std::nullopt : checked(a % b);
    case word::s_and:
      return a & b;
    case word::s_pipe:
      return a | b;
    case word::s_xor:
      return a ^ b;
    case word::s_shl:
      if (b < 0 || b >= static_cast<__int128>(t.bits())) return std::nullopt;
      return wrap_to(
          t, static_cast<__int128>(static_cast<unsigned __int128>(a) << static_cast<int>(b)));
    case word::s_shr:
      if (b < 0 || b >= static_cast<__int128>(t.bits())) return std::nullopt;
      return a >> static_cast<int>(b);
    case word::s_eq:
      return a == b;
    case word::s_ne:
      return a != b;
    case word::s_lt:
      return a < b;
    case word::s_gt:
      return a > b;
    case word::s_le:
      return a <= b;
    case word::s_ge:
      return a >= b;
    case word::s_andand:
      return a != 0 && b != 0;
    case word::s_oror:
      return a != 0 || b != 0;
    default:
      return std::nullopt;
  }
}

namespace {

/// The slots that hold one known number (an owner that is 0 holds nothing); every other one may
/// hold anything. Few are known at one place, so they are a list, sorted by slot.
class known_numbers {
 public:
  [[nodiscard]] const __int128* find(var_id id) const {
    const auto at = place_of(id);
    return at == known_.end() || at->first != id ? nullptr : &at->second;
  }
  void set(var_id id, __int128 n) {
    const auto at = known_.begin() + (place_of(id) - known_.cbegin());
    if (at != known_.end() && at->first == id)
      at->second = n;
    else
      known_.insert(at, {id, n});
  }
  void forget(var_id id) {
    const auto at = place_of(id);
    if (at != known_.end() && at->first == id) known_.erase(at);
  }
  /// Keeps what both know; whether anything was lost.
  bool join(const known_numbers& from) {
    const std::size_t before = known_.size();
    auto other = from.known_.begin();
    std::erase_if(known_, [&](const pair& k) {
      while (other != from.known_.end() && other->first < k.first) ++other;
      return other == from.known_.end() || other->first != k.first || other->second != k.second;
    });
    return known_.size() != before;
  }

 private:
  using pair = std::pair<var_id, __int128>;
  [[nodiscard]] std::vector<pair>::const_iterator place_of(var_id id) const {
    return std::lower_bound(known_.begin(), known_.end(), id,
                            [](const pair& k, var_id n) { return k.first < n; });
  }
  std::vector<pair> known_;
};

class folder {
 public:
  explicit folder(flow& f) : flow_(f) {
    // Slots whose address is known elsewhere may change at any call.
    shared_.assign(f.slots.size(), false);
    for (std::size_t i = 0; i != f.slots.size(); ++i) shared_[i] = f.slots[i].by_reference;
    for (const flow_block& b : f.blocks)
      each_call(b, [&](const auto& call) { note_addresses(call); });
  }

  void run() {
    std::vector<known_numbers> entry(flow_.blocks.size());
    std::vector<bool> reached(flow_.blocks.size(), false);
    std::vector<block_id> work = {0};
    reached[0] = true;
    while (!work.empty()) {
      const block_id at = work.back();
      work.pop_back();
      known_numbers s = entry[at];
      const flow_block& b = flow_.blocks[at];
      for (const instr& x : b.body) apply(x, s);
      each_call(b.tail, [&](const auto& call) { apply(call, s); });
      if (b.tail.is<fault_tail>()) s.forget(flow_.status);
      for (const block_id next : targets(b.tail, s)) {
        if (!reached[next]) {
          reached[next] = true;
          entry[next] = s;
          work.push_back(next);
        } else if (entry[next].join(s)) {
          work.push_back(next);
        }
      }
    }
    for (block_id at = 0; at != flow_.blocks.size(); ++at)
      if (reached[at]) rewrite(flow_.blocks[at], entry[at]);
  }

 private:
  void note_addresses(const call_parts& c) {
    for (const passed& a : c.args)
      if (a.by_address) note_root(a.what);
  }
  void note_addresses(const operation_call& c) {
    note_addresses(static_cast<const call_parts&>(c));
    if (c.on) note_root(*c.on);
  }
  void note_root(const value& v) {
    if (v.root() != no_id) shared_[v.root()] = true;
  }

  [[nodiscard]] bool tracked(var_id id) const {
    const type& t = *flow_.slots[id].type;
    if (shared_[id] && !t.is_owned()) return false;
    return t.is_integer() || t.is(kind::boolean) || t.is(kind::duration) ||
           t.is(kind::enumeration) || t.is(kind::error) || t.needs_release();
  }

  [[nodiscard]] std::optional<__int128> number_of(const value& v, const known_numbers& s) const {
    using number = std::optional<__int128>;
    return by_kind(
        v, [](const number_value& x) -> number { return x.number; },
        [&](const slot_value& x) -> number {
          const __int128* const n = s.find(x.slot);
          return n != nullptr && !v.type->needs_release() ? number(*n) : std::nullopt;
        },
        [&](const unary_value& x) -> number {
          const number a = number_of(*x.of, s);
          return a ? fold_unary(x.op, *v.type, *a) : std::nullopt;
        },
        [&](const binary_value& x) -> number {
          const type& t = *x.left->type;
          const bool span = t.is(kind::duration);
          if (!t.is_integer() && !t.is(kind::boolean) && !span && !t.is(kind::enumeration) &&
              !t.is(kind::error))
            return std::nullopt;
          if (span && x.op == word::s_mod) return std::nullopt;
          const number a = number_of(*x.left, s);
          const number b = number_of(*x.right, s);
          // One side decides only where the other has no fault to report.
          if (x.op == word::s_andand && a && *a == 0) return 0;
          if (x.op == word::s_oror && a && *a != 0) return 1;
          const bool shifts = x.op == word::s_shl || x.op == word::s_shr;
          if (!a || !b || (shifts && (span || v.type->is(kind::duration)))) return std::nullopt;
          return fold_binary(x.op, t, *a, *b);
        },
        [&](const convert_value& x) -> number {
          if (!v.type->is_integer() && !v.type->is(kind::duration)) return std::nullopt;
          const number a = number_of(*x.of, s);
          return a && fits(*v.type, *a) ? a : std::nullopt;
        },
        [](const one_of<text_value, literal_value, field_value, element_value, byte_value,
                        part_value, index_value, error_value, status_value, view_value, wrap_value,
                        empty_value, has_value, held_value, property_value, foreign_value> auto&)
            -> number { return std::nullopt; });
  }

  static void learn(var_id id, const std::optional<__int128>& n, known_numbers& s) {
    if (n)
      s.set(id, *n);
    else
      s.forget(id);
  }

  void apply(const call_parts& c, known_numbers& s) const {
    if (c.result != no_id) s.forget(c.result);
    if (c.sets_status) s.forget(flow_.status);
    for (const passed& a : c.args)
      if (a.by_address && a.what.slot() != no_id) s.forget(a.what.slot());
  }

  void apply(const instr& i, known_numbers& s) const {
    by_kind(
        i,
        [&](const set_instr& x) {
          const var_id id = x.place.slot();
          if (id == no_id) return;
          if (tracked(id) && !flow_.slots[id].type->needs_release())
            return learn(id, number_of(x.from, s), s);
          std::optional<__int128> n;
          if (tracked(id) && flow_.slots[id].type->is_owned() && x.from.slot() != no_id)
            if (const __int128* const from = s.find(x.from.slot())) n = *from;
          learn(id, n, s);
        },
        [&](const clear_instr& x) {
          if (tracked(x.slot))
            s.set(x.slot, 0);
          else
            s.forget(x.slot);
        },
        [&](const release_instr& x) {
          if (tracked(x.slot)) s.set(x.slot, 0);
        },
        [&](const call_parts& x) { apply(x, s); },
        [](const one_of<retain_instr, open_within, close_within, open_scope, open_shield,
                        close_shield> auto&) {});
  }

  [[nodiscard]] std::vector<block_id> targets(const tail& t, const known_numbers& s) const {
    if (const branch_tail* const b = t.get<branch_tail>()) {
      if (const auto n = number_of(b->condition, s)) return {t.next[*n != 0 ? 0 : 1]};
    } else if (t.is<check_tail>()) {
      if (const __int128* const n = s.find(flow_.status)) return {t.next[*n < 0 ? 1 : 0]};
    } else if (const choose_tail* const c = t.get<choose_tail>()) {
      if (const auto n = number_of(c->of, s); n && c->texts.empty()) {
        for (std::size_t i = 0; i != c->cases.size(); ++i)
          if (c->cases[i] == *n) return {t.next[i]};
        return {t.next.back()};
      }
    }
    return t.next;
  }

  void rewrite_value(value& v, const known_numbers& s) const {
    if (const auto n = number_of(v, s)) {
      v.how = number_value{*n};
    } else if (const index_value* const x = v.get<index_value>(); !x || x->at->slot() == no_id) {
      each_part(v, [&](value& part) { rewrite_value(part, s); });
    }
  }

  void rewrite_args(call_parts& c, const known_numbers& s) const {
    for (passed& a : c.args)
      if (!a.by_address) rewrite_value(a.what, s);
  }

  void rewrite(flow_block& b, known_numbers s) {
    std::vector<instr> kept;
    for (instr& x : b.body) {
      if (const release_instr* const r = x.get<release_instr>(); r != nullptr && tracked(r->slot)) {
        const __int128* const n = s.find(r->slot);
        if (n != nullptr && *n == 0) continue;
      }
      by_kind(
          x, [&](set_instr& i) { rewrite_value(i.from, s); },
          [&](open_within& i) { rewrite_value(i.limit, s); },
          [&](call_parts& c) { rewrite_args(c, s); },
          [](const one_of<clear_instr, retain_instr, release_instr, close_within, open_scope,
                          open_shield, close_shield> auto&) {});
      apply(x, s);
      kept.push_back(std::move(x));
    }
    b.body = std::move(kept);
    // A wait is asked again after the frame was woken; the state known before it still holds.
    each_call(b.tail, [&](auto& call) {
      rewrite_args(call, s);
      apply(call, s);
    });
    const std::vector<block_id> left = targets(b.tail, s);
    if (value* const v = b.tail.decides()) rewrite_value(*v, s);
    if (left.size() == 1 && b.tail.next.size() > 1) b.tail.become_go(left[0]);
    if (b.tail.is<fault_tail>() && std::none_of(b.body.begin(), b.body.end(), may_fault))
      b.tail.become_go(b.tail.next[0]);
  }
  static bool faults(const value& v) { return v.may_fault() || v.checks_index(); }
  static bool may_fault(const instr& i) {
    const auto args = [](const call_parts& c) {
      return std::any_of(c.args.begin(), c.args.end(),
                         [](const passed& a) { return faults(a.what); });
    };
    return by_kind(
        i, [](const set_instr& x) { return faults(x.from); },
        [](const open_within& x) { return faults(x.limit); },
        [&](const call_parts& c) { return args(c); },
        [&](const operation_call& c) { return args(c) || c.builtin->may_fault; },
        [](const one_of<clear_instr, retain_instr, release_instr, close_within, open_scope,
                        open_shield, close_shield> auto&) { return false; });
  }

  flow& flow_;
  std::vector<bool> shared_;
};

}  // namespace

void fold(flow& f) { folder(f).run(); }

}  // namespace heddle::draft
