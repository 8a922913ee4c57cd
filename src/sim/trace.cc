// SPDX-License-Identifier: MIT
// The trace's hash and its text. See trace.hh.
#include "sim/trace.hh"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "sim/random.hh"

namespace heddle::sim {

namespace {

// So that a record is one line whatever the names of the computers are.
constexpr std::size_t name_shown_max = 32;

// The bytes of a remark that a trace keeps.
constexpr std::size_t remark_shown_max = 200;

const char* kind_name(trace_kind kind) {
  switch (kind) {
    case trace_kind::submit:
      return "submit";
    case trace_kind::done:
      return "done";
    case trace_kind::complete:
      return "complete";
    case trace_kind::cancel:
      return "cancel";
    case trace_kind::jump:
      return "jump";
    case trace_kind::fault:
      return "fault";
    case trace_kind::opened:
      return "opened";
    case trace_kind::closed:
      return "closed";
    case trace_kind::arrival:
      return "arrival";
    case trace_kind::signal:
      return "signal";
    case trace_kind::random:
      return "random";
    case trace_kind::note:
      return "note";
    case trace_kind::start:
      return "start";
    case trace_kind::death:
      return "death";
    case trace_kind::cut:
      return "cut";
    case trace_kind::heal:
      return "heal";
    case trace_kind::pause:
      return "pause";
    case trace_kind::clock:
      return "clock";
  }
  return "?";
}

bool names_operation(trace_kind kind) {
  return kind <= trace_kind::cancel || kind == trace_kind::fault;
}

}  // namespace

const char* to_string(op_code code) noexcept {
  static constexpr const char* names[] = {
      "poll",        "accept",   "accept_all", "connect",        "receive", "receive_all", "send",
      "receive_msg", "send_msg", "read",       "write",          "open",    "stat",        "sync",
      "list",        "remove",   "rename",     "make_directory", "resolve", "call"};
  const auto index = static_cast<std::size_t>(code);
  return index < std::size(names) ? names[index] : "?";
}

std::uint64_t hash_bytes(const void* bytes, std::size_t len, std::uint64_t from) noexcept {
  const auto* at = static_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i < len; ++i) from = (from ^ at[i]) * 0x100000001b3u;
  return from;
}

void trace::keep(const record& r) noexcept {
  std::uint64_t h = hash_;
  for (const std::uint64_t word :
       {static_cast<std::uint64_t>(r.when_ns), r.number, static_cast<std::uint64_t>(r.value),
        (std::uint64_t{r.computer} << 48) | (static_cast<std::uint64_t>(r.kind) << 40) |
            (static_cast<std::uint64_t>(r.code) << 32) | static_cast<std::uint32_t>(r.fd)})
    h = mix(h + 0x9e3779b97f4a7c15u + word);
  hash_ = h;
  store(r);
}

void trace::store(const record& r) noexcept {
  if (lines_max_ != 0) {
    if (ring_.size() < lines_max_)
      ring_.push_back(r);
    else
      ring_[count_ % lines_max_] = r;
  }
  ++count_;
}

void trace::add(stamp at, trace_kind kind, std::uint64_t number, op_code code, int fd,
                std::int64_t value) noexcept {
  keep({at.when.time_since_epoch().count(),
        number,
        value,
        fd,
        static_cast<std::uint16_t>(at.computer),
        kind,
        code,
        {}});
}

void trace::note(stamp at, std::string_view text) noexcept {
  record r{at.when.time_since_epoch().count(),
           hash_bytes(text.data(), text.size()),
           0,
           -1,
           static_cast<std::uint16_t>(at.computer),
           trace_kind::note,
           op_code::poll,
           {}};
  constexpr std::size_t part = sizeof r.remark - 1;
  std::memcpy(r.remark, text.data(), std::min(text.size(), part));
  keep(r);
  for (text = text.substr(0, remark_shown_max); text.size() > part;) {
    text.remove_prefix(part);
    ++r.value;
    std::memset(r.remark, 0, sizeof r.remark);
    std::memcpy(r.remark, text.data(), std::min(text.size(), part));
    store(r);
  }
}

std::string trace::remark_at(std::uint64_t i) const {
  const record& first = ring_[i % lines_max_];
  std::string all = first.remark;
  for (std::int64_t part = 1; ++i < count_; ++part) {
    const record& next = ring_[i % lines_max_];
    if (next.kind != trace_kind::note || next.value != part || next.number != first.number) break;
    all += next.remark;
  }
  return all;
}

std::string trace::text(std::optional<unsigned> computer) const {
  std::string out;
  const std::uint64_t first = count_ > ring_.size() ? count_ - ring_.size() : 0;
  if (first != 0) out = "... " + std::to_string(first) + " earlier records\n";
  for (std::uint64_t i = first; i < count_; ++i) {
    const record& r = ring_[i % lines_max_];
    if (computer && r.computer != *computer) continue;
    if (r.kind == trace_kind::note && r.value != 0) continue;  // the first record prints it
    std::string where;
    if (r.computer != 0) where = names[r.computer - 1u].substr(0, name_shown_max) + ": ";
    char head[100], tail[60];
    std::snprintf(head, sizeof head, "%" PRId64 ".%09" PRId64 " %s%-8s #%" PRIu64 " ",
                  r.when_ns / 1'000'000'000, r.when_ns % 1'000'000'000, where.c_str(),
                  kind_name(r.kind), r.number);
    std::snprintf(tail, sizeof tail, " fd=%d value=%" PRId64 "\n", r.fd, r.value);
    out += head;
    out += names_operation(r.kind) ? to_string(r.code) : remark_at(i);
    out += tail;
  }
  return out;
}

}  // namespace heddle::sim
