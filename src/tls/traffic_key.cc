// SPDX-License-Identifier: MIT
// Key derivation with HMAC, and the ciphers of OpenSSL's EVP. Setting a key costs about 0.35 us,
// and a context takes about 1.2 KB, so each thread keeps contexts of the keys that it used last.
#include "tls/traffic_key.hh"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "tls/handles.hh"
#include "tls/trouble.hh"

namespace heddle::tls::detail {
namespace {

using context_handle = std::unique_ptr<EVP_CIPHER_CTX, freed_by<&EVP_CIPHER_CTX_free>>;
using cipher_handle = std::unique_ptr<EVP_CIPHER, freed_by<&EVP_CIPHER_free>>;

struct suite_facts {
  std::uint16_t number;  // RFC 8446, B.4
  const char* cipher;
  std::uint8_t key_bytes;
  std::uint8_t hash_bytes;
};

constexpr std::array<suite_facts, 3> facts{{
    {0x1301, "AES-128-GCM", 16, 32},
    {0x1302, "AES-256-GCM", 32, 48},
    {0x1303, "ChaCha20-Poly1305", 32, 32},
}};

const suite_facts& facts_of(suite s) noexcept { return facts.at(static_cast<std::size_t>(s)); }

const EVP_MD* hash_of(suite s) noexcept {
  return facts_of(s).hash_bytes == 48 ? EVP_sha384() : EVP_sha256();
}

/// OpenSSL's cipher, fetched once a process. Null without memory; the next call then tries again.
const EVP_CIPHER* cipher_of(suite s) noexcept {
  static std::array<std::atomic<EVP_CIPHER*>, facts.size()> known{};
  std::atomic<EVP_CIPHER*>& slot = known.at(static_cast<std::size_t>(s));
  if (EVP_CIPHER* const found = slot.load(std::memory_order_acquire)) return found;
  cipher_handle fetched(EVP_CIPHER_fetch(nullptr, facts_of(s).cipher, nullptr));
  EVP_CIPHER* expected = nullptr;
  if (fetched && slot.compare_exchange_strong(expected, fetched.get()))
    expected = fetched.release();
  return expected;
}

/// HKDF-Expand-Label without a context (RFC 8446, 7.1). An output is never longer than one hash,
/// so it is one HMAC (RFC 5869, 2.3).
bool expand_label(suite s, std::span<const unsigned char> secret, std::string_view label,
                  std::span<unsigned char> out) noexcept {
  constexpr std::string_view prefix = "tls13 ";
  std::array<unsigned char, 32> info;
  unsigned char* at = info.data();
  *at++ = 0;
  *at++ = static_cast<unsigned char>(out.size());
  *at++ = static_cast<unsigned char>(prefix.size() + label.size());
  at = std::ranges::copy(prefix, at).out;
  at = std::ranges::copy(label, at).out;
  *at++ = 0;  // the context's length
  *at++ = 1;  // the number of the first block
  std::array<unsigned char, EVP_MAX_MD_SIZE> block;
  unsigned size = 0;
  const bool done =
      HMAC(hash_of(s), secret.data(), static_cast<int>(secret.size()), info.data(),
           static_cast<std::size_t>(at - info.data()), block.data(), &size) != nullptr;
  if (done) std::ranges::copy(std::span(block).first(out.size()), out.begin());
  OPENSSL_cleanse(block.data(), block.size());
  if (!done) drop_errors();
  return done;
}

/// Cipher contexts of one thread. A key's stamp chooses a set of two places; the place that was
/// used longer ago gets the new key.
class context_cache {
 public:
  struct place {
    std::uint64_t stamp = 0;
    std::uint64_t used = 0;
    suite kind{};
    context_handle context;
  };
  [[nodiscard]] place& find(std::uint64_t stamp) noexcept {
    std::array<place, 2>& set = sets_[stamp % sets_.size()];
    place& chosen = set[0].stamp == stamp                                ? set[0]
                    : set[1].stamp == stamp || set[1].used < set[0].used ? set[1]
                                                                         : set[0];
    chosen.used = ++now_;
    return chosen;
  }
  /// Frees the context that holds this key, which also wipes the key.
  void forget(std::uint64_t stamp) noexcept {
    for (place& p : sets_[stamp % sets_.size()]) {
      if (p.stamp != stamp) continue;
      p.context.reset();
      p.stamp = 0;
    }
  }

