// SPDX-License-Identifier: MIT
// A consumer's messages come to an inbox, some for each question. A question is open until its
// messages have come, the server says that it is over, its time has passed, or the connection was
// made anew.
#pragma once

#include <memory>
#include <string>

#include "heddle/nats/jetstream.hh"
#include "nats/core.hh"

namespace heddle::nats {

struct puller::state {
  state(std::shared_ptr<detail::connection_core> core, jetstream_options options, std::string place,
        std::uint32_t batch);
  ~state() { inbox->leave(); }
  state(const state&) = delete;

  [[nodiscard]] task<delivered> next();

  const std::shared_ptr<detail::connection_core> core;
  const std::shared_ptr<detail::subscription_core> inbox;

 private:
  [[nodiscard]] task<> ask_for_messages();
  /// Takes a note of the server's that is no message. Throws if there is no consumer any more.
  [[nodiscard]] task<> take_note(message m);
  [[nodiscard]] task<> check_consumer();

  const jetstream_options options_;
  const std::string place_;  // STREAM.CONSUMER
  const std::uint32_t batch_;
  std::uint32_t open_ = 0;     // messages asked for that have not come
  std::uint64_t session_ = 0;  // the session of the open question
  time_point due_ = {};        // then it is asked again
};

}  // namespace heddle::nats
