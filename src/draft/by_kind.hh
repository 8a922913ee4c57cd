// SPDX-License-Identifier: MIT
// Nodes of trees and flows. A node has the fields that all kinds share, and one struct a kind has
// the other fields. by_kind() calls the function for the kind that a node has. It does not compile
// if a kind has no function, so a new kind is an error in each pass that does not know it yet.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace heddle::draft {

/// The base of a node: holds one of its kinds.
template <class... Kinds>
struct node_of {
  using kinds = std::variant<Kinds...>;
  kinds how;

  /// Whether the node is of one of these kinds.
  template <class... T>
  [[nodiscard]] bool is() const noexcept {
    return (std::holds_alternative<T>(how) || ...);
  }
  /// The fields of kind T, or null if the node is of another kind.
  template <class T>
  [[nodiscard]] const T* get() const noexcept {
    return std::get_if<T>(&how);
  }
  template <class T>
  [[nodiscard]] T* get() noexcept {
    return std::get_if<T>(&how);
  }
  /// The fields of kind T, which the node is of.
  template <class T>
  [[nodiscard]] const T& as() const {
    return std::get<T>(how);
  }
  template <class T>
  [[nodiscard]] T& as() {
    return std::get<T>(how);
  }
};

/// A part of a node that is a node of the same type. It is copied with the node that it is a part
/// of, and constant if that is.
template <class Node>
class box {
 public:
  template <std::same_as<Node> Part>
  box(Part part) : held_(std::make_unique<Node>(std::move(part))) {}
  box(const box& from) : box(*from) {}
  box(box&&) noexcept = default;
  box& operator=(box from) noexcept {
    held_ = std::move(from.held_);
    return *this;
  }
  ~box() = default;

  [[nodiscard]] const Node& operator*() const noexcept { return *held_; }
  [[nodiscard]] Node& operator*() noexcept { return *held_; }
  [[nodiscard]] const Node* operator->() const noexcept { return held_.get(); }

 private:
  std::unique_ptr<Node> held_;
};

template <class... Functions>
struct overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
overloaded(Functions...) -> overloaded<Functions...>;

template <class Node, class Function, class... Kinds>
std::bool_constant<
    (std::invocable<Function, std::conditional_t<std::is_const_v<Node>, const Kinds, Kinds>&> &&
     ...)>
takes_all(const node_of<Kinds...>&);
/// Each kind of the node has a function that takes it.
template <class Node, class... Functions>
concept covered_by = decltype(takes_all<Node, overloaded<std::remove_cvref_t<Functions>...>>(
    std::declval<Node&>()))::value;

/// Calls the function that takes the kind of the node.
template <class Node, class... Functions>
  requires covered_by<Node, Functions...>
decltype(auto) by_kind(Node& node, Functions&&... functions) {
  return std::visit(overloaded{std::forward<Functions>(functions)...}, node.how);
}

/// For a function that several kinds share: `[](const one_of<a_kind, b_kind> auto& x) {}`.
template <class T, class... Kinds>
concept one_of = (std::same_as<std::remove_const_t<T>, Kinds> || ...);

}  // namespace heddle::draft
