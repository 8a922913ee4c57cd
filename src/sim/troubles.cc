// SPDX-License-Identifier: MIT
// Troubles of a cluster: drawn before the run or read from a file, and then carried out at their
// times. See troubles.hh.
#include "sim/troubles.hh"

#include <algorithm>
#include <utility>

#include "heddle/sim/cluster.hh"
#include "sim/process.hh"

namespace heddle::sim {

namespace {

constexpr nanoseconds pause_max{5'000'000'000};
constexpr nanoseconds clock_jump_max{7'200'000'000'000};
constexpr nanoseconds latency_max{200'000'000};

/// Draws one trouble, for one of the nodes that it may hit and any other one; and in half of the
/// cases its end, if it is a partition or a kill.
std::vector<trouble> draw_one(const trouble_options& wanted, const std::vector<std::string>& hit,
                              const std::vector<std::string>& all, random_stream& draw) {
  trouble t{.at = draw.up_to(wanted.until),
            .kind = wanted.kinds[draw.below(wanted.kinds.size())],
            .node = hit[draw.below(hit.size())],
            .other = all[draw.below(all.size())]};
  t.how = draw.below(2) == 0 ? death::power : death::process;
  t.keep = draw.next();
  t.span = draw.up_to(t.kind == trouble_kind::pause ? pause_max : clock_jump_max);
  if (t.kind == trouble_kind::clock) t.span -= clock_jump_max / 2;
  if (t.kind == trouble_kind::link)
    t.link = {.latency = draw.up_to(latency_max), .jitter = draw.up_to(latency_max / 4)};
  const bool killed = t.kind == trouble_kind::kill;
  const trouble end{.at = t.at + draw.up_to(wanted.until - t.at),
                    .kind = killed ? trouble_kind::restart : trouble_kind::heal,
                    .node = t.node,
                    .other = t.other};
  const bool ends = draw.below(2) == 0 && (killed || t.kind == trouble_kind::partition);
  return ends ? std::vector{t, end} : std::vector{t};
}

}  // namespace

void follow(const run_file& run, world& w) {
  w.faults.given = true;
  for (const operation_fault& f : run.faults) {
    const std::optional<std::size_t> kind = kind_of(f.operation);
    if (!kind) continue;
    w.faults.entries[{f.process, *kind, f.ordinal}] = {
        .error = -f.error,
        .reset = f.reset,
        .bytes_max = f.bytes_max == 0 ? ~0u : f.bytes_max,
        .delay = f.delay};
  }
  for (const calm_draws& c : run.calm) w.calm[c.stream].push_back({c.first, c.last});
}

std::vector<operation_fault> faults_of(const world& w) {
  std::vector<operation_fault> all;
  for (const auto& [key, f] : w.faults.entries)
    all.push_back({.process = key.process,
                   .operation = kind_name(key.kind),
                   .ordinal = key.ordinal,
                   .error = -f.error,
                   .reset = f.reset,
                   .bytes_max = f.bytes_max == ~0u ? 0 : f.bytes_max,
                   .delay = f.delay});
  return all;
}

/// Has troubles happen at their times: those of the file to replay, or drawn ones.
void cluster::draw_troubles() {
  const trouble_options& wanted = options_.trouble;
  std::vector<std::string> hit, all;
  for (const auto& n : nodes_) {
    all.push_back(n->name());
    if (!n->options_.spared) hit.push_back(n->name());
  }
  if (options_.replay) {
    troubles_ = options_.replay->troubles;
  } else if (!hit.empty() && !wanted.kinds.empty()) {
    random_stream draw = world_->stream("troubles");
    for (std::uint64_t left = draw.below(wanted.count_max + std::uint64_t{1}); left != 0; --left)
      for (trouble& t : draw_one(wanted, hit, all, draw)) troubles_.push_back(std::move(t));
    std::sort(troubles_.begin(), troubles_.end(),
              [](const trouble& a, const trouble& b) { return a.at < b.at; });
  }
  for (const trouble& t : troubles_) at(t.at, [this, t] { apply(t); });
  if (const nanoseconds calm = calm_at(); calm.count() != 0) at(calm, [this] { calm_down(); });
}

/// The time from which on all is healed; 0: never.
nanoseconds cluster::calm_at() const noexcept {
  if (options_.replay) return options_.replay->calm_at;
  return options_.trouble.count_max == 0 ? nanoseconds{0} : options_.trouble.until;
}

void cluster::apply(const trouble& t) {
  node* const one = find(t.node);
  node* const other = t.other.empty() ? one : find(t.other);
  if (one == nullptr || other == nullptr) {  // in an edited file, or with fewer nodes
    note("no node " + (one == nullptr ? t.node : t.other));
    return;
  }
  switch (t.kind) {
    case trouble_kind::partition:
      return partition(*one, *other);
    case trouble_kind::heal:
      return heal(*one, *other);
    case trouble_kind::kill:
      return kill(*one, t.how, t.keep);
    case trouble_kind::restart:
      if (!one->result_) restart(*one);
      return;
    case trouble_kind::pause:
      return pause(*one, t.span);
    case trouble_kind::clock:
      return jump_clock(*one, t.span);
    case trouble_kind::link:
      return set_link(*one, *other, t.link);
  }
}

void cluster::calm_down() {
  heal();
  for (const auto& n : nodes_)
    if (!n->running() && !n->result_) restart(*n);
}

std::uint64_t cluster::size(const std::string& name, std::uint64_t usual) {
  std::uint64_t value = usual;
  if (options_.replay)
    if (const auto found = options_.replay->sizes.find(name); found != options_.replay->sizes.end())
      value = found->second;
  sizes_[name] = value;
  return value;
}

run_file cluster::record() const {
  run_file run;
  run.seed = options_.world.seed;
  run.troubles = troubles_;
  run.faults = faults_of(*world_);
  run.sizes = sizes_;
  run.trace_hash = trace_hash();
  run.calm_at = calm_at();
  if (options_.replay) run.calm = options_.replay->calm;
  return run;
}

std::map<std::string, std::uint64_t> cluster::draws() const {
  std::map<std::string, std::uint64_t> all{{"turns", world_->chance.draws()}};
  for (const auto& c : world_->computers()) all[c->name + ".wire"] = c->wire.draws();
  for (const auto& p : world_->processes()) all[p->name + ".order"] = p->chance.draws();
  return all;
}

}  // namespace heddle::sim
