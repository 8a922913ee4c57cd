// SPDX-License-Identifier: MIT
// How a request ends: finished, delivered from its lane, or cancelled, which may win or lose.
#include <algorithm>
#include <utility>

#include "heddle/sim/driver.hh"
#include "sim/process.hh"

namespace heddle::sim {

void process::finish(request& r, completion c) {
  r.ready.push_back(c);
  r.finished = !c.more;
  auto& lane = lanes_[r.lane];
  if (lane.empty()) ready_lanes_.push_back(r.lane);
  lane.push_back(r.number);
}

/// Takes back the only completion of a request that is alone in its lane.
void process::unready(request& r) {
  lanes_.erase(r.lane);
  ready_lanes_.erase(std::find(ready_lanes_.begin(), ready_lanes_.end(), r.lane));
}

/// Delivers the first completion of a ready lane.
void process::deliver_one(worker& w, std::size_t pick) {
  const std::uint64_t lane = ready_lanes_[pick];
  auto& numbers = lanes_[lane];
  const std::uint64_t number = numbers.front();
  numbers.pop_front();
  if (numbers.empty()) {
    lanes_.erase(lane);
    ready_lanes_[pick] = ready_lanes_.back();
    ready_lanes_.pop_back();
  }
  deliver(number, w);
}

void process::deliver(std::uint64_t number, worker& w) {
  request* const found = find_request(number);
  if (found == nullptr) return;  // ended with the process
  request& r = *found;
  operation& op = *r.op;
  const completion c = r.ready.front();
  r.ready.pop_front();
  record(trace_kind::complete, number, op.code, op.fd, c.result);
  if (!c.more) {
    op.held = false;
    by_operation_.erase(&op);
    requests_.erase(number);
    driver_.bring(op, w, c);  // the record may be gone from here on
    return;
  }
  const std::uint64_t outer = std::exchange(delivering_, number);
  const bool go_on = driver_.bring(op, w, c);
  delivering_ = outer;
  request* again = find_request(number);
  if (again == nullptr || again->finished) return;
  if (!go_on) end_canceled(*again);
  if (again->target != nullptr) home.changed(*again->target);
  home.settle();
}

void process::end_canceled(request& r) {
  if (r.target != nullptr) {
    if (r.started) r.target->abandon_connect();
    for (auto& line : r.target->waiting) forget(line, r.number);
    forget(r.target->polls, r.number);
    home.changed(*r.target);  // the requests behind it may go on
  }
  finish(r, {-ECANCELED});
}

void process::cancel(operation& op, worker& w) {
  const auto found = by_operation_.find(&op);
  if (found == by_operation_.end() || op.cancel_asked) return;
  op.cancel_asked = true;
  const std::uint64_t number = found->second;
  request& r = *find_request(number);
  record(trace_kind::cancel, number, op.code, op.fd, 0);
  if (r.finished) return;  // too late: its result is delivered
  const nanoseconds travel =
      chance.below(2) == 0 ? nanoseconds{0} : chance.up_to(options.cancel_delay_max);
  if (travel.count() != 0) {
    home.at(home.time() + travel, [this, number] {
      request* again = find_request(number);
      if (again != nullptr && !again->finished) end_canceled(*again);
    });
    return;
  }
  end_canceled(r);
  // Inside this call, or from a turn; never inside the operation's own completion.
  const auto& lane = lanes_[r.lane];
  const bool alone = lane.size() == 1 && lane.front() == number;
  if (alone && delivering_ != number && chance.below(2) == 0) {
    unready(r);
    deliver(number, w);
  }
  home.settle();
}

void process::close(int fd) {
  const auto found = descriptors_.find(fd);
  if (found == descriptors_.end()) return;
  const std::shared_ptr<object> o = found->second;
  descriptors_.erase(found);
  record(trace_kind::closed, fd, 0);
  std::vector<std::uint64_t> ending(o->polls.begin(), o->polls.end());
  for (const auto& line : o->waiting) ending.insert(ending.end(), line.begin(), line.end());
  for (const std::uint64_t number : ending) end_canceled(*find_request(number));
  o->closed();
  home.settle();
}

}  // namespace heddle::sim
