// SPDX-License-Identifier: MIT
// Printing diagnostics: the line, a caret under the place, second places, the hint.
#include "source/diagnostic.hh"

#include <algorithm>
#include <cstdio>

namespace heddle::source {
namespace {

constexpr const char* bold = "\033[1m";
constexpr const char* red = "\033[1;31m";
constexpr const char* yellow = "\033[1;33m";
constexpr const char* blue = "\033[1;34m";
constexpr const char* green = "\033[1;32m";
constexpr const char* plain = "\033[0m";

const char* name_of(severity s) noexcept {
  switch (s) {
    case severity::error:
      return "error";
    case severity::warning:
      return "warning";
    case severity::note:
      break;
  }
  return "note";
}

const char* color_of(severity s) noexcept {
  return s == severity::error ? red : s == severity::warning ? yellow : blue;
}

std::string place(span at) {
  const position p = at.file->position_of(at.begin);
  return at.file->path() + ":" + std::to_string(p.line) + ":" + std::to_string(p.column);
}

/// A line longer than a screen is cut around the place.
constexpr std::size_t shown_max = 160;

/// Appends a text with '?' for each control byte, which could move the cursor of a terminal.
void append_visible(std::string& out, std::string_view text) {
  for (const char c : text)
    out += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? '?' : c == '\x7f' ? '?' : c;
}

void append_line(std::string& out, span at, bool colors, const char* color) {
  const source_file& file = *at.file;
  const std::uint32_t line = file.line_of(at.begin);
  const std::string_view text = file.line_text(line);
  const std::uint32_t start = file.offset_of({line, 1});
  std::size_t from = std::min<std::size_t>(at.begin - start, text.size());
  std::size_t to = std::clamp<std::size_t>(at.end > start ? at.end - start : 0, from, text.size());
  std::size_t first = 0;
  if (text.size() > shown_max && from > shown_max / 2) {
    first = from - shown_max / 2;
    while (first < from && (static_cast<unsigned char>(text[first]) & 0xc0) == 0x80) ++first;
  }
  const std::string_view shown = text.substr(first, shown_max);
  to = std::min(to, first + shown.size());

  char margin[16];
  std::snprintf(margin, sizeof margin, "%5u", line);
  if (colors) out += blue;
  out += margin;
  out += " | ";
  if (colors) out += plain;
  append_visible(out, shown);
  out += '\n';
  if (colors) out += blue;
  out += "      | ";
  if (colors) out += color;
  for (std::size_t i = first; i < from; i += utf8_len(text, i)) out += text[i] == '\t' ? '\t' : ' ';
  out += '^';
  if (from < to)
    for (std::size_t i = from + utf8_len(text, from); i < to; i += utf8_len(text, i)) out += '~';
  if (colors) out += plain;
  out += '\n';
}

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t len = utf8_len(text, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else if (c >= 0x80 && len == 1) {
      out += "\\ufffd";  // no UTF-8
    } else {
      out += text.substr(i, len);
    }
    i += len;
  }
  out += '"';
}

void append_json_place(std::string& out, span at) {
  if (!at) {
    out += "\"file\":null";
    return;
  }
  const position from = at.file->position_of(at.begin);
  const position to = at.file->position_of(at.end);
  out += "\"file\":";
  append_json_text(out, at.file->path());
  out += ",\"line\":" + std::to_string(from.line) + ",\"column\":" + std::to_string(from.column) +
         ",\"end_line\":" + std::to_string(to.line) +
         ",\"end_column\":" + std::to_string(to.column);
}

}  // namespace

diagnostic& diagnostics::add(diagnostic d) {
  if (d.level == severity::error) ++errors_;
  if (all_.size() >= kept_max) {
    spare_ = std::move(d);
    return spare_;
  }
  all_.push_back(std::move(d));
  return all_.back();
}

diagnostic& diagnostics::error(std::string code, span at, std::string message) {
  return add({std::move(code), severity::error, at, std::move(message)});
}

diagnostic& diagnostics::warning(std::string code, span at, std::string message) {
  return add({std::move(code), severity::warning, at, std::move(message)});
}

void diagnostics::sort() {
  // An insertion sort: it is stable, and there are at most kept_max of them, nearly in order.
  const auto before = [](const diagnostic& a, const diagnostic& b) {
    if (a.at.file == b.at.file) return a.at.begin < b.at.begin;
    if (a.at.file == nullptr || b.at.file == nullptr) return a.at.file == nullptr;
    return a.at.file->path() < b.at.file->path();
  };
  for (std::size_t i = 1; i < all_.size(); ++i)
    for (std::size_t j = i; j != 0 && before(all_[j], all_[j - 1]); --j)
      std::swap(all_[j], all_[j - 1]);
}

std::string to_text(const diagnostic& d, bool colors) {
  std::string out;
  if (colors) out += bold;
  if (d.at) out += place(d.at) + ": ";
  if (colors) out += color_of(d.level);
  out += name_of(d.level);
  if (!d.code.empty()) out += "[" + d.code + "]";
  out += ": ";
  if (colors) (out += plain) += bold;
  append_visible(out, d.message);
  if (colors) out += plain;
  out += '\n';
  if (d.at) append_line(out, d.at, colors, color_of(d.level));
  for (const note& n : d.notes) {
    out += "  ";
    if (n.at) out += place(n.at) + ": ";
    if (colors) out += blue;
    out += "note: ";
    if (colors) out += plain;
    append_visible(out, n.message);
    out += '\n';
    if (n.at) append_line(out, n.at, colors, blue);
  }
  if (!d.hint.empty()) {
    out += "  ";
    if (colors) out += green;
    out += "hint: ";
    if (colors) out += plain;
    append_visible(out, d.hint);
    out += '\n';
  }
  return out;
}

std::string to_json(const diagnostic& d) {
  std::string out = "{\"severity\":\"";
  out += name_of(d.level);
  out += "\",\"code\":";
  append_json_text(out, d.code);
  out += ',';
  append_json_place(out, d.at);
  out += ",\"message\":";
  append_json_text(out, d.message);
  out += ",\"notes\":[";
  for (std::size_t i = 0; i != d.notes.size(); ++i) {
    out += i == 0 ? "{" : ",{";
    append_json_place(out, d.notes[i].at);
    out += ",\"message\":";
    append_json_text(out, d.notes[i].message);
    out += '}';
  }
  out += "],\"hint\":";
  append_json_text(out, d.hint);
  return out + '}';
}

std::string print(const diagnostics& all, print_options options) {
  std::string out;
  if (options.json) {
    out = "[";
    for (std::size_t i = 0; i != all.all().size(); ++i) {
      out += i == 0 ? "\n" : ",\n";
      out += to_json(all.all()[i]);
    }
    return out + "\n]\n";
  }
  for (const diagnostic& d : all.all()) out += to_text(d, options.colors);
  if (all.errors() > diagnostics::kept_max)
    out += std::to_string(all.errors()) + " errors; only the first " +
           std::to_string(diagnostics::kept_max) + " are shown\n";
  return out;
}

}  // namespace heddle::source
