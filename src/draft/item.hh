// SPDX-License-Identifier: MIT
// The declarations of a file, one type a kind.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "draft/tree.hh"

namespace heddle::draft {

enum class passing : std::uint8_t { borrow, change, take };

struct param {
  passing how = passing::borrow;
  span at{};
  std::string_view name;
  type_expr type;
  expr_ptr fallback;
  variable* var = nullptr;
};

/// The fields that all declarations share.
struct item_head {
  bool is_pub = false;
  span at{};  ///< head of the item, up to the body
  std::string_view name = {};
  span name_at{};
  std::optional<std::string> header = {};  ///< the name in `extern "header.h"`, if it is inside one

  [[nodiscard]] bool is_extern() const noexcept { return header.has_value(); }
};

struct constant_item : item_head {
  type_expr type = {};
  expr_ptr value = {};  ///< null: C has it
};
struct record_field {
  std::string_view name;
  span at{};
  type_expr type;
};
struct record_item : item_head {
  std::vector<record_field> fields = {};
  record* made = nullptr;
};
struct enumerator {
  std::string_view name;
  span at{};
  expr_ptr value;  ///< or null
};
struct enum_item : item_head {
  type_expr type = {};
  std::vector<enumerator> values = {};
  enumeration* made = nullptr;
};
/// The words that a function is declared with.
enum class function_words : std::uint8_t {
  fn,
  apart_fn,
  merged_fn,
  thread,
  main,
  // Only functions of C have these.
  blocking_fn,
  pure_fn,
};
struct function_item : item_head {
  function_words words = function_words::fn;
  std::vector<param> params = {};
  type_expr result = {};
  bool fallible = false;
  span result_at{};
  block body = {};
  function* made = nullptr;

  [[nodiscard]] bool is_apart() const noexcept { return words == function_words::apart_fn; }
  [[nodiscard]] bool is_merged() const noexcept { return words == function_words::merged_fn; }
  [[nodiscard]] bool is_blocking() const noexcept { return words == function_words::blocking_fn; }
};
struct opaque_item : item_head {  ///< a type of C
  std::string_view drop = {};     ///< the function that releases it, or empty
};

struct item : node_of<constant_item, record_item, enum_item, function_item, opaque_item> {
  [[nodiscard]] const item_head& head() const noexcept {
    return std::visit([](const item_head& x) -> const item_head& { return x; }, how);
  }
};

struct use_line {
  span at{};
  std::string path;  ///< a.b
};

/// One file.
struct file_tree {
  const source::source_file* file = nullptr;
  std::string module_name;
  span module_at{};
  std::vector<use_line> uses;
  std::vector<std::unique_ptr<item>> items;
};

/// Indented text, one node a line: `--emit ast`, and `--emit types` when types are there.
[[nodiscard]] std::string print_tree(const file_tree& tree, bool with_types);

}  // namespace heddle::draft
