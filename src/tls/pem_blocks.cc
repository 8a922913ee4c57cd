// SPDX-License-Identifier: MIT
// Finding the blocks line by line, and reading certificates one by one.
#include "tls/pem_blocks.hh"

#include <openssl/pem.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "heddle/base/error.hh"
#include "heddle/io/detail/files_here.hh"
#include "tls/trouble.hh"

namespace heddle::tls::detail {
namespace {

constexpr std::string_view begin_mark = "-----BEGIN ";
constexpr std::string_view end_mark = "-----END ";
constexpr std::string_view dashes = "-----";

int no_password_here(char*, int, int, void*) { return -1; }

[[noreturn]] void refuse_at(const std::string& where, std::size_t line, const std::string& what) {
  throw failure(std::make_error_code(std::errc::invalid_argument),
                where + ':' + std::to_string(line) + ": " + what +
                    "; the file is damaged or cut off: copy it again, whole");
}

/// The label of a line such as "-----END CERTIFICATE-----"; nothing if it is no such line.
std::optional<std::string_view> label_in(std::string_view line, std::string_view mark) noexcept {
  if (!line.starts_with(mark) || !line.ends_with(dashes) ||
      line.size() <= mark.size() + dashes.size())
    return std::nullopt;
  line.remove_prefix(mark.size());
  line.remove_suffix(dashes.size());
  return line;
}

/// Whether a line outside of all blocks is a damaged BEGIN or END line. Dashes alone are a comment.
bool is_broken_mark(std::string_view line) noexcept {
  return line.find("BEGIN") != line.npos || line.find("END") != line.npos ||
         (line.size() > dashes.size() && line.starts_with(dashes) && line[dashes.size()] >= 'A' &&
          line[dashes.size()] <= 'Z');
}

bool is_certificate(std::string_view label) noexcept {
  return label == PEM_STRING_X509 || label == PEM_STRING_X509_OLD ||
         label == PEM_STRING_X509_TRUSTED;
}

bool in_base64(char c) noexcept {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/' || c == '=' || c == ' ' || c == '\t';
}

/// Walks through a text line by line. Lines have no ends and no blanks before their ends.
class line_walk {
 public:
  explicit line_walk(std::string_view text) : left_(text), begin_(text.data()) {}
  /// Goes to the next line; false after the last one.
  bool next() noexcept {
    if (left_.empty()) return false;
    start_ = static_cast<std::size_t>(left_.data() - begin_);
    const std::size_t end = std::min(left_.find('\n'), left_.size());
    line_ = left_.substr(0, end);
    left_.remove_prefix(std::min(end + 1, left_.size()));
    while (!line_.empty() && (line_.back() == '\r' || line_.back() == ' ' || line_.back() == '\t'))
      line_.remove_suffix(1);
    ++number_;
    return true;
  }
  [[nodiscard]] std::string_view line() const noexcept { return line_; }
  [[nodiscard]] std::size_t number() const noexcept { return number_; }
  [[nodiscard]] std::size_t start() const noexcept { return start_; }  // offset in the text
  [[nodiscard]] std::size_t behind() const noexcept {
    return static_cast<std::size_t>(left_.data() - begin_);
  }

 private:
  std::string_view left_;
  const char* begin_;
  std::string_view line_;
  std::size_t start_ = 0;
  std::size_t number_ = 0;
};

/// Throws failure for the first line of a certificate that is no base64, else for its BEGIN line.
[[noreturn]] void refuse_certificate(const pem_block& b, const std::string& where) {
  drop_errors();
  line_walk lines(b.text);
  while (lines.next())
    if (!lines.line().starts_with(dashes) && !std::ranges::all_of(lines.line(), in_base64))
      refuse_at(where, b.line + lines.number() - 1,
                "this line of a certificate has a character that is no base64");
  refuse_at(where, b.line, "the certificate that begins here cannot be read");
}

x509_handle certificate_of(const pem_block& b, const std::string& where) {
  const bio_handle bio(BIO_new_mem_buf(b.text.data(), static_cast<int>(b.text.size())));
  if (!bio) throw std::bad_alloc();
  x509_handle made(PEM_read_bio_X509_AUX(bio.get(), nullptr, &no_password_here, nullptr));
  if (!made) refuse_certificate(b, where);
  return made;
}

}  // namespace

std::vector<pem_block> pem_blocks(std::string_view text, const std::string& where) {
  std::vector<pem_block> blocks;
  std::size_t open_at = 0;
  std::optional<pem_block> open;
  line_walk lines(text);
  while (lines.next()) {
    if (!lines.line().starts_with("----")) continue;
    const std::string label(open ? open->label : "");
    if (const auto begun = label_in(lines.line(), begin_mark)) {
      if (open) refuse_at(where, open->line, "the " + label + " that begins here has no END line");
      open_at = lines.start();
      open = pem_block{*begun, {}, lines.number()};
    } else if (const auto ended = label_in(lines.line(), end_mark)) {
      if (!open) refuse_at(where, lines.number(), "this END line has no BEGIN line before it");
      if (*ended != open->label)
        refuse_at(
            where, lines.number(),
            "this END line is not that of the " + label + " in line " + std::to_string(open->line));
      open->text = text.substr(open_at, lines.behind() - open_at);
      blocks.push_back(*std::exchange(open, std::nullopt));
    } else if (open || is_broken_mark(lines.line())) {
      refuse_at(where, lines.number(), "this line is neither a BEGIN line nor an END line");
    }
  }
  if (open)
    refuse_at(where, open->line,
              "the " + std::string(open->label) + " that begins here has no END line");
  return blocks;
}

std::vector<x509_handle> certificates_of(std::string_view text, const std::string& where) {
  drop_errors();
  std::vector<x509_handle> all;
  for (const pem_block& b : pem_blocks(text, where))
    if (is_certificate(b.label)) all.push_back(certificate_of(b, where));
  return all;
}

std::string read_whole(const std::string& path, const char* what) {
  const std::string verb = std::string("read the ") + what;
  return heddle::detail::read_file_now(path, verb.c_str());
}

std::vector<x509_handle> authorities_in(const std::string& path) {
  std::vector<x509_handle> all = certificates_of(read_whole(path, "authorities in"), path);
  if (all.empty())
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "'" + path +
                      "' holds no certificate of an authority; it wants text with "
                      "-----BEGIN CERTIFICATE-----");
  return all;
}

}  // namespace heddle::tls::detail
