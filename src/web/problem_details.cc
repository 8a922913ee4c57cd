// SPDX-License-Identifier: MIT
// Problem documents. The JSON is written by hand, because it has only six members.
#include "heddle/web/problem_details.hh"

#include "heddle/http/status.hh"
#include "heddle/probe/json.hh"

namespace heddle::http {
namespace {

void member(std::string& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  if (out.size() > 1) out += ',';
  out += json_quoted(name);
  out += ':';
  out += json_quoted(text);
}

std::string_view title_of(const problem_details& what) {
  return what.title.empty() ? reason_of(what.status) : std::string_view(what.title);
}

bool wants_text(std::string_view accept) {
  return accept.find("text/") != accept.npos && accept.find("json") == accept.npos;
}

}  // namespace

std::string problem_text(const problem_details& what) {
  std::string out = "{";
  member(out, "type", what.type);
  member(out, "title", title_of(what));
  if (out.size() > 1) out += ',';
  out += "\"status\":" + std::to_string(what.status);
  member(out, "detail", what.detail);
  member(out, "instance", what.instance);
  if (!what.more_members.empty()) (out += ',') += what.more_members;
  return out + "}\n";
}

response problem_response(const problem_details& what) {
  response r(what.status);
  r.header("X-Content-Type-Options", "nosniff");
  r.body("application/problem+json", problem_text(what));
  return r;
}

response problem_response(const request_head& asked, const problem_details& what) {
  response r = wants_text(asked.value(header_id::accept)) ? error_response(what.status, what.detail)
                                                          : problem_response(what);
  r.header("Vary", "Accept");
  return r;
}

status_error::status_error(int status, std::string_view detail)
    : status_error(problem_details{.status = status, .detail = std::string(detail)}) {}

status_error::status_error(problem_details what)
    : std::runtime_error(what.detail.empty() ? std::string(title_of(what)) : what.detail),
      details_(std::move(what)) {}

}  // namespace heddle::http
