// SPDX-License-Identifier: MIT
// AES-256-GCM: hides the body, and adds 16 bytes by which a change of it or of the packet's number
// is noticed.
#include "cipher.hh"

namespace seccomm {
namespace {

constexpr std::size_t tag_bytes = 16;

class aes_256_gcm final : public micro_protocol {
 public:
  aes_256_gcm(channel& c, int place) {
    c.bus.bind<session_keyed, &aes_256_gcm::begin>(this);
    c.bus.bind<packet_protect, &aes_256_gcm::protect>(this, place);
    c.bus.bind<packet_unprotect, &aes_256_gcm::unprotect>(this, -place);
  }

 private:
  void begin(const session& s) {
    const side there = s.here == side::first ? side::second : side::first;
    out_ = make_context(EVP_aes_256_gcm(), derive_key(s.key, "aes_256_gcm", s.here), true);
    in_ = make_context(EVP_aes_256_gcm(), derive_key(s.key, "aes_256_gcm", there), false);
  }

  // The number is in the nonce, so the tag covers it.
  void protect(packet& p) {
    EVP_CIPHER_CTX* const c = out_.get();
    const auto nonce = nonce_of<12>(p.number);
    int len = 0;
    must(EVP_CipherInit_ex(c, nullptr, nullptr, nullptr, nonce.data(), -1), "take a nonce");
    must(EVP_CipherUpdate(c, plain(p.body()), &len, plain(p.body()), static_cast<int>(p.size)),
         "run AES");
    must(EVP_CipherFinal_ex(c, plain(p.body()) + len, &len), "end AES");
    must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, tag_bytes, p.body() + p.size), "give a tag");
    p.size += tag_bytes;
  }

  heddle::flow unprotect(packet& p) {
    if (p.size < tag_bytes) return heddle::flow::halt;
    EVP_CIPHER_CTX* const c = in_.get();
    const auto nonce = nonce_of<12>(p.number);
    int len = 0;
    p.size -= tag_bytes;
    must(EVP_CipherInit_ex(c, nullptr, nullptr, nullptr, nonce.data(), -1), "take a nonce");
    must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, tag_bytes, p.body() + p.size), "take a tag");
    must(EVP_CipherUpdate(c, plain(p.body()), &len, plain(p.body()), static_cast<int>(p.size)),
         "run AES");
    const bool genuine = EVP_CipherFinal_ex(c, plain(p.body()) + len, &len) == 1;
    return genuine ? heddle::flow::go_on : heddle::flow::halt;
  }

  cipher_context out_;
  cipher_context in_;
};

}  // namespace

std::unique_ptr<micro_protocol> make_aes_256_gcm(channel& c, int place) {
  return std::make_unique<aes_256_gcm>(c, place);
}

}  // namespace seccomm
