// SPDX-License-Identifier: MIT
// Preconditions in the order of RFC 9110 section 13.2.2. If a tag was sent, the date that came with
// it is ignored; a date that cannot be parsed is ignored too.
#include "heddle/http/conditional.hh"

#include "heddle/http/date.hh"
#include "heddle/http/etag.hh"

namespace heddle::http {
namespace {

// Whether any line of this name lists the tag; all the lines form one list.
bool listed(const request_head& head, header_id id, const validators& current,
            etag_comparison how) {
  if (!current.exists) return false;
  for (std::size_t i = head.next(id, 0); i < head.header_count(); i = head.next(id, i + 1)) {
    if (etag_listed(head.header_at(i).value, current.etag, how)) return true;
  }
  return false;
}

// Empty if the request has no valid date, or if there is nothing to compare it with.
std::optional<bool> modified_since(const request_head& head, header_id id,
                                   const validators& current, std::int64_t now) {
  if (!head.has(id) || head.repeated(id) || !current.last_modified) return std::nullopt;
  std::optional<std::int64_t> date = parse_date(head.value(id), now);
  if (!date) return std::nullopt;
  return *current.last_modified > *date;
}

bool range_allowed(const request_head& head, const validators& current, std::int64_t now) {
  if (!head.has(header_id::range) || head.repeated(header_id::range)) return false;
  if (!head.has(header_id::if_range)) return true;
  if (head.repeated(header_id::if_range) || !current.exists) return false;
  std::string_view value = head.value(header_id::if_range);
  entity_tag theirs;
  std::string_view rest = value;
  if (take_entity_tag(rest, theirs)) {
    return rest.empty() && !theirs.weak && theirs.opaque == current.etag;
  }
  std::optional<std::int64_t> date = parse_date(value, now);
  // A file may change twice within one second without a new date, so a date of this second is weak.
  return date && current.last_modified && *date == *current.last_modified &&
         *current.last_modified + 1 < now;
}

}  // namespace

condition_result evaluate(const request_head& head, const validators& current, std::int64_t now) {
  // RFC 9110 section 13.2.1: these methods select no representation, so there is nothing to
  // compare.
  if (head.verb() == method::connect || head.verb() == method::options ||
      head.verb() == method::trace) {
    return {};
  }
  bool reading = head.verb() == method::get || head.verb() == method::head;
  if (head.has(header_id::if_match)) {
    if (!listed(head, header_id::if_match, current, etag_comparison::strong)) {
      return {condition::precondition_failed};
    }
  } else if (modified_since(head, header_id::if_unmodified_since, current, now).value_or(false)) {
    return {condition::precondition_failed};
  }
  if (head.has(header_id::if_none_match)) {
    if (listed(head, header_id::if_none_match, current, etag_comparison::weak)) {
      return {reading ? condition::not_modified : condition::precondition_failed};
    }
  } else if (reading &&
             !modified_since(head, header_id::if_modified_since, current, now).value_or(true)) {
    return {condition::not_modified};
  }
  return {condition::proceed, head.verb() == method::get && range_allowed(head, current, now)};
}

}  // namespace heddle::http
