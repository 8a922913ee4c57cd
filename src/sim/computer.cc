// SPDX-License-Identifier: MIT
// Clocks and addresses of computers. See computer.hh.
#include "sim/computer.hh"

#include <algorithm>
#include <cmath>
#include <utility>

#include "heddle/base/error.hh"

namespace heddle::sim {

namespace {

constexpr double ppb = 1e9;

}  // namespace

local_clock::local_clock(time_point start, nanoseconds offset, double rate)
    : start_(start), offset_(offset), skew_ppb_(std::llround((rate - 1) * ppb)) {
  if (!(rate >= 0.5 && rate <= 2))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "node_options::clock_rate may be from 0.5 to 2, and 1.0002 is 200 ppm too fast");
}

time_point local_clock::shown_at(time_point world_time) const noexcept {
  if (world_time == never) return never;
  const nanoseconds passed = world_time - start_;
  const auto more = static_cast<__int128>(passed.count()) * skew_ppb_ / 1'000'000'000;
  return world_time + offset_ + nanoseconds{static_cast<std::int64_t>(more)};
}

time_point local_clock::when_shown(time_point shown) const noexcept {
  if (shown == never || skew_ppb_ == 0) return add_saturated(shown, -offset_);
  const nanoseconds passed = shown - offset_ - start_;
  const auto right =
      static_cast<__int128>(passed.count()) * 1'000'000'000 / (1'000'000'000 + skew_ppb_);
  time_point when = start_ + nanoseconds{static_cast<std::int64_t>(right)};
  while (shown_at(when) < shown) when += nanoseconds{1};
  return when;
}

computer::computer(const sim_options& options, const time_point& now, unsigned number,
                   std::string name, random_stream& chance, random_stream own)
    : number(number),
      name(std::move(name)),
      clock(options.start, nanoseconds{0}, 1),
      now_(now),
      start_(options.start),
      wall_start_(options.wall_start),
      own_wire_(own),
      wire(number == 0 ? chance : own_wire_),
      files(options.disk_bytes_max, [this] { return wall(); }) {}

nanoseconds computer::wall() const noexcept {
  return wall_start_ + (clock.shown_at(now_) - start_) + wall_jumps;
}

bool computer::has(const address& a) const noexcept {
  return addresses.empty() || std::any_of(addresses.begin(), addresses.end(), [&a](address own) {
           if (own.family() != a.family()) return false;
           own.set_port(a.port());
           return own == a;
         });
}

bool computer::speaks(int family) const noexcept {
  return addresses.empty() ||
         std::any_of(addresses.begin(), addresses.end(),
                     [family](const address& a) { return a.family() == family; });
}

address computer::outer(int family) const {
  for (const address& own : addresses)
    if (own.family() == family) return own;
  return address::outer(family);
}

}  // namespace heddle::sim
