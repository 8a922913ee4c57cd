// SPDX-License-Identifier: MIT
// Encodes text as codewords, draws these as modules, and chooses the mask that is read most
// reliably.
#include "serve/qr.hh"

#include <array>
#include <cstdint>
#include <cstdlib>

namespace heddle::serve {
namespace {

struct size_class {
  int data;   // codewords of text
  int check;  // codewords of error correction
};
constexpr size_class sizes[] = {{19, 7}, {34, 10}, {55, 15}, {80, 20}, {108, 26}};
constexpr int quiet = 4;  // light modules around the code, as the standard requires

/// Multiplies in GF(256) with the standard's polynomial.
std::uint8_t times(std::uint8_t a, std::uint8_t b) {
  unsigned product = 0;
  for (int bit = 7; bit >= 0; --bit) {
    product = (product << 1) ^ ((product >> 7) * 0x11du);
    product ^= ((b >> bit) & 1u) * a;
  }
  return static_cast<std::uint8_t>(product);
}

/// Appends the error correction words: the remainder of the Reed-Solomon division.
void append_check(std::vector<std::uint8_t>& words, int count) {
  std::vector<std::uint8_t> divisor(static_cast<std::size_t>(count), 0);
  divisor.back() = 1;
  std::uint8_t root = 1;
  for (int i = 0; i < count; ++i, root = times(root, 2)) {
    for (std::size_t j = 0; j < divisor.size(); ++j) {
      divisor[j] = times(divisor[j], root);
      if (j + 1 < divisor.size()) divisor[j] ^= divisor[j + 1];
    }
  }
  std::vector<std::uint8_t> rest(divisor.size(), 0);
  for (const std::uint8_t word : words) {
    const std::uint8_t factor = static_cast<std::uint8_t>(word ^ rest.front());
    rest.erase(rest.begin());
    rest.push_back(0);
    for (std::size_t j = 0; j < rest.size(); ++j) rest[j] ^= times(divisor[j], factor);
  }
  words.insert(words.end(), rest.begin(), rest.end());
}

std::vector<std::uint8_t> codewords(std::string_view text, const size_class& size) {
  std::vector<std::uint8_t> words;
  unsigned pending = 0x4;  // byte mode; each byte then spans two codewords
  const auto put = [&](unsigned byte) {
    words.push_back(static_cast<std::uint8_t>(pending << 4 | byte >> 4));
    pending = byte & 15;
  };
  put(static_cast<unsigned>(text.size()));
  for (const char c : text) put(static_cast<unsigned char>(c));
  put(0);  // the terminator fills the rest of the last codeword
  for (unsigned pad = 0xec; words.size() < static_cast<std::size_t>(size.data); pad ^= 0xec ^ 0x11)
    words.push_back(static_cast<std::uint8_t>(pad));
  append_check(words, size.check);
  return words;
}

bool mask_inverts(int mask, int r, int c) {
  switch (mask) {
    case 0:
      return (r + c) % 2 == 0;
    case 1:
      return r % 2 == 0;
    case 2:
      return c % 3 == 0;
    case 3:
      return (r + c) % 3 == 0;
    case 4:
      return (r / 2 + c / 3) % 2 == 0;
    case 5:
      return r * c % 2 + r * c % 3 == 0;
    case 6:
      return (r * c % 2 + r * c % 3) % 2 == 0;
    default:
      return ((r + c) % 2 + r * c % 3) % 2 == 0;
  }
}

class drawing {
 public:
  explicit drawing(int version)
      : version_(version),
        side_(17 + 4 * version),
        dark_(static_cast<std::size_t>(side_ * side_)),
        fixed_(dark_.size()) {}

  void draw_patterns() {
    finder(3, 3);
    finder(3, side_ - 4);
    finder(side_ - 4, 3);
    for (int i = 8; i < side_ - 8; ++i) {
      set(6, i, i % 2 == 0);
      set(i, 6, i % 2 == 0);
    }
    if (version_ > 1) {
      const int centre = side_ - 7;
      for (int r = -2; r <= 2; ++r)
        for (int c = -2; c <= 2; ++c)
          set(centre + r, centre + c, std::max(std::abs(r), std::abs(c)) != 1);
    }
    draw_format(0);  // reserves the places; the mask decides the bits
  }

  /// Fills all free modules, upward and downward in columns of two, from the right.
  void draw_words(const std::vector<std::uint8_t>& words) {
    std::size_t bit = 0;
    for (int right = side_ - 1; right >= 1; right -= 2) {
      if (right == 6) right = 5;
      const bool up = ((right + 1) & 2) == 0;
      for (int step = 0; step < side_; ++step)
        for (int c = right; c >= right - 1; --c) {
          const int r = up ? side_ - 1 - step : step;
          if (fixed_[index(r, c)] || bit >= words.size() * 8) continue;
          dark_[index(r, c)] = (words[bit / 8] >> (7 - bit % 8) & 1) != 0;
          ++bit;
        }
    }
  }

