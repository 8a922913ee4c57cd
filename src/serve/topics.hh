// SPDX-License-Identifier: MIT
// The topics of one shard of `heddle serve`. The server consists of parts that do not know each
// other, one in each file. If a part's setting is on, the part binds handlers to the topics that
// concern it; otherwise it does not exist. The handlers of a topic run in ascending order.
#pragma once

#include "heddle/bus/bus.hh"
#include "heddle/web/incoming.hh"
#include "heddle/web/server.hh"

namespace heddle::serve {

/// A request that needs an answer. The handler that answers it sets `answer` and halts.
struct question {
  http::request& request;
  task<http::response> answer = {};
  bool again = false;  ///< the topic is raised again for a request that has been counted
};

/// A request has come. Handlers run before any part of it is answered and never wait; a handler
/// that has to wait does so in the task that it gives as the answer.
///   10 cross_origin  answers preflight requests             --cors
///   15 rate_limit    429 beyond the limit of an address    --rate
///   20 password      401 without the right password         --auth
///   30 metrics_view  the metrics page                       --metrics
///   40 redirects     paths that have moved                 --redirect
///   80 named_sites   other folders by host name            --site
///   85 uploads       files that are put here               --upload
///   86 archives      folders as one file                   --archives
///   90 folder        all others, pages included            --pages
///   90 upstreams     all others, in its place            heddle proxy
struct asked : haltable_topic<question&> {};

/// An answer was made by a part other than the folder, or by the server itself (for a malformed
/// head): the handlers add the header lines that every answer has.
///   10 folder        the lines of --header and --cors
struct made_here : topic<http::response&> {};

/// An answer is ready, refusals under overload included. Raised for the answers of all parts.
///   10 access_log    a line                                 --log
///   20 answer_counts by method and class                    --metrics
struct answered : topic<const http::access&> {};

/// A request has waited too long and is about to be refused with 503. A handler that halts exempts
/// it.
///   10 metrics_view  the metrics are needed most under overload
struct overdue : haltable_topic<const http::request_head&> {};

/// Answers at once with this response, as an answer that is made here.
flow answer_at_once(bus& b, question& q, http::response r);

}  // namespace heddle::serve
