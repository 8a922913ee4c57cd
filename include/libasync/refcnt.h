/* SPDX-License-Identifier: MIT
 * libasync's counted pointers: ptr<T> may be null, ref<T> may not. An object is made by
 * `New refcounted<T>(...)`; the count lies in the object. Thread: one color, because the count is
 * not atomic.
 */
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#define New new
#define vNew (void)new

/// The base of objects that are counted.
class refcount {
 public:
  refcount() noexcept = default;
  refcount(const refcount&) noexcept {}
  refcount& operator=(const refcount&) noexcept { return *this; }
  virtual ~refcount() = default;

  void refcount_inc() noexcept { ++count_; }
  void refcount_dec() noexcept {
    if (--count_ == 0) delete this;
  }
  [[nodiscard]] unsigned refcount_getcnt() const noexcept { return count_; }

 private:
  unsigned count_ = 0;
};

namespace heddle::libasync {

/// A value of a type that is no class, as the base of refcounted<T>.
template <class T>
class counted_value {
 public:
  template <class... Args>
  explicit counted_value(Args&&... args) : value_(std::forward<Args>(args)...) {}
  [[nodiscard]] T* counted_address() noexcept { return &value_; }

 private:
  T value_;
};
template <class T>
using counted_base = std::conditional_t<std::is_class_v<T>, T, counted_value<T>>;

}  // namespace heddle::libasync

/// A T with a count.
template <class T>
class refcounted : public virtual refcount, public heddle::libasync::counted_base<T> {
 public:
  template <class... Args>
  explicit refcounted(Args&&... args)
      : heddle::libasync::counted_base<T>(std::forward<Args>(args)...) {}
  [[nodiscard]] T* address() noexcept {
    if constexpr (std::is_class_v<T>) {
      return this;
    } else {
      return this->counted_address();
    }
  }
};

template <class T>
class ptr {
 public:
  ptr() noexcept = default;
  ptr(std::nullptr_t) noexcept {}
  ptr(const ptr& other) noexcept : ptr(other.to_, other.count_) {}
  ptr(ptr&& other) noexcept
      : to_(std::exchange(other.to_, nullptr)), count_(std::exchange(other.count_, nullptr)) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  ptr(const ptr<U>& other) noexcept : ptr(other.get(), other.count()) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  ptr(refcounted<U>* made) noexcept : ptr(made == nullptr ? nullptr : made->address(), made) {}
  /// For an object whose class derives from refcount.
  ptr(T* object, refcount* count) noexcept : to_(object), count_(count) {
    if (count_ != nullptr) count_->refcount_inc();
  }
  ptr& operator=(ptr other) noexcept {
    std::swap(to_, other.to_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~ptr() {
    if (count_ != nullptr) count_->refcount_dec();
  }

  [[nodiscard]] T* get() const noexcept { return to_; }
  [[nodiscard]] refcount* count() const noexcept { return count_; }
  T* operator->() const noexcept { return to_; }
  T& operator*() const noexcept { return *to_; }
  operator T*() const noexcept { return to_; }

 private:
  T* to_ = nullptr;
  refcount* count_ = nullptr;
};

/// A ptr that always points to an object.
template <class T>
class ref : public ptr<T> {
 public:
  using ptr<T>::ptr;
  ref() = delete;
  ref(std::nullptr_t) = delete;
  ref(const ptr<T>& other) noexcept : ptr<T>(other) {}
};

/// A pointer to an object whose class derives from refcount, for `mkref(this)`.
template <class T>
  requires std::is_base_of_v<refcount, T>
[[nodiscard]] ref<T> mkref(T* object) noexcept {
  return ref<T>(ptr<T>(object, object));
}
