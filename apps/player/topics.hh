// SPDX-License-Identifier: MIT
// The 18 topics by which the player's micro-protocols speak to each other. Both sides have a bus of
// their own and the same transport; the sender adds a source, the receiver a display.
#pragma once

#include "heddle/bus/topic.hh"
#include "outgoing.hh"

namespace player {

/// How the network was since the last report.
struct network_report {
  double loss = 0;  ///< share of the segments
};
/// A frame's time to be shown has come; a frame that did not arrive has no bytes.
struct shown_frame {
  std::uint32_t number = 0;
  bool last = false;
  bool lost = false;
  std::span<const std::byte> bytes = {};
};

struct session_opened : heddle::topic<> {};
struct session_closed : heddle::topic<> {};
struct control_clock : heddle::topic<> {};  ///< delayed: looks at time-outs, reports losses
struct adapt : heddle::topic<const network_report&> {};

struct frame_clock : heddle::topic<> {};  ///< delayed: the next frame is to be sent
struct message_from_user : heddle::topic<const message&> {};
struct segment_from_user : heddle::topic<outgoing&> {};
struct segment_to_net : heddle::topic<outgoing&> {};
struct parity_due : heddle::topic<> {};  ///< posted: a group is complete

struct segment_from_net : heddle::haltable_topic<segment&> {};  ///< halted where it is of no use
struct segment_to_user : heddle::topic<segment&> {};
struct message_to_user : heddle::topic<whole_message&> {};
struct play_clock : heddle::topic<> {};  ///< delayed: the next frame is to be shown
struct frame_shown : heddle::topic<const shown_frame&> {};

struct ack_due : heddle::topic<> {};  ///< delayed: one ack for what came meanwhile
struct ack_from_net : heddle::topic<const segment&> {};
struct segment_acked : heddle::topic<const outgoing&> {};
struct segment_lost : heddle::topic<outgoing&> {};

}  // namespace player
