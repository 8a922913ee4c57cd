// SPDX-License-Identifier: MIT
// The topics of one shard of `heddle serve`. What the server does with a request is made of parts
// that do not know each other, a file each: a part binds to the topics that it has to do with when
// its setting is on, and what is off is not there. The handlers of a topic run in ascending order.
#pragma once

#include "heddle/bus/bus.hh"
#include "heddle/http/incoming.hh"
#include "heddle/http/server.hh"

namespace heddle::cli {

/// A request that wants an answer. The handler that has one puts it in and halts.
struct question {
  http::request& request;
  task<http::response> answer = {};
};

/// A request has come. Runs before anything of it is answered, and never waits: what has to wait
/// does so in the task that it gives as the answer.
///   10 cross_origin  a browser asks whether it may ask      --cors
///   20 password      401 for who does not know it           --auth
///   30 metrics_view  the page of metrics                    --metrics
///   90 folder        all others
struct asked : haltable_topic<question&> {};

/// An answer was made by another part than the folder, or by the server itself (a head that it
/// cannot read): what stands in every answer is added.
///   10 folder        the lines of --header and --cors
struct made_here : topic<http::response&> {};

/// An answer is ready, whoever made it, refusals under overload included.
///   10 access_log    a line                                 --log
///   20 answer_counts by method and class                    --metrics
struct answered : topic<const http::access&> {};

/// A request has waited for too long and is to be refused with 503. Who halts has it answered.
///   10 metrics_view  whoever watches wants to see it most now
struct overdue : haltable_topic<const http::request_head&> {};

/// Answers with what is there already, as an answer that is made here.
flow answer_at_once(bus& b, question& q, http::response r);

}  // namespace heddle::cli
