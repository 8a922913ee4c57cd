// SPDX-License-Identifier: MIT
// Drawing of faults. See faults.hh.
#include "sim/faults.hh"

#include <cerrno>

namespace heddle::sim {

namespace {

/// The properties of an operation that decide which faults can happen to it.
struct nature {
  bool transfers, interruptible, stream, socket, makes_descriptor, disk;
};

constexpr nature nature_of(op_code code) {
  switch (code) {
    case op_code::poll:
      return {};
    case op_code::accept:
      return {false, true, false, true, true, false};
    case op_code::accept_all:
      return {false, false, false, true, true, false};
    case op_code::connect:
      return {false, false, false, true, false, false};
    case op_code::receive:
    case op_code::receive_msg:
    case op_code::send:
    case op_code::send_msg:
      return {true, true, true, true, false, false};
    case op_code::receive_all:
      return {true, false, true, true, false, false};
    case op_code::read:
    case op_code::write:
      return {true, true, true, false, false, true};
    case op_code::open:
      return {false, true, false, false, true, true};
    case op_code::stat:
    case op_code::list:
    case op_code::remove:
    case op_code::rename:
    case op_code::make_directory:
      return {false, false, false, false, false, true};
    case op_code::sync:
      return {false, true, false, false, false, true};
    case op_code::resolve:
    case op_code::call:
      return {};
  }
  return {};
}

}  // namespace

faults::faults(const sim_options& options, std::uint64_t stream, tape* choices)
    : random_(options.seed, stream, choices),
      delay_max_(options.fault_delay_max),
      no_descriptors_(options.faults.no_descriptors) {
  rates_.fill(options.faults);
}

fault faults::draw(const operation& op) noexcept {
  fault f;
  auto& script = scripted_[index(op.code)];
  if (!script.empty()) {
    f.error = script.front();
    script.pop_front();
    ++injected_;
    return f;
  }
  const sim_rates& rate = rates_[index(op.code)];
  const nature can = nature_of(op.code);
  if (random_.chance(rate.delayed)) f.delay = random_.up_to(delay_max_);
  if (can.interruptible && random_.chance(rate.interrupted))
    f.error = -EINTR;
  else if ((can.socket || can.disk) && random_.chance(rate.no_memory))
    f.error = can.socket ? -ENOBUFS : -ENOMEM;
  else if (can.makes_descriptor && random_.chance(rate.no_descriptors))
    f.error = -EMFILE;
  else if (can.disk && random_.chance(rate.io_error))
    f.error = -EIO;
  else if (can.stream && random_.chance(rate.reset))
    f.reset = true;
  else if (can.transfers && random_.chance(rate.short_transfer))
    f.bytes_max = 1 + static_cast<std::uint32_t>(random_.below(op.len > 1 ? op.len : 16));
  if (f.error != 0 || f.reset || f.bytes_max != ~0u || f.delay.count() != 0) ++injected_;
  return f;
}

int faults::draw(sim_call call) noexcept {
  auto& script = scripted_calls_[static_cast<std::size_t>(call)];
  if (!script.empty()) {
    const int result = script.front();
    script.pop_front();
    ++injected_;
    return result;
  }
  const bool names = call == sim_call::bind || call == sim_call::listen;
  if (!names && random_.chance(no_descriptors_)) {
    ++injected_;
    return -EMFILE;
  }
  return 0;
}

}  // namespace heddle::sim
