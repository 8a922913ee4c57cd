// SPDX-License-Identifier: MIT
// Builds values of pages, and reads them from JSON.
#include "heddle/web/page_value.hh"

#include <algorithm>

#include "heddle/base/error.hh"
#include "heddle/http/detail/json.hh"

namespace heddle::http {
namespace {

page_value value_of(const detail::json& from) {
  using kind = detail::json::kind;
  switch (from.what()) {
    case kind::null:
      break;
    case kind::boolean:
      return page_value(from.truth());
    case kind::number:
      return page_value(from.number_text());
    case kind::text:
      return page_value(from.text());
    case kind::list: {
      page_value made = page_value::list();
      for (const detail::json& each : from.items()) made.add(value_of(each));
      return made;
    }
    case kind::object: {
      page_value made = page_value::record();
      for (std::size_t i = 0; i != from.names().size(); ++i)
        made.set(from.names()[i], value_of(from.items()[i]));
      return made;
    }
  }
  return {};
}

}  // namespace

page_value page_value::of_json(std::string_view text) {
  return value_of(detail::json::parse(text));
}

page_value& page_value::add(page_value item) {
  HEDDLE_ASSERT(kind_ == kind::nothing || kind_ == kind::list,
                "only a list takes further values; begin with page_value::list()");
  kind_ = kind::list;
  items_.push_back(std::move(item));
  return *this;
}

page_value& page_value::set(std::string name, page_value value) {
  HEDDLE_ASSERT(kind_ == kind::nothing || kind_ == kind::record,
                "only a record takes named values; begin with page_value()");
  kind_ = kind::record;
  const auto at = std::ranges::find(names_, name);
  if (at != names_.end()) {
    items_[static_cast<std::size_t>(at - names_.begin())] = std::move(value);
  } else {
    names_.push_back(std::move(name));
    items_.push_back(std::move(value));
  }
  return *this;
}

const page_value* page_value::find(std::string_view name) const noexcept {
  const auto at = std::ranges::find(names_, name);
  return at == names_.end() ? nullptr : &items_[static_cast<std::size_t>(at - names_.begin())];
}

}  // namespace heddle::http