 private:
  std::array<std::array<place, 2>, 128> sets_;  // two keys a connection: room for 128 of them
  std::uint64_t now_ = 0;
};

context_cache& contexts() noexcept {
  thread_local context_cache here;
  return here;
}

std::uint64_t next_stamp() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

unsigned char* raw(std::byte* bytes) noexcept { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes);
}

int digit_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<suite> suite_of(const SSL_CIPHER* cipher) noexcept {
  if (cipher == nullptr) return std::nullopt;
  const std::uint16_t number = SSL_CIPHER_get_protocol_id(cipher);
  for (std::size_t i = 0; i != facts.size(); ++i)
    if (facts.at(i).number == number) return static_cast<suite>(i);
  return std::nullopt;
}

std::size_t hash_bytes(suite s) noexcept { return facts_of(s).hash_bytes; }

traffic_secret::~traffic_secret() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

bool traffic_secret::assign_hex(std::string_view digits) noexcept {
  size = 0;
  if (digits.size() % 2 != 0 || digits.size() / 2 > bytes_max) return false;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = digit_value(digits[i]);
    const int low = digit_value(digits[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes.at(i / 2) = static_cast<unsigned char>(high << 4 | low);
  }
  size = digits.size() / 2;
  return true;
}

byte_view text_cursor::take(std::size_t most) noexcept {
  while (!texts_.empty() && within_ == texts_.front().size()) {
    texts_ = texts_.subspan(1);
    within_ = 0;
  }
  if (texts_.empty()) return {};
  const byte_view part(texts_.front().data() + within_,
                       std::min(most, texts_.front().size() - within_));
  within_ += part.size();
  return part;
}

traffic_key::traffic_key(suite s, std::span<const unsigned char> secret) : suite_(s) {
  std::ranges::copy(secret.first(hash_bytes(s)), secret_.begin());
  if (!derive()) {
    OPENSSL_cleanse(secret_.data(), secret_.size());
    throw std::bad_alloc();
  }
}

traffic_key::~traffic_key() {
  contexts().forget(stamp_);
  OPENSSL_cleanse(secret_.data(), secret_.size());
  OPENSSL_cleanse(key_.data(), key_.size());
  OPENSSL_cleanse(iv_.data(), iv_.size());
}

bool traffic_key::derive() noexcept {
  const std::span<const unsigned char> secret = std::span(secret_).first(hash_bytes(suite_));
  stamp_ = next_stamp();
  sequence_ = 0;
  return expand_label(suite_, secret, "key", std::span(key_).first(facts_of(suite_).key_bytes)) &&
         expand_label(suite_, secret, "iv", iv_);
}

bool traffic_key::advance() noexcept {
  const std::span<unsigned char> secret = std::span(secret_).first(hash_bytes(suite_));
  contexts().forget(stamp_);
  return expand_label(suite_, secret, "traffic upd", secret) && derive();
}

/// A context with the key, the nonce of the next record, and its head as additional data.
EVP_CIPHER_CTX* traffic_key::begin(const std::byte* head, bool seals) noexcept {
  context_cache::place& at = contexts().find(stamp_);
  const int direction = seals ? 1 : 0;
  if (at.stamp != stamp_ || !at.context) {
    const bool fresh = !at.context || at.kind != suite_;
    at.stamp = 0;
    if (!at.context) at.context.reset(EVP_CIPHER_CTX_new());
    const EVP_CIPHER* const cipher = fresh ? cipher_of(suite_) : nullptr;
    if (!at.context || (fresh && cipher == nullptr) ||
        EVP_CipherInit_ex2(at.context.get(), cipher, key_.data(), nullptr, direction, nullptr) !=
            1) {
      at.context.reset();
      return nullptr;
    }
    at.kind = suite_;
    at.stamp = stamp_;
  }
  // The nonce (RFC 8446, 5.3): the IV with its last 8 bytes XORed with the sequence number.
  std::array<unsigned char, 12> nonce = iv_;
  for (unsigned i = 0; i != 8; ++i)
    nonce.at(11 - i) ^= static_cast<unsigned char>(sequence_ >> (8 * i));
  int size = 0;
  EVP_CIPHER_CTX* const c = at.context.get();
  if (EVP_CipherInit_ex2(c, nullptr, nullptr, nonce.data(), direction, nullptr) != 1 ||
      EVP_CipherUpdate(c, nullptr, &size, raw(head), record_head_bytes) != 1)
    return nullptr;
  return c;
}

bool traffic_key::seal(std::byte* into, content kind, text_cursor& from,
                       std::size_t size) noexcept {
  const std::size_t length = size + 1 + record_tag_bytes;
  into[0] = static_cast<std::byte>(content::application_data);
  into[1] = std::byte{3};
  into[2] = std::byte{3};
  into[3] = static_cast<std::byte>(length >> 8);
  into[4] = static_cast<std::byte>(length);
  EVP_CIPHER_CTX* const c = begin(into, true);
  unsigned char* out = raw(into + record_head_bytes);
  int made = 0;
  bool good = c != nullptr;
  for (std::size_t left = size; good && left != 0;) {
    const byte_view part = from.take(left);
    good = EVP_CipherUpdate(c, out, &made, raw(part.data()), static_cast<int>(part.size())) == 1;
    out += part.size();
    left -= part.size();
  }
  const auto type = static_cast<unsigned char>(kind);
  good = good && EVP_CipherUpdate(c, out, &made, &type, 1) == 1 &&
         EVP_CipherFinal_ex(c, out + 1, &made) == 1 &&
         EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, record_tag_bytes, out + 1) == 1;
  if (!good) {
    drop_errors();
    return false;
  }
  ++sequence_;
  return true;
}

traffic_key::opened traffic_key::open(std::byte* record, std::size_t size) noexcept {
  EVP_CIPHER_CTX* const c = begin(record, false);
  unsigned char* const text = raw(record + record_head_bytes);
  const std::size_t length = size - record_head_bytes - record_tag_bytes;
  int made = 0;
  if (c == nullptr ||
      EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, record_tag_bytes, text + length) != 1) {
    drop_errors();
    return opened::no_memory;
  }
  if (EVP_CipherUpdate(c, text, &made, text, static_cast<int>(length)) != 1 ||
      EVP_CipherFinal_ex(c, text + length, &made) != 1) {
    drop_errors();
    return opened::forged;
  }
  ++sequence_;
  return opened::good;
}

}  // namespace heddle::tls::detail
