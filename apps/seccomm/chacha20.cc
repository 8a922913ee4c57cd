// SPDX-License-Identifier: MIT
// ChaCha20: hides the body and keeps its length. It does not authenticate.
#include "cipher.hh"

namespace seccomm {
namespace {

class chacha20 final : public micro_protocol {
 public:
  chacha20(channel& c, int place) {
    c.bus.bind<session_keyed, &chacha20::begin>(this);
    c.bus.bind<packet_protect, &chacha20::protect>(this, place);
    c.bus.bind<packet_unprotect, &chacha20::unprotect>(this, -place);  // the outer one first
  }

 private:
  void begin(const session& s) {
    const side there = s.here == side::first ? side::second : side::first;
    out_ = make_context(EVP_chacha20(), derive_key(s.key, "chacha20", s.here), true);
    in_ = make_context(EVP_chacha20(), derive_key(s.key, "chacha20", there), false);
  }

  void protect(packet& p) { run(out_.get(), p); }
  heddle::flow unprotect(packet& p) {
    run(in_.get(), p);
    return heddle::flow::go_on;
  }

  static void run(EVP_CIPHER_CTX* c, packet& p) {
    // OpenSSL's 16 bytes begin with the block counter: 0 for each packet.
    const auto nonce = nonce_of<16>(p.number);
    int len = 0;
    must(EVP_CipherInit_ex(c, nullptr, nullptr, nullptr, nonce.data(), -1), "take a nonce");
    must(EVP_CipherUpdate(c, plain(p.body()), &len, plain(p.body()), static_cast<int>(p.size)),
         "run ChaCha20");
  }

  cipher_context out_;
  cipher_context in_;
};

}  // namespace

std::unique_ptr<micro_protocol> make_chacha20(channel& c, int place) {
  return std::make_unique<chacha20>(c, place);
}

}  // namespace seccomm
