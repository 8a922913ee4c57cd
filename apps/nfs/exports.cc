// SPDX-License-Identifier: MIT
// Exports from text: one line gives a folder, networks, and who callers become. Mistakes are named
// by their word.
#include "exports.hh"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace nfs {
namespace {

constexpr std::string_view blanks = " \t\r";

/// The next word of a line, which it is cut from; empty at the end.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(word.size());
  return word;
}

[[noreturn]] void refuse_word(std::string_view word, const char* why) {
  throw std::invalid_argument("'" + std::string(word) + "' " + why);
}

std::uint32_t number_of(std::string_view word, std::string_view digits) {
  std::uint32_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (error != std::errc() || end != digits.data() + digits.size() || n == 0xffff'ffff)
    refuse_word(word, "needs a number from 0 to 4294967294");
  return n;
}

/// A path without slashes at its end; "/" stays.
std::string_view without_end(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

}  // namespace

exported exported::parse(std::string_view line) {
  exported e;
  const std::string_view path = next_word(line);
  if (path.empty() || path.front() != '/')
    refuse_word(path, "is no absolute path: an export begins with one, such as /srv/data");
  e.path = without_end(path);
  enum class list : std::uint8_t { none, read, write } in = list::none;
  std::vector<std::string_view> once;  // of words that may stand only once
  const auto note = [&once](std::string_view kind, std::string_view word) {
    if (std::ranges::find(once, kind) != once.end())
      refuse_word(word, "stands beside another word of its kind: write one of them");
    once.push_back(kind);
  };
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (word.ends_with("_squash")) note("squash", word);
    if (word.starts_with("anon")) note(word.substr(0, word.find('=')), word);
    if (word == "-rw" || word == "-ro") {
      in = word == "-rw" ? list::write : list::read;
    } else if (word == "root_squash") {
      e.whom = squash::root;
    } else if (word == "no_root_squash") {
      e.whom = squash::none;
    } else if (word == "all_squash") {
      e.whom = squash::all;
    } else if (word == "secure") {
      e.secure = true;
    } else if (word.starts_with("anonuid=")) {
      e.anonymous_uid = number_of(word, word.substr(8));
    } else if (word.starts_with("anongid=")) {
      e.anonymous_gid = number_of(word, word.substr(8));
    } else if (in == list::none) {
      refuse_word(word,
                  "is no word of an export: -rw NETWORK..., -ro NETWORK..., root_squash, "
                  "no_root_squash, all_squash, anonuid=N, anongid=N, secure");
    } else {
      const auto from = heddle::network::parse(word);
      if (!from) refuse_word(word, "is no network: write 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32");
      e.rules.push_back({*from, in == list::write});
    }
  }
  if (in != list::none && e.rules.empty())
    throw std::invalid_argument("-rw and -ro need networks: -rw 10.0.0.0/8");
  if (e.rules.empty())
    for (const char* here : {"127.0.0.0/8", "::1"})
      e.rules.push_back({heddle::network::parse(here).value(), true});
  return e;
}

const exported::rule* exported::rule_for(const heddle::address& caller) const noexcept {
  if (secure && caller.port() >= 1024) return nullptr;
  for (const rule& r : rules)
    if (r.from.contains(caller)) return &r;
  return nullptr;
}

identity exported::identity_of(const heddle::rpc::credentials& who) const {
  if (who.none || whom == squash::all) return {anonymous_uid, anonymous_gid, {}};
  identity i{who.uid, who.gid, who.gids};
  if (whom == squash::root) {
    if (i.uid == 0) i.uid = anonymous_uid;
    if (i.gid == 0) i.gid = anonymous_gid;
    std::erase(i.gids, 0u);
  }
  return i;
}

std::vector<exported> parse_exports(std::string_view text, const std::string& name) {
  std::vector<exported> all;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(blanks) == line.npos) continue;
    try {
      all.push_back(exported::parse(line));
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument(name + ":" + std::to_string(number) + ": " + e.what());
    }
  }
  return all;
}

export_list::export_list(std::vector<exported> all) : all_(std::move(all)) {
  for (std::size_t i = 0; i < all_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (all_[i].path == all_[j].path)
        throw std::invalid_argument(all_[i].path +
                                    " is exported twice: write it once, with all "
                                    "networks");
}

std::optional<std::pair<std::uint32_t, std::string>> export_list::find(
    std::string_view path) const {
  path = without_end(path);
  std::optional<std::uint32_t> best;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const std::string& p = all_[i].path;
    const bool holds =
        path.starts_with(p) && (p == "/" || path.size() == p.size() || path[p.size()] == '/');
    if (holds && (!best || p.size() > all_[*best].path.size()))
      best = static_cast<std::uint32_t>(i);
  }
  if (!best) return std::nullopt;
  std::string_view rest = path.substr(all_[*best].path.size());
  rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
  return std::pair(*best, std::string(rest));
}

}  // namespace nfs