  void apply_mask(int mask) {
    for (int r = 0; r < side_; ++r)
      for (int c = 0; c < side_; ++c)
        if (!fixed_[index(r, c)] && mask_inverts(mask, r, c)) dark_[index(r, c)].flip();
    draw_format(mask);
  }

  /// Rates patterns that readers confuse: long runs, blocks, imitations of a finder, too much of a
  /// shade.
  [[nodiscard]] int penalty() const {
    int sum = 0;
    int darks = 0;
    for (int r = 0; r < side_; ++r) {
      sum += line_penalty(r, true) + line_penalty(r, false);
      for (int c = 0; c < side_; ++c) {
        darks += at(r, c);
        if (r + 1 < side_ && c + 1 < side_ && at(r, c) == at(r + 1, c) &&
            at(r, c) == at(r, c + 1) && at(r, c) == at(r + 1, c + 1))
          sum += 3;
      }
    }
    return sum + std::abs(darks * 20 - side_ * side_ * 10) / (side_ * side_) * 10;
  }

  [[nodiscard]] qr_code code() const { return {side_, dark_}; }

 private:
  [[nodiscard]] std::size_t index(int r, int c) const {
    return static_cast<std::size_t>(r * side_ + c);
  }
  [[nodiscard]] bool at(int r, int c) const { return dark_[index(r, c)]; }
  void set(int r, int c, bool is_dark) {
    dark_[index(r, c)] = is_dark;
    fixed_[index(r, c)] = true;
  }
  void finder(int row, int column) {
    for (int r = -4; r <= 4; ++r)
      for (int c = -4; c <= 4; ++c) {
        if (row + r < 0 || row + r >= side_ || column + c < 0 || column + c >= side_) continue;
        const int ring = std::max(std::abs(r), std::abs(c));
        set(row + r, column + c, ring != 2 && ring != 4);
      }
  }
  /// Draws level and mask with ten check bits twice, so that one damaged corner does no harm.
  void draw_format(int mask) {
    const unsigned data = 1u << 3 | static_cast<unsigned>(mask);  // 01: level L
    unsigned rest = data;
    for (int i = 0; i < 10; ++i) rest = rest << 1 ^ (rest >> 9) * 0x537u;
    const unsigned bits = (data << 10 | rest) ^ 0x5412u;
    for (int i = 0; i < 15; ++i) {
      const bool on = (bits >> i & 1) != 0;
      set(i < 6 ? i : i < 8 ? i + 1 : side_ - 15 + i, 8, on);
      set(8, i < 8 ? side_ - 1 - i : i < 9 ? 7 : 14 - i, on);
    }
    set(side_ - 8, 8, true);
  }
  [[nodiscard]] int line_penalty(int line, bool row) const {
    constexpr unsigned finder_bits = 0b10111010000, mirrored = 0b00001011101;
    int sum = 0, run = 0;
    unsigned window = 0;
    for (int i = 0; i < side_; ++i) {
      const bool now = row ? at(line, i) : at(i, line);
      const bool before = i > 0 && (row ? at(line, i - 1) : at(i - 1, line));
      run = i > 0 && now == before ? run + 1 : 1;
      sum += run == 5 ? 3 : run > 5 ? 1 : 0;
      window = (window << 1 | (now ? 1u : 0u)) & 0x7ff;
      if (i >= 10 && (window == finder_bits || window == mirrored)) sum += 40;
    }
    return sum;
  }

  int version_;
  int side_;
  std::vector<bool> dark_;
  std::vector<bool> fixed_;
};

}  // namespace

qr_code make_qr(std::string_view text) {
  int version = 1;
  for (const size_class& size : sizes) {
    if (text.size() + 2 > static_cast<std::size_t>(size.data)) {
      ++version;
      continue;
    }
    drawing plain(version);
    plain.draw_patterns();
    plain.draw_words(codewords(text, size));
    drawing best = plain;
    int least = -1;
    for (int mask = 0; mask < 8; ++mask) {
      drawing tried = plain;
      tried.apply_mask(mask);
      const int p = tried.penalty();
      if (least >= 0 && p >= least) continue;
      least = p;
      best = tried;
    }
    return best.code();
  }
  return {};
}

std::string qr_picture(std::string_view text) {
  const qr_code code = make_qr(text);
  if (code.side == 0) return {};
  const auto light = [&](int r, int c) {
    const bool inside = r >= 0 && c >= 0 && r < code.side && c < code.side;
    return r < code.side + quiet && (!inside || !code.at(r, c));
  };
  std::string picture;
  for (int r = -quiet; r < code.side + quiet; r += 2) {
    for (int c = -quiet; c < code.side + quiet; ++c) {
      const bool upper = light(r, c);
      const bool lower = light(r + 1, c);
      picture += upper ? (lower ? "\u2588" : "\u2580") : (lower ? "\u2584" : " ");
    }
    picture += '\n';
  }
  return picture;
}

}  // namespace heddle::serve
