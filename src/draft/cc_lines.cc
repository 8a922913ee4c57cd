// SPDX-License-Identifier: MIT
// Breaking lines, and keeping comments.
#include "draft/cc_lines.hh"

#include <algorithm>
#include <utility>

namespace heddle::draft {
namespace {

constexpr std::size_t columns = 100;

struct break_point {
  std::size_t at = std::string::npos;  ///< where the next line begins
  std::size_t indent = 0;              ///< indent of the next line
};

/// Where a line that is too long is broken: behind a comma or an operator, as far out as there is
/// one, and as late as it fits. The next line begins below what follows the bracket around.
break_point break_of(const std::string& s, std::size_t begin, std::size_t plain) {
  break_point best;
  std::size_t best_depth = 1000;
  std::vector<std::size_t> open;
  bool quoted = false;
  for (std::size_t i = 0; i + 1 < s.size() && i < columns; ++i) {
    const char c = s[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '(' || c == '{' || c == '[') open.push_back(i + 1);
    if ((c == ')' || c == '}' || c == ']') && !open.empty()) open.pop_back();
    if (i < begin || s[i + 1] != ' ') continue;
    const bool comma = c == ',' && !open.empty();
    const bool op = (c == '&' && s[i - 1] == '&') || (c == '|' && s[i - 1] == '|') ||
                    (c == '=' && open.empty() && s[i - 1] == ' ');
    if ((!comma && !op) || open.size() > best_depth) continue;
    best_depth = open.size();
    best = {i + 2, open.empty() ? plain + 4 : open.back()};
  }
  return best;
}

}  // namespace

void cc_lines::take_comments(const source::source_file& file) {
  source::diagnostics unused;
  file_ = &file;
  comments_ = lex(file, unused).comments;
  next_ = 0;
}

void cc_lines::line(const std::string& s) {
  const std::size_t indent = 2 * static_cast<std::size_t>(depth_);
  std::string rest = s.empty() ? s : std::string(indent, ' ') + s;
  std::size_t begin = indent;
  while (rest.size() > columns && !s.starts_with("//")) {
    break_point b = break_of(rest, begin, indent);
    // A bracket far to the right leaves too little room.
    if (b.indent > columns / 2 && rest.size() - b.at + b.indent > columns) b.indent = indent + 4;
    if (b.at == std::string::npos || b.at <= begin + 1) break;
    std::string head = rest.substr(0, b.at);
    while (head.ends_with(' ')) head.pop_back();
    out_ += head + "\n";
    begin = b.indent;
    rest = std::string(begin, ' ') + rest.substr(b.at);
  }
  out_ += rest + "\n";
}

void cc_lines::blank() {
  if (!out_.ends_with("\n\n") && !out_.ends_with("{\n")) out_ += "\n";
}

void cc_lines::comments_before(std::uint32_t byte) {
  for (; next_ != comments_.size() && comments_[next_].begin < byte; ++next_) {
    const comment& c = comments_[next_];
    const std::uint32_t number = file_->line_of(c.begin);
    const std::string_view whole = file_->line_text(number);
    // A comment behind a statement was printed with that statement, or is dropped.
    if (whole.find_first_not_of(" \t") != file_->column_of(c.begin) - 1 &&
        whole.substr(0, whole.find("//")).find_first_not_of(" \t") != std::string_view::npos)
      continue;
    line(std::string(file_->text().substr(c.begin, c.end - c.begin)));
  }
}

void cc_lines::comment_at(std::uint32_t source_line, std::size_t from) {
  if (next_ == comments_.size()) return;
  const auto found =
      std::find_if(comments_.begin() + static_cast<std::ptrdiff_t>(next_), comments_.end(),
                   [&](const comment& c) { return file_->line_of(c.begin) >= source_line; });
  if (found == comments_.end() || file_->line_of(found->begin) != source_line) return;
  const std::size_t end = out_.find('\n', from);
  const std::string text(file_->text().substr(found->begin, found->end - found->begin));
  if (end == std::string::npos) return;
  const std::size_t begin = out_.rfind('\n', end - 1) + 1;
  if (end - begin + 2 + text.size() <= columns) {
    out_.insert(end, "  " + text);
  } else {
    const std::size_t indent = out_.find_first_not_of(' ', begin) - begin;
    out_.insert(begin, std::string(indent, ' ') + text + "\n");
  }
  next_ = static_cast<std::size_t>(found - comments_.begin()) + 1;
}

void cc_lines::seek_comments(std::uint32_t byte) {
  next_ = 0;
  while (next_ != comments_.size() && comments_[next_].begin < byte) ++next_;
}

void cc_lines::blank_as_in(std::uint32_t byte) {
  std::uint32_t first = byte;
  if (next_ != comments_.size() && comments_[next_].begin < byte) first = comments_[next_].begin;
  const std::uint32_t number = file_->line_of(first);
  if (number > 1 && file_->line_text(number - 1).find_first_not_of(" \t") == std::string_view::npos)
    blank();
}

void cc_lines::close_if(std::size_t from) {
  const std::size_t head = out_.find('\n', from);
  const std::size_t end = out_.find('\n', head + 1);
  const bool one = end != std::string::npos && end + 1 == out_.size();
  close();
  if (!one || !std::string_view(out_).substr(0, head).ends_with(" {")) return;
  const std::size_t begin = out_.find_first_not_of(' ', head + 1);
  const std::string inner = out_.substr(begin, end - begin);
  for (const char* other : {"if ", "const ", "auto ", "{", "//", "for ", "while ", "switch "})
    if (inner.starts_with(other)) return;
  if (!inner.ends_with(';') || head - from - 2 + 1 + inner.size() > columns) return;
  out_.resize(head - 1);
  out_ += inner + "\n";
}

void cc_lines::close_case(std::size_t from) {
  --depth_;
  const std::size_t end = out_.find('\n', from);
  if (end == std::string::npos) return;
  const std::string_view first = std::string_view(out_).substr(from, end - from);
  const std::size_t begin = std::min(first.find_first_not_of(' '), first.size());
  const std::string_view text = first.substr(begin);
  const std::string_view rest = std::string_view(out_).substr(end + 1);
  const bool one = rest.empty() || rest.substr(rest.find_first_not_of(' ')) == "break;\n";
  bool declares = !one;
  for (const char* word : {"const ", "auto ", "[[", "//"}) declares |= text.starts_with(word);
  if (!declares) return;
  out_.insert(from - 1, " {");
  line("}");
}

void cc_lines::close_lambda(std::size_t from, const std::string& tail) {
  const std::size_t head = out_.find('\n', from);
  const std::size_t end = out_.find('\n', head + 1);
  const bool one = end != std::string::npos && end + 1 == out_.size();
  close(tail);
  if (!one) return;
  const std::size_t begin = out_.find_first_not_of(' ', head + 1);
  const std::string inner = out_.substr(begin, end - begin);
  if (!inner.ends_with(';') || head - from + inner.size() + 4 + tail.size() > columns) return;
  out_.resize(head);
  out_ += " " + inner + " }" + tail + "\n";
}

void cc_lines::drop_last(const std::string& what, std::size_t from) {
  const std::string last = std::string(2 * static_cast<std::size_t>(depth_), ' ') + what + "\n";
  if (!out_.ends_with("\n" + last)) return;
  if (std::string_view(out_).substr(from, out_.size() - last.size() - from).find("co_") ==
      std::string_view::npos)
    return;
  out_.resize(out_.size() - last.size());
}

}  // namespace heddle::draft
