// SPDX-License-Identifier: MIT
// A line is read when its end has come; a message's bytes follow its line and are counted.
#include "nats/wire.hh"

#include <algorithm>
#include <array>
#include <charconv>

#include "heddle/base/error.hh"

namespace heddle::nats {
namespace {

constexpr std::string_view fields_begin = "NATS/1.0";
constexpr std::string_view line_end = "\r\n";

bool is_word(std::string_view word, bool is_last, bool pattern) noexcept {
  if (word.empty()) return false;
  if (word == "*") return pattern;
  if (word == ">") return pattern && is_last;
  return std::ranges::all_of(word, [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != 0x7f && c != '*' && c != '>';
  });
}

bool are_words(std::string_view text, bool pattern) noexcept {
  for (;;) {
    const std::size_t dot = text.find('.');
    if (!is_word(text.substr(0, dot), dot == text.npos, pattern)) return false;
    if (dot == text.npos) return true;
    text.remove_prefix(dot + 1);
  }
}

[[noreturn]] void malformed(const std::string& why) {
  throw failure(std::make_error_code(std::errc::bad_message),
                "what the server sent is no NATS: " + why);
}

bool is_named(std::string_view line, std::string_view name) noexcept {
  return line.size() == name.size() && std::ranges::equal(line, name, [](char a, char b) {
           return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 'a' + 'A') : a) == b;
         });
}

bool is_space(char c) noexcept { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

template <class Number>
Number number_of(std::string_view text, const char* of_what) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    malformed(std::string("the number of ") + of_what + " is none");
  return value;
}

/// Reads the lines between "NATS/1.0" and the body.
void read_fields(std::string_view text, message& into) {
  if (!text.starts_with(fields_begin) || !text.ends_with("\r\n\r\n"))
    malformed("fields do not begin with NATS/1.0, or do not end");
  text.remove_prefix(fields_begin.size());
  text.remove_suffix(line_end.size());
  const std::string_view first = trimmed(text.substr(0, text.find(line_end)));
  if (!first.empty()) {
    const std::size_t space = std::min(first.find(' '), first.size());
    into.status = number_of<int>(first.substr(0, space), "a status");
    if (into.status < 1 || into.status > 999) malformed("a status is not between 1 and 999");
    into.status_text = trimmed(first.substr(space));
  }
  text.remove_prefix(text.find(line_end) + line_end.size());
  while (!text.empty()) {
    const std::string_view each = text.substr(0, text.find(line_end));
    const std::size_t colon = each.find(':');
    if (colon == each.npos || colon == 0) malformed("a field has no name");
    into.fields.push_back(
        {std::string(each.substr(0, colon)), std::string(trimmed(each.substr(colon + 1)))});
    text.remove_prefix(each.size() + line_end.size());
  }
}

std::size_t fields_size(const std::vector<field>& fields) {
  if (fields.empty()) return 0;
  std::size_t size = fields_begin.size() + 2 * line_end.size();
  for (const field& each : fields)
    size += each.name.size() + each.value.size() + 2 + line_end.size();
  return size;
}

}  // namespace

bool is_subject(std::string_view text) noexcept { return are_words(text, false); }
bool is_subject_pattern(std::string_view text) noexcept { return are_words(text, true); }

