// SPDX-License-Identifier: MIT
// The states are a small part of those of the HTML standard's tokenizer (WHATWG HTML, 13.2.5): what
// changes how a value must be escaped.
#include "web/page_markup.hh"

#include <algorithm>
#include <utility>

#include "heddle/http/headers.hh"
#include "heddle/http/uri.hh"

namespace heddle::http {
namespace {

constexpr std::size_t tail_bytes = 16;

constexpr std::string_view url_attributes[] = {"action",     "background", "cite", "data",
                                               "formaction", "href",       "icon", "longdesc",
                                               "manifest",   "poster",     "src",  "xlink:href"};
constexpr std::string_view safe_schemes[] = {"http", "https", "mailto", "tel"};

bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}
bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool holds_code(std::string_view tag) noexcept { return tag == "script" || tag == "style"; }
/// Whether a browser takes the value of this attribute for code or for a document.
bool is_code(std::string_view attribute) noexcept {
  return attribute.starts_with("on") || attribute == "style" || attribute == "srcdoc" ||
         attribute == "srcset";
}

/// Whether a URL has no scheme, or one that cannot run code.
bool is_safe_url(std::string_view value) noexcept {
  const std::size_t end = value.find_first_of(":/?#");
  if (end == value.npos || value[end] != ':') return true;
  return std::ranges::any_of(safe_schemes, [&](std::string_view known) {
    return equal_ignoring_case(known, value.substr(0, end));
  });
}

/// Percent-encodes all but unreserved characters (RFC 3986 section 2.3) and slashes: also the colon
/// of a scheme, and the quote that ends an attribute, which append_encoded_path() keeps.
void append_url_part(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (is_letter(c) || (c >= '0' && c <= '9') || std::string_view("-._~/").contains(c)) {
      out += c;
    } else {
      constexpr std::string_view digits = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
}

}  // namespace

void append_escaped_value(std::string& out, std::string_view value, page_escape how) {
  switch (how) {
    case page_escape::none:
      out += value;
      break;
    case page_escape::markup:
      append_html(out, value);
      break;
    case page_escape::whole_url:
      append_html(out, is_safe_url(value) ? value : "#");
      break;
    case page_escape::url_part:
      append_url_part(out, value);
      break;
  }
}

void page_markup::read(std::string_view text) {
  for (const char c : text) step(c);
}

void page_markup::begin_value(char quote) {
  quote_ = quote;
  at_ = quote == 0 ? where::bare : where::quoted;
  in_url_ = std::ranges::find(url_attributes, attribute_) != std::end(url_attributes);
  begins_ = true;
  tail_.clear();
}

void page_markup::end_tag() {
  at_ = holds_code(tag_) ? where::code : where::text;
  if (at_ == where::text) tag_.clear();
  attribute_.clear();
  in_url_ = false;
  quote_ = 0;
  tail_.clear();
}

void page_markup::step(char c) {
  switch (at_) {
    case where::text:
      if (c == '<') {
        at_ = where::opening;
        tag_.clear();
        tail_.clear();
      }
      break;
    case where::opening:
      if (tail_.empty() ? c == '!' : c == '-') {
        if ((tail_ += c) == "!--") at_ = where::comment;
      } else if (tail_.empty() && (is_letter(c) || c == '/' || c == '?')) {
        at_ = where::name;
        tag_ = lower(c);
      } else {  // "<!doctype", or '<' as a character
        at_ = tail_.empty() ? where::text : where::name;
      }
      break;
    case where::name:
      if (c == '>') {
        end_tag();
      } else if (is_blank(c) || (c == '/' && tag_ != "/")) {
        at_ = where::inside;
      } else {
        tag_ += lower(c);
      }
      break;
    case where::inside:
    case where::attribute:
      if (c == '>') {
        end_tag();
      } else if (c == '=' && at_ == where::attribute) {
        at_ = where::equals;
      } else if (is_blank(c) || c == '/') {
        if (at_ == where::attribute && c == '/') at_ = where::inside;
        if (at_ == where::attribute && !attribute_.ends_with(' ')) attribute_ += ' ';
      } else {
        if (at_ == where::inside || attribute_.ends_with(' ')) attribute_.clear();
        at_ = where::attribute;
        attribute_ += lower(c);
      }
      break;
    case where::equals:
      if (is_blank(c)) break;
      if (attribute_.ends_with(' ')) attribute_.pop_back();
      if (c == '>') return end_tag();
      begin_value(c == '"' || c == '\'' ? c : 0);
      break;
    case where::quoted:
      if (c == quote_) {
        at_ = where::inside;
        in_url_ = false;
        quote_ = 0;
      } else {
        begins_ = false;
        if (tail_.size() < tail_bytes && !is_blank(c)) tail_ += lower(c);
      }
      break;
    case where::bare:
      if (c == '>') {
        end_tag();
      } else if (is_blank(c)) {
        at_ = where::inside;
        in_url_ = false;
      }
      break;
    case where::code:
      tail_ += lower(c);
      if (tail_.size() > tail_bytes) tail_.erase(0, 1);
      if (tail_.ends_with("</" + tag_)) {
        at_ = where::name;
        tag_ = "/";
      }
      break;
    case where::comment:
      tail_ += c;
      if (tail_.size() > 3) tail_.erase(0, 1);
      if (tail_ == "-->") {
        at_ = where::text;
        tail_.clear();
      }
      break;
  }
}

bool page_markup::same_point(const page_markup& other) const noexcept {
  const auto between = [](where at) { return at == where::inside || at == where::attribute; };
  if (between(at_) && between(other.at_)) return tag_ == other.tag_;
  return at_ == other.at_ && quote_ == other.quote_ && tag_ == other.tag_ &&
         attribute_ == other.attribute_;
}

page_escape page_markup::place(std::string& why) {
  switch (at_) {
    case where::text:
      return page_escape::markup;
    case where::comment:
      why =
          "is in a comment, which its value could end; write {{! ... }} around what the page "
          "leaves out";
      break;
    case where::code:
      why = "is in a " + tag_ + ", where no escaping is safe; put it into an attribute such as " +
            "data-value=\"...\", or write three braces if its text is code";
      break;
    case where::equals:
    case where::bare:
      why = "is in an attribute without quotes, which a blank in the value would end; write quotes";
      break;
    case where::quoted:
      if (is_code(attribute_) || (in_url_ && tail_.starts_with("javascript:"))) {
        why = "is in the attribute " + attribute_ +
              ", which a browser runs or reads as a list; write three braces if its text is meant "
              "for that";
        break;
      }
      if (!in_url_) return page_escape::markup;
      return std::exchange(begins_, false) ? page_escape::whole_url : page_escape::url_part;
    default:
      why = "is inside a tag; put it into an attribute's value with quotes, or use a section";
      break;
  }
  return page_escape::markup;
}

}  // namespace heddle::http
