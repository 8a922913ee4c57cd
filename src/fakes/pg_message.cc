// SPDX-License-Identifier: MIT
// Reading and writing messages of PostgreSQL's protocol; see pg_message.hh.
#include "fakes/pg_message.hh"

#include <algorithm>

#include "fakes/pg_error.hh"

namespace heddle::fakes::detail {
namespace {

constexpr std::uint32_t startup_bytes_max = 10'000;  // as PostgreSQL has it

[[noreturn]] void violated(const std::string& why) {
  throw pg_error(sqlstate::protocol_violation, why);
}

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i != count; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::vector<std::uint32_t> read_formats(pg_body& in) {
  const std::uint32_t count = in.number(2);
  std::vector<std::uint32_t> formats;
  for (std::uint32_t i = 0; i != count; ++i) {
    formats.push_back(in.number(2));
    if (formats.back() > 1)
      violated("format codes are 0 and 1, not " + std::to_string(formats.back()));
  }
  return formats;
}

}  // namespace

void pg_reader::feed(std::string_view bytes) {
  bytes_.erase(0, at_);
  at_ = 0;
  bytes_ += bytes;
}

std::optional<pg_message> pg_reader::cut(std::size_t head, std::uint32_t bytes_max) {
  if (unread() < head + 4) return std::nullopt;
  const std::uint32_t length = number_at(bytes_, at_ + head, 4);
  if (length < 4) violated("the length of a message is " + std::to_string(length));
  if (length > bytes_max)
    violated(
        "a message of " + std::to_string(length) + " bytes is longer than the " +
        std::to_string(bytes_max) + " that " +
        (head == 0 ? "a startup message may have" : "postgres_options::message_bytes_max allows"));
  if (unread() < head + length) return std::nullopt;
  pg_message made;
  if (head != 0) made.type = bytes_[at_];
  made.body = bytes_.substr(at_ + head + 4, length - 4);
  at_ += head + length;
  return made;
}

std::optional<pg_message> pg_reader::next_startup() { return cut(0, startup_bytes_max); }
std::optional<pg_message> pg_reader::next() { return cut(1, bytes_max_); }

std::uint32_t pg_body::number(std::size_t bytes) {
  const std::string_view part = this->bytes(bytes);
  return number_at(part, 0, bytes);
}

std::string_view pg_body::bytes(std::size_t count) {
  if (rest_.size() < count) violated("a message is shorter than its fields");
  const std::string_view part = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return part;
}

std::string pg_body::text() {
  const std::size_t end = rest_.find('\0');
  if (end == rest_.npos) violated("a text in a message has no end");
  std::string made(rest_.substr(0, end));
  rest_.remove_prefix(end + 1);
  return made;
}

void pg_body::end() const {
  if (!rest_.empty()) violated("a message is longer than its fields");
}

pg_parse read_parse(std::string_view body) {
  pg_body in(body);
  pg_parse made;
  made.name = in.text();
  made.query = in.text();
  const std::uint32_t count = in.number(2);
  for (std::uint32_t i = 0; i != count; ++i) made.types.push_back(in.number(4));
  in.end();
  return made;
}

pg_bind read_bind(std::string_view body) {
  pg_body in(body);
  pg_bind made;
  made.portal = in.text();
  made.statement = in.text();
  made.formats = read_formats(in);
  const std::uint32_t count = in.number(2);
  for (std::uint32_t i = 0; i != count; ++i) {
    const std::uint32_t length = in.number(4);
    if (length == 0xffffffff) {
      made.values.emplace_back();
    } else {
      made.values.emplace_back(std::string(in.bytes(length)));
    }
  }
  made.result_formats = read_formats(in);
  in.end();
  if (made.formats.size() > 1 && made.formats.size() != made.values.size())
    violated("Bind has " + std::to_string(made.formats.size()) + " format codes for " +
             std::to_string(made.values.size()) + " values");
  return made;
}

pg_startup read_startup(std::string_view body) {
  pg_body in(body);
  pg_startup made;
  made.version = in.number(4);
  if (made.version >> 16 != 3) return made;  // whose fields are other ones
  for (;;) {
    const std::string name = in.text();
    if (name.empty()) break;
    made.parameters[name] = in.text();
  }
  in.end();
  return made;
}

void put_number(std::string& out, std::uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift & 0xff);
}

void put_message(std::string& out, char type, std::string_view body) {
  out += type;
  put_number(out, static_cast<std::uint32_t>(body.size() + 4), 4);
  out += body;
}

void put_text_message(std::string& out, char type, std::string_view text) {
  std::string body(text);
  body += '\0';
  put_message(out, type, body);
}

void put_parameter(std::string& out, std::string_view name, std::string_view value) {
  std::string body(name);
  body += '\0';
  body += value;
  body += '\0';
  put_message(out, 'S', body);
}

void put_report(std::string& out, char type, const char* severity, const char* sqlstate,
                std::string_view text) {
  std::string body;
  const auto field = [&](char letter, std::string_view value) {
    body += letter;
    body += value;
    body += '\0';
  };
  std::string plain(text);
  std::ranges::replace(plain, '\0', '?');  // a zero would end the field
  field('S', severity);
  field('V', severity);
  field('C', sqlstate);
  field('M', plain);
  body += '\0';
  put_message(out, type, body);
}

void put_row_description(std::string& out, const std::vector<pg_column>& columns,
                         const std::vector<std::uint32_t>& formats) {
  std::string body;
  put_number(body, static_cast<std::uint32_t>(columns.size()), 2);
  for (std::size_t i = 0; i != columns.size(); ++i) {
    const pg_column& c = columns[i];
    body += c.name;
    body += '\0';
    put_number(body, 0, 4);  // no table
    put_number(body, 0, 2);
    put_number(body, c.type, 4);
    const std::uint32_t size = c.type == pg_bool   ? 1
                               : c.type == pg_int4 ? 4
                               : c.type == pg_int8 ? 8
                                                   : 0xffff;
    put_number(body, size, 2);
    put_number(body, 0xffffffff, 4);  // no modifier
    const std::uint32_t format = formats.empty()       ? 0
                                 : formats.size() == 1 ? formats[0]
                                                       : formats[i];
    put_number(body, format, 2);
  }
  put_message(out, 'T', body);
}

void put_row(std::string& out, const std::vector<pg_value>& row) {
  std::string body;
  put_number(body, static_cast<std::uint32_t>(row.size()), 2);
  for (const pg_value& v : row) {
    put_number(body, v ? static_cast<std::uint32_t>(v->size()) : 0xffffffff, 4);
    if (v) body += *v;
  }
  put_message(out, 'D', body);
}

}  // namespace heddle::fakes::detail
