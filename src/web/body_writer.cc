// SPDX-License-Identifier: MIT
// Passes a handler's writes to its exchange, which frames them.
#include "heddle/web/body_writer.hh"

#include "web/exchange.hh"

namespace heddle::http {

task<> body_writer::write(std::string_view bytes) { return on_->write_part(bytes); }
task<> body_writer::flush() { return on_->write_out(); }

body_writer& body_writer::trailer(std::string_view name, std::string_view value) {
  on_->add_trailer(name, value);
  return *this;
}

response body_writer::done() const { return response::sent_already(on_->started_status()); }

response upgraded::done() const { return response::sent_already(101); }

}  // namespace heddle::http
