// SPDX-License-Identifier: MIT
// Functions of request_head that need more than one field.
#include "heddle/http/request.hh"

namespace heddle::http {

std::string_view request_head::path() const {
  if (form_ == target_form::authority) return {};
  if (path_at_ == 0) return verb_ == method::options && !has_query() ? "*" : "/";
  std::uint32_t end = query_at_ != 0 ? query_at_ - 1 : target_at_ + target_length_;
  return at(path_at_, end - path_at_);
}

std::string_view request_head::query() const {
  if (query_at_ == 0) return {};
  return at(query_at_, target_at_ + target_length_ - query_at_);
}

std::string_view request_head::authority() const {
  if (authority_at_ != 0) return at(authority_at_, authority_length_);
  return value(header_id::host);
}

header request_head::header_at(std::size_t index) const {
  const field& line = fields_[index];
  return {at(line.name_at, line.name_length_and_id & 0xffffffu),
          at(line.value_at, line.value_length), id_at(index)};
}

std::size_t request_head::next(header_id id, std::size_t from) const {
  while (from < count_ && id_at(from) != id) ++from;
  return from;
}

std::size_t request_head::find(std::string_view name) const {
  header_id id = header_id_of(name);
  if (id != header_id::other) return has(id) ? first_[bit(id)] : count_;
  std::size_t index = next(id, 0);
  while (index < count_ && !equal_ignoring_case(header_at(index).name, name)) {
    index = next(id, index + 1);
  }
  return index;
}

std::string_view request_head::value(std::string_view name) const {
  std::size_t index = find(name);
  return index < count_ ? value_at(index) : std::string_view{};
}

bool request_head::has(std::string_view name) const { return find(name) < count_; }

}  // namespace heddle::http
