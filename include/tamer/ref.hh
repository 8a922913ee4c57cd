// SPDX-License-Identifier: MIT
// Lifetimes of tamer. ref_ptr keeps an object that derives from enable_ref_ptr, passive_ref_ptr
// sees whether it still lives; a ref_monitor sees the same of any object that has a `ref`. Counted
// without atomics: one thread.
#pragma once

#include <cstddef>
#include <utility>

#include "heddle/base/list.hh"

namespace tamer {

template <class T>
class ref_ptr;
template <class T>
class passive_ref_ptr;

/// A base or a member of an object whose end ref_monitors see.
class ref {
 public:
  ref() noexcept = default;
  ref(const ref&) = delete;
  ref& operator=(const ref&) = delete;
  ~ref() {
    while (monitors_.pop_front() != nullptr) {
    }
  }

 private:
  friend class ref_monitor;
  heddle::list<heddle::list_node> monitors_;
};

/// Sees the end of an object: tests false when the object has gone.
class ref_monitor : heddle::list_node {
 public:
  explicit ref_monitor(ref& watched) { watched.monitors_.push_back(*this); }
  ref_monitor(const ref_monitor&) = delete;
  ref_monitor& operator=(const ref_monitor&) = delete;
  ~ref_monitor() = default;

  [[nodiscard]] bool empty() const noexcept { return !linked(); }
  [[nodiscard]] explicit operator bool() const noexcept { return linked(); }
  [[nodiscard]] bool operator!() const noexcept { return !linked(); }
};

/// The base of reference-counted objects.
class enable_ref_ptr {
 public:
  enable_ref_ptr() noexcept = default;
  enable_ref_ptr(const enable_ref_ptr&) noexcept {}
  enable_ref_ptr& operator=(const enable_ref_ptr&) noexcept { return *this; }
  virtual ~enable_ref_ptr() {
    if (watch_ != nullptr) watch_->alive = false;
    if (watch_ != nullptr && watch_->observers == 0) delete watch_;
  }
  /// Called when the last ref_ptr goes, before the object is deleted.
  virtual void full_release() {}

 private:
  template <class>
  friend class ref_ptr;
  template <class>
  friend class passive_ref_ptr;
  struct watch {
    std::size_t observers = 0;
    bool alive = true;
  };
  std::size_t references_ = 0;
  watch* watch_ = nullptr;
};

/// As enable_ref_ptr, which calls T::full_release() when the last ref_ptr goes.
template <class T>
class enable_ref_ptr_with_full_release : public enable_ref_ptr {};

template <class T>
class ref_ptr {
 public:
  ref_ptr() noexcept = default;
  explicit ref_ptr(T* object) noexcept : object_(object) { use(); }
  ref_ptr(const ref_ptr& other) noexcept : object_(other.object_) { use(); }
  template <class U>
  ref_ptr(const ref_ptr<U>& other) noexcept : object_(other.get()) {
    use();
  }
  ref_ptr(ref_ptr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ref_ptr& operator=(ref_ptr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~ref_ptr() { drop(); }

  [[nodiscard]] T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const ref_ptr& a, const ref_ptr& b) noexcept {
    return a.object_ == b.object_;
  }

 private:
  void use() noexcept {
    if (object_ != nullptr) ++static_cast<enable_ref_ptr*>(object_)->references_;
  }
  void drop() {
    if (object_ == nullptr) return;
    enable_ref_ptr* const base = std::exchange(object_, nullptr);
    if (--base->references_ != 0) return;
    base->full_release();
    delete base;
  }
  T* object_ = nullptr;
};

template <class T>
class passive_ref_ptr {
 public:
  passive_ref_ptr() noexcept = default;
  explicit passive_ref_ptr(T* object) : object_(object) { look(); }
  passive_ref_ptr(const ref_ptr<T>& other) : passive_ref_ptr(other.get()) {}
  passive_ref_ptr(const passive_ref_ptr& other) noexcept
      : object_(other.object_), watch_(other.watch_) {
    if (watch_ != nullptr) ++watch_->observers;
  }
  passive_ref_ptr(passive_ref_ptr&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)),
        watch_(std::exchange(other.watch_, nullptr)) {}
  passive_ref_ptr& operator=(passive_ref_ptr other) noexcept {
    std::swap(object_, other.object_);
    std::swap(watch_, other.watch_);
    return *this;
  }
  ~passive_ref_ptr() {
    if (watch_ != nullptr && --watch_->observers == 0 && !watch_->alive) delete watch_;
  }

  /// The object, or null when it is gone.
  [[nodiscard]] T* get() const noexcept {
    return watch_ != nullptr && watch_->alive ? object_ : nullptr;
  }
  T* operator->() const noexcept { return get(); }
  T& operator*() const noexcept { return *get(); }
  explicit operator bool() const noexcept { return get() != nullptr; }

 private:
  void look() {
    if (object_ == nullptr) return;
    enable_ref_ptr& base = *object_;
    if (base.watch_ == nullptr) base.watch_ = new enable_ref_ptr::watch;
    watch_ = base.watch_;
    ++watch_->observers;
  }
  T* object_ = nullptr;
  enable_ref_ptr::watch* watch_ = nullptr;
};

}  // namespace tamer
