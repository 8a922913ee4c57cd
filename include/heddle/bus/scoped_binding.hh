// SPDX-License-Identifier: MIT
// scoped_binding: a handler that is bound as long as an object lives. A part that binds closures
// keeps one for each, and is unbound when it goes, also by an exception.
//
//   class meter {
//     meter(bus& b) : heard_(b, b.bind<packet_in>([this](packet& p) { bytes_ += p.len; })) {}
//     std::size_t bytes_ = 0;
//     scoped_binding heard_;       // last, so that it ends first
//   };
#pragma once

#include <utility>

#include "heddle/bus/bus.hh"

namespace heddle {

/// Thread: the bus's color.
/// Owns: the binding: unbinds it at its end. It ends before the bus does.
class [[nodiscard("the handler is unbound when it goes")]] scoped_binding {
 public:
  scoped_binding() noexcept = default;
  scoped_binding(bus& b, binding bound) noexcept : bus_(&b), bound_(bound) {}
  scoped_binding(scoped_binding&& other) noexcept
      : bus_(std::exchange(other.bus_, nullptr)), bound_(other.bound_) {}
  scoped_binding& operator=(scoped_binding other) noexcept {
    std::swap(bus_, other.bus_);
    std::swap(bound_, other.bound_);
    return *this;
  }
  ~scoped_binding() { unbind(); }

  /// Ends the binding now. A raise in progress no longer runs the handler.
  void unbind() noexcept {
    if (bus* const b = std::exchange(bus_, nullptr)) b->unbind(bound_);
  }
  /// Gives up the binding and returns its name. The handler stays bound from now on.
  [[nodiscard]] binding release() noexcept {
    bus_ = nullptr;
    return bound_;
  }
  /// Whether it names a handler. It does not notice a call of bus::unbind().
  [[nodiscard]] explicit operator bool() const noexcept { return bus_ != nullptr; }

 private:
  bus* bus_ = nullptr;
  binding bound_;
};

}  // namespace heddle
