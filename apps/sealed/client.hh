// SPDX-License-Identifier: MIT
// The client: greets, asks for files by name, and opens what comes, record by record.
#pragma once

#include <optional>

#include "cache.hh"
#include "greeting.hh"
#include "wire.hh"

namespace sealed {

/// Thread: one color. Cancel: at the next wait; the connection is then of no more use.
/// Fails: with trouble, naming what is wrong: another key, a changed record, a stream that ends too
/// early; with refusal, giving the server's reason; with failure as the system says.
///
///   client files(key);
///   co_await files.connect(at);
///   std::uint64_t size = co_await files.ask("big.iso");
///   while (!(part = co_await files.next()).empty()) use(part);
class client {
 public:
  explicit client(const shared_key& key) : key_(key) {}

  [[nodiscard]] heddle::task<> connect(heddle::address server);
  /// The size of a file that the server now sends. The one before has been taken to its end.
  [[nodiscard]] heddle::task<std::uint64_t> ask(std::string name);
  /// Its next bytes, valid until the next call; empty at the end, when all have come.
  [[nodiscard]] heddle::task<std::string_view> next();

  [[nodiscard]] const agreement& records() const noexcept { return chosen_; }

 private:
  [[nodiscard]] heddle::task<> read(std::size_t content_max);

  shared_key key_;
  heddle::tcp_stream conn_;
  agreement chosen_;
  std::optional<record_opener> opener_;
  std::optional<record_sealer> sealer_;
  sealed_record came_;
  std::uint64_t size_ = 0;
  std::uint64_t left_ = 0;
  bool proven_ = false;  // the server has sealed something that we could open
};

/// Gets a file and puts it in place of `target` in one step: others see the whole file or none.
/// Gives its size. Fails as client, and leaves `target` as it was.
[[nodiscard]] heddle::task<std::uint64_t> fetch(client& from, std::string name, std::string target);

}  // namespace sealed
