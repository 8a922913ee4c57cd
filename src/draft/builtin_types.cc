// SPDX-License-Identifier: MIT
// The enum and the record that are built in: `mode` and `net.packet`. heddle/abi.h has them, too.
#include "draft/types.hh"

namespace heddle::draft {

const type* type_table::make_mode() {
  mode_item_.name = "mode";
  mode_values_.decl = &mode_item_;
  mode_values_.base = basic(kind::i32);
  mode_values_.c_name = "heddle_mode";
  mode_values_.values = {{"read", 0}, {"write", 1}};
  type* const t = make(kind::enumeration, "mode");
  t->values = &mode_values_;
  mode_values_.type = t;
  return t;
}

const type* type_table::make_packet() {
  packet_item_.name = "packet";
  packet_item_.header = "heddle/abi.h";
  packet_parts_.decl = &packet_item_;
  packet_parts_.c_name = "heddle_packet";
  packet_parts_.parts = {{"data", basic(kind::bytes)}, {"from", basic(kind::address)}};
  packet_parts_.resolved = packet_parts_.finished = true;
  packet_parts_.depth = 1;
  packet_parts_.align = 8;
  packet_parts_.size = 40;
  type* const t = make(kind::record, "net.packet");
  t->record = &packet_parts_;
  t->owning = owning::counted;
  packet_parts_.type = t;
  return t;
}

}  // namespace heddle::draft
