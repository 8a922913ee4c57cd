// SPDX-License-Identifier: MIT
// Troubles of a cluster: drawn before the run or read from a file, and then carried out at their
// times. See troubles.hh.
#include "sim/troubles.hh"

#include <algorithm>

#include "heddle/sim/cluster.hh"
#include "sim/process.hh"

namespace heddle::sim {

namespace {

constexpr nanoseconds pause_max{5'000'000'000};
constexpr nanoseconds clock_jump_max{7'200'000'000'000};
constexpr nanoseconds latency_max{200'000'000};

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

/// Draws what goes wrong, unless a file says it, and has it happen at its times.
void cluster::draw_troubles() {
  const trouble_options& wanted = options_.trouble;
  nanoseconds calm_at{0};
  if (options_.replay) {
    troubles_ = options_.replay->troubles;
    calm_at = options_.replay->calm_at;
  } else if (wanted.count_max != 0 && !wanted.kinds.empty()) {
    calm_at = wanted.until;
    random_stream draw = world_->stream("troubles");
    std::vector<node*> nodes;
    for (const auto& n : nodes_)
      if (!n->options_.spared) nodes.push_back(n.get());
    const std::uint64_t count = nodes.empty() ? 0 : draw.below(wanted.count_max + 1);
    for (std::uint64_t i = 0; i != count; ++i) {
      trouble t{.at = draw.up_to(wanted.until),
                .kind = wanted.kinds[draw.below(wanted.kinds.size())],
                .node = nodes[draw.below(nodes.size())]->name()};
      t.other = nodes_[draw.below(nodes_.size())]->name();
      t.how = draw.below(2) == 0 ? death::power : death::process;
      t.keep = draw.next();
      t.span = draw.up_to(t.kind == trouble_kind::pause ? pause_max : clock_jump_max);
      if (t.kind == trouble_kind::clock) t.span -= clock_jump_max / 2;
      if (t.kind == trouble_kind::link)
        t.link = {.latency = draw.up_to(latency_max), .jitter = draw.up_to(latency_max / 4)};
      // Half of what can be mended is mended before the end.
      trouble mended{.at = t.at + draw.up_to(wanted.until - t.at),
                     .kind = trouble_kind::heal,
                     .node = t.node,
                     .other = t.other};
      if (t.kind == trouble_kind::kill) mended.kind = trouble_kind::restart;
      const bool again =
          draw.below(2) == 0 && (t.kind == trouble_kind::kill || t.kind == trouble_kind::partition);
      troubles_.push_back(std::move(t));
      if (again) troubles_.push_back(std::move(mended));
    }
    std::sort(troubles_.begin(), troubles_.end(),
              [](const trouble& a, const trouble& b) { return a.at < b.at; });
  }
  for (const trouble& t : troubles_) at(t.at, [this, t] { apply(t); });
  if (calm_at.count() != 0) at(calm_at, [this] { calm_down(); });
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
  if (options_.replay) {
    run.calm_at = options_.replay->calm_at;
    run.calm = options_.replay->calm;
  } else if (options_.trouble.count_max != 0) {
    run.calm_at = options_.trouble.until;
  }
  return run;
}

std::map<std::string, std::uint64_t> cluster::draws() const {
  std::map<std::string, std::uint64_t> all{{"turns", world_->chance.draws()}};
  for (const auto& c : world_->computers()) all[c->name + ".wire"] = c->wire.draws();
  for (const auto& p : world_->processes()) all[p->name + ".order"] = p->chance.draws();
  return all;
}

}  // namespace heddle::sim
