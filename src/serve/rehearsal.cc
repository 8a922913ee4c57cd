// SPDX-License-Identifier: MIT
// The steps are those of service::serve_until_stopped() in serve.cc, in its order. A step that is
// added there is added here.
#include "serve/rehearsal.hh"

#include <unistd.h>

#include "serve/certificates.hh"
#include "serve/door.hh"
#include "serve/handover.hh"
#include "serve/log_file.hh"
#include "serve/shard.hh"
#include "serve/tls.hh"

namespace heddle::serve {
namespace {

void rehearse_parts(const serve_options& o) {
  const certificates ordered(o);
  certificates::check_store(o);
  const secure_door tls(o, ordered.challenges());
  log_file::check(o.log_file);
  const shard one(o, 0, 1, STDOUT_FILENO, nullptr);
}

task<> rehearse_doors(const serve_options& o) {
  // Over TCP in the program there is no socket, and a second user of the device would disturb the
  // first.
  if (o.user) {
    static_cast<void>(activated_door(o));
    co_return;
  }
  takeover before(o.handover);
  std::optional<tcp_listener> given = before.door();
  if (given) check_door(o, given->local());
  if (!given) given = activated_door(o);
  if (!given) {
    serve_options by_default = o;
    by_default.port = port_asked(o);
    check_places(by_default);
  }
  co_await try_doors(o, given.has_value(), before.more_doors());
  if (o.handover.empty()) co_return;
  const std::size_t sockets = 1 + o.listen.size() + (o.redirect_http >= 0 ? 1 : 0);
  handover_door next(o.handover, sockets);
  co_await next.open();
}

}  // namespace

task<int> rehearse(serve_options o) {
  rehearse_parts(o);
  const std::vector<std::string> wrong = co_await check_pages(o);
  for (const std::string& each : wrong)
    o.around->print_error(each, "the page would be answered with 500; correct it");
  if (!wrong.empty()) co_return 1;
  co_await rehearse_doors(o);
  std::string text = "The settings are good: ";
  if (o.is_proxy) {
    for (const std::string& each : o.proxy.upstreams)
      (text += &each == &o.proxy.upstreams.front() ? "" : ", ") += each;
  } else {
    text += o.directory;
  }
  for (const auto& [name, folder] : o.sites) text += ", " + folder + " at " + name;
  o.around->print_output(text + "; " + (o.secure() ? "https" : "http") + ".\n");
  co_return 0;
}

}  // namespace heddle::serve