namespace detail {

void wire_reader::drop_used() {
  // Large messages move only once each, because nothing is dropped while one is incomplete.
  if (at_ == buffer_.size()) {
    buffer_.clear();
    at_ = searched_ = 0;
  } else if (at_ >= 4096 && at_ >= buffer_.size() / 2) {
    buffer_.erase(0, at_);
    searched_ -= at_;
    at_ = 0;
  }
}

std::optional<std::string_view> wire_reader::line() {
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  const bool is_info = rest.size() >= 5 && is_named(rest.substr(0, 4), "INFO");
  const std::size_t most = is_info ? bounds_.info_max : bounds_.control_line_max;
  // The end may lie over two pieces that were fed, so the search begins one byte early.
  const std::size_t from = searched_ > at_ ? searched_ - at_ - 1 : 0;
  const std::size_t size = rest.find(line_end, from);
  // Without its end, a line's last byte may be the first of the end.
  if (size == rest.npos ? rest.size() > most + 1 : size > most) malformed("a line is too long");
  searched_ = buffer_.size();
  if (size == rest.npos) return std::nullopt;
  at_ += size + line_end.size();
  searched_ = at_;
  return rest.substr(0, size);
}

void wire_reader::begin_message(std::string_view arguments, bool has_fields) {
  std::array<std::string_view, 5> words;
  std::size_t count = 0;
  for (arguments = trimmed(arguments); !arguments.empty();) {
    const std::size_t size = std::min(arguments.find_first_of(" \t"), arguments.size());
    if (count == words.size()) malformed("a message's line has too many words");
    words[count++] = arguments.substr(0, size);
    arguments = trimmed(arguments.substr(size));
  }
  const std::size_t least = has_fields ? 4 : 3;
  if (count != least && count != least + 1) malformed("a message's line has too few words");
  begun_ = {.what = wire_item::kind::message};
  begun_.content.subject = words[0];
  begun_.subscription = number_of<std::uint64_t>(words[1], "a subscription");
  if (count == least + 1) begun_.content.reply = words[2];
  total_size_ = number_of<std::size_t>(words[count - 1], "bytes");
  fields_size_ = has_fields ? number_of<std::size_t>(words[count - 2], "bytes of fields") : 0;
  if (fields_size_ > total_size_) malformed("a message has more bytes of fields than bytes");
  if (total_size_ > bounds_.payload_max)
    malformed("a message has " + std::to_string(total_size_) + " bytes; payload_max allows " +
              std::to_string(bounds_.payload_max));
  inside_message_ = true;
}

std::optional<wire_item> wire_reader::end_message() {
  if (buffer_.size() - at_ < total_size_ + line_end.size()) return std::nullopt;
  const std::string_view all = std::string_view(buffer_).substr(at_, total_size_);
  if (std::string_view(buffer_).substr(at_ + total_size_, line_end.size()) != line_end)
    malformed("a message is longer than its line says");
  if (fields_size_ != 0) read_fields(all.substr(0, fields_size_), begun_.content);
  begun_.content.body = all.substr(fields_size_);
  at_ += total_size_ + line_end.size();
  searched_ = at_;
  inside_message_ = false;
  return std::move(begun_);
}

std::optional<wire_item> wire_reader::next() {
  drop_used();
  if (!inside_message_) {
    const auto read = line();
    if (!read) return std::nullopt;
    const std::size_t size = std::min(read->find_first_of(" \t"), read->size());
    const std::string_view name = read->substr(0, size);
    const std::string_view rest = trimmed(read->substr(size));
    using enum wire_item::kind;
    if (is_named(name, "MSG") || is_named(name, "HMSG")) {
      begin_message(rest, name.size() == 4);
    } else if (is_named(name, "PING")) {
      return wire_item{.what = ping};
    } else if (is_named(name, "PONG")) {
      return wire_item{.what = pong};
    } else if (is_named(name, "+OK")) {
      return wire_item{.what = ok};
    } else if (is_named(name, "-ERR")) {
      return wire_item{.what = error, .text = std::string(rest)};
    } else if (is_named(name, "INFO")) {
      return wire_item{.what = info, .text = std::string(rest)};
    } else {
      malformed("a line begins with no known word");
    }
  }
  return end_message();
}

std::size_t payload_size(const std::vector<field>& fields, std::string_view body) {
  return fields_size(fields) + body.size();
}

void append_publish(std::string& out, std::string_view subject, std::string_view reply,
                    const std::vector<field>& fields, std::string_view body) {
  const std::size_t of_fields = fields_size(fields);
  out.append(of_fields != 0 ? "HPUB " : "PUB ").append(subject).append(" ");
  if (!reply.empty()) out.append(reply).append(" ");
  if (of_fields != 0) out.append(std::to_string(of_fields)).append(" ");
  out.append(std::to_string(of_fields + body.size())).append(line_end);
  if (of_fields != 0) {
    out.append(fields_begin).append(line_end);
    for (const field& each : fields)
      out.append(each.name).append(": ").append(each.value).append(line_end);
    out.append(line_end);
  }
  out.append(body).append(line_end);
}

void append_subscribe(std::string& out, std::string_view pattern, std::string_view group,
                      std::uint64_t number) {
  out.append("SUB ").append(pattern).append(" ");
  if (!group.empty()) out.append(group).append(" ");
  out.append(std::to_string(number)).append(line_end);
}

void append_unsubscribe(std::string& out, std::uint64_t number) {
  out.append("UNSUB ").append(std::to_string(number)).append(line_end);
}

void check_fields(const std::vector<field>& fields) {
  for (const field& each : fields) {
    const bool named = !each.name.empty() && std::ranges::all_of(each.name, [](char c) {
      return c > ' ' && c < 0x7f && c != ':';
    });
    if (!named || each.value.find_first_of(std::string_view("\r\n\0", 3)) != each.value.npos)
      throw failure(std::make_error_code(std::errc::invalid_argument),
                    "a field of a message must have a name of printable characters without ':' "
                    "and a value of one line: \"" +
                        each.name + '"');
  }
}

}  // namespace detail
}  // namespace heddle::nats
