// SPDX-License-Identifier: MIT
// Drawing of faults. See faults.hh.
#include "sim/faults.hh"

#include <cerrno>
#include <utility>

#include "sim/trace.hh"

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

const char* kind_name(std::size_t kind) noexcept {
  if (kind < op_code_count) return to_string(static_cast<op_code>(kind));
  static constexpr std::array<const char*, sim_call_count> calls{
      "socket", "bind", "listen", "socket_pair", "pipe", "signal_source"};
  return calls[kind - op_code_count];
}

std::optional<std::size_t> kind_of(std::string_view name) noexcept {
  for (std::size_t kind = 0; kind != kind_count; ++kind)
    if (name == kind_name(kind)) return kind;
  return std::nullopt;
}

bool can_have(std::size_t kind, std::string_view what) noexcept {
  if (what == "error") return true;
  if (kind >= op_code_count) return false;
  const nature can = nature_of(static_cast<op_code>(kind));
  return what == "reset" ? can.stream : what == "short" ? can.transfers : what == "delay";
}

faults::faults(const sim_options& options, random_stream random, fault_book* book,
               std::string process)
    : random_(random),
      book_(book),
      process_(std::move(process)),
      delay_max_(options.fault_delay_max),
      no_descriptors_(options.faults.no_descriptors) {
  rates_.fill(options.faults);
}

std::optional<fault> faults::given(std::size_t kind) noexcept {
  ++made_[kind];
  if (book_ == nullptr || !book_->given) return std::nullopt;
  const auto found = book_->entries.find({process_, kind, made_[kind]});
  return found == book_->entries.end() ? fault() : found->second;
}

void faults::write_down(std::size_t kind, const fault& f) {
  ++injected_;
  if (book_ != nullptr && !book_->given) book_->entries[{process_, kind, made_[kind]}] = f;
}

fault faults::draw(const operation& op) noexcept { return draw(op.code, op.len, true); }

fault faults::draw_now(op_code code, std::size_t len) noexcept { return draw(code, len, false); }

fault faults::draw(op_code code, std::size_t len, bool may_wait) noexcept {
  auto& script = scripted_[index(code)];
  const std::optional<fault> asked = given(index(code));
  if (!script.empty()) {
    ++injected_;
    const int error = script.front();
    script.erase(script.begin());
    return {.error = error};
  }
  const fault f = asked ? *asked : draw_by_rates(code, len, may_wait);
  if (!f.none()) write_down(index(code), f);
  return f;
}

fault faults::draw_by_rates(op_code code, std::size_t len, bool may_wait) noexcept {
  fault f;
  const sim_rates& rate = rates_[index(code)];
  const nature can = nature_of(code);
  if (may_wait && random_.chance(rate.delayed)) f.delay = random_.up_to(delay_max_);
  if (may_wait && can.interruptible && random_.chance(rate.interrupted))
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
    f.bytes_max = 1 + static_cast<std::uint32_t>(random_.below(len > 1 ? len : 16));
  return f;
}

int faults::draw(sim_call call) noexcept {
  const std::size_t kind = op_code_count + static_cast<std::size_t>(call);
  auto& script = scripted_calls_[static_cast<std::size_t>(call)];
  const std::optional<fault> asked = given(kind);
  if (!script.empty()) {
    const int result = script.front();
    script.erase(script.begin());
    ++injected_;
    return result;
  }
  const fault f = asked ? *asked : fault{.error = draw_by_rates(call)};
  if (!f.none()) write_down(kind, f);
  return f.error;
}

int faults::draw_by_rates(sim_call call) noexcept {
  const bool names = call == sim_call::bind || call == sim_call::listen;
  return !names && random_.chance(no_descriptors_) ? -EMFILE : 0;
}

}  // namespace heddle::sim
