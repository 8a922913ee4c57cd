// SPDX-License-Identifier: MIT
// Values as the objects of heddle/abi.h store them: bytes that are copied. A value that C++ may
// copy as bytes lies there itself, any other one in a counted box, to which the bytes point.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "heddle/abi.h"
#include "heddle/draft/error.hh"

namespace heddle::from_draft {

/// void has no object: std::monostate takes its place.
template <class T>
using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

namespace detail {

/// Thread: any. The copies of a broadcast share a box.
template <class T>
struct box {
  explicit box(T&& x) : value(std::move(x)) {}
  void release() noexcept {
    // acq_rel: the last release must come after all reads by the owners before it
    if (count.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  std::atomic<std::uint32_t> count{1};
  T value;
};

/// How a T lies in an object of heddle/abi.h.
template <class T>
struct cell {
  static constexpr bool is_plain =
      std::is_trivially_copyable_v<T> && std::default_initializable<T> && alignof(T) <= 8;
  using raw = std::conditional_t<is_plain, T, box<T>*>;
  static constexpr std::size_t size = sizeof(raw);
  /// Releases a value that nothing takes.
  static constexpr heddle_drop drop =
      is_plain
          ? nullptr
          : heddle_drop([](heddle_worker*, void* at) { (*static_cast<box<T>**>(at))->release(); });
  /// Makes a second value of the bytes at `at`.
  static constexpr void (*copy)(void*) =
      is_plain ? nullptr : static_cast<void (*)(void*)>([](void* at) {
        (*static_cast<box<T>**>(at))->count.fetch_add(1, std::memory_order_relaxed);
      });

  [[nodiscard]] static raw put(T value) {
    if constexpr (is_plain)
      return value;
    else
      return new box<T>(std::move(value));
  }
  /// The value; the cell is empty afterwards.
  [[nodiscard]] static T take(raw& from) {
    if constexpr (is_plain) {
      return from;
    } else {
      struct ending {
        box<T>* of;
        ~ending() { of->release(); }
      } held{from};
      if constexpr (std::copy_constructible<T>)
        // acquire: pairs with the release of the other owners' counts
        if (held.of->count.load(std::memory_order_acquire) != 1) return held.of->value;
      return std::move(held.of->value);
    }
  }
};
/// A job without a result.
template <>
struct cell<void> {
  using raw = std::monostate;
  static constexpr std::size_t size = 0;
  static constexpr heddle_drop drop = nullptr;
  static void take(raw&) noexcept {}
};

/// A value on its way into an object: a call takes it, or it ends with this.
template <class T>
class parcel {
 public:
  explicit parcel(T&& value) : raw_(cell<T>::put(std::move(value))) {}
  parcel(parcel&& other) noexcept : raw_(other.raw_), full_(std::exchange(other.full_, false)) {}
  parcel& operator=(parcel&&) = delete;
  ~parcel() {
    if constexpr (cell<T>::drop != nullptr)
      if (full_) cell<T>::drop(nullptr, &raw_);
  }
  [[nodiscard]] void* for_c() noexcept { return &raw_; }
  /// A call has taken the value.
  void sent() noexcept { full_ = false; }
  /// The bytes, for a call that takes them in any case.
  [[nodiscard]] void* give() noexcept {
    full_ = false;
    return &raw_;
  }

 private:
  typename cell<T>::raw raw_;
  bool full_ = true;
};

/// The object's memory is the runtime's, and goes with it.
template <class Object>
void release_handle(void (*release)(heddle_worker*, Object*), Object* x) noexcept {
  if (worker* const w = worker::current()) release(reinterpret_cast<heddle_worker*>(w), x);
}

/// A handle that make(out) has made. Fails: with its error.
template <class Object, class Make>
[[nodiscard]] Object* made(Make&& make) {
  Object* out = nullptr;
  check_status(make(&out));
  return out;
}

/// A handle that heddle/abi.h counts: copies name one object. Null after a move.
template <class Object, void (*Retain)(Object*), void (*Release)(heddle_worker*, Object*)>
class shared_handle {
 public:
  shared_handle() noexcept = default;
  explicit shared_handle(Object* x) noexcept : object_(x) {}
  shared_handle(const shared_handle& other) noexcept : object_(other.object_) { Retain(object_); }
  shared_handle(shared_handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  shared_handle& operator=(shared_handle other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~shared_handle() {
    if (object_ != nullptr) release_handle(Release, object_);
  }
  [[nodiscard]] Object* get() const noexcept { return object_; }
  [[nodiscard]] Object* for_c() const noexcept { return object_; }

 private:
  Object* object_ = nullptr;
};

/// A handle that is owned once, and released by this call.
template <auto Release>
struct release_with {
  template <class Object>
  void operator()(Object* x) const noexcept {
    release_handle(Release, x);
  }
};
template <class Object, auto Release>
using owned_handle = std::unique_ptr<Object, release_with<Release>>;

}  // namespace detail

}  // namespace heddle::from_draft
