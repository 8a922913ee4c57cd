// SPDX-License-Identifier: MIT
// Lines and columns by a table of line starts.
#include "source/source_file.hh"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace heddle::source {

source_file::source_file(std::string path, std::string text)
    : path_(std::move(path)), text_(std::move(text)) {
  if (text_.size() > size_max) text_.resize(size_max);
  starts_.push_back(0);
  for (std::size_t i = 0; i != text_.size(); ++i)
    if (text_[i] == '\n') starts_.push_back(static_cast<std::uint32_t>(i + 1));
}

std::uint32_t source_file::line_of(std::uint32_t offset) const noexcept {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), std::min(offset, size()));
  return static_cast<std::uint32_t>(after - starts_.begin());
}

std::uint32_t source_file::column_of(std::uint32_t offset) const noexcept {
  offset = std::min(offset, size());
  std::uint32_t column = 1;
  for (std::size_t i = starts_[line_of(offset) - 1]; i < offset; i += utf8_len(text_, i)) ++column;
  return column;
}

std::string_view source_file::line_text(std::uint32_t line) const noexcept {
  if (line == 0 || line > line_count()) return {};
  const std::uint32_t begin = starts_[line - 1];
  std::uint32_t end = line == line_count() ? size() : starts_[line] - 1;
  if (end > begin && text_[end - 1] == '\r') --end;
  return text().substr(begin, end - begin);
}

std::uint32_t source_file::offset_of(position at) const noexcept {
  if (at.line == 0) return 0;
  if (at.line > line_count()) return size();
  std::size_t i = starts_[at.line - 1];
  const std::size_t end = i + line_text(at.line).size();
  for (std::uint32_t column = 1; column < at.column && i < end; ++column) i += utf8_len(text_, i);
  return static_cast<std::uint32_t>(std::min(i, end));
}

std::expected<std::string, std::string> read_text(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed))
    return std::unexpected("cannot read " + path + ": it is a directory");
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::unexpected("cannot read " + path + ": " + std::strerror(errno));
  std::ostringstream all;
  all << in.rdbuf();
  if (in.bad()) return std::unexpected("cannot read " + path + ": " + std::strerror(errno));
  std::string text = std::move(all).str();
  if (text.size() > source_file::size_max)
    return std::unexpected("cannot read " + path + ": it is larger than 64 MB");
  return text;
}

std::expected<void, std::string> write_text(const std::string& path, std::string_view text) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::file_status before = fs::status(path, failed);
  // A device or a pipe is written to, and never replaced: -o /dev/null.
  const bool in_place = fs::exists(before) && !fs::is_regular_file(before);
  // If the path is a link, replace the file that it names, so that the link stays.
  const fs::path file = fs::is_regular_file(before) ? fs::canonical(path, failed) : fs::path(path);
  const std::string target = file.empty() ? path : file.string();
  const std::string beside = in_place ? target : target + ".new";
  {
    std::ofstream out(beside, std::ios::binary | std::ios::trunc);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.close();
    if (!out) {
      const std::string why = std::strerror(errno);
      if (!in_place) std::remove(beside.c_str());
      return std::unexpected("cannot write " + path + ": " + why);
    }
  }
  if (in_place) return {};
  if (fs::is_regular_file(before)) fs::permissions(beside, before.permissions(), failed);
  if (std::rename(beside.c_str(), target.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(beside.c_str());
    return std::unexpected("cannot write " + path + ": " + why);
  }
  return {};
}

std::string line_directive(std::uint32_t line, std::string_view path) {
  std::string out = "#line " + std::to_string(line) + " \"";
  for (const char c : path) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? '?' : c;
  }
  return out + '"';
}

std::size_t utf8_len(std::string_view text, std::size_t at) noexcept {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t wanted = first < 0xc2   ? 1
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 1;
  if (at + wanted > text.size()) return 1;
  for (std::size_t i = 1; i != wanted; ++i)
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return 1;
  return wanted;
}

}  // namespace heddle::source
