// SPDX-License-Identifier: MIT
// Methods by number and by token. A switch on the length leaves at most two comparisons.
#include "heddle/http/method.hh"

namespace heddle::http {

std::string_view name_of(method verb) {
  switch (verb) {
    case method::other:
      return "";
    case method::get:
      return "GET";
    case method::head:
      return "HEAD";
    case method::post:
      return "POST";
    case method::put:
      return "PUT";
    case method::delete_:
      return "DELETE";
    case method::connect:
      return "CONNECT";
    case method::options:
      return "OPTIONS";
    case method::trace:
      return "TRACE";
    case method::patch:
      return "PATCH";
    case method::query:
      return "QUERY";
  }
  return "";
}

method method_of(std::string_view token) {
  switch (token.size()) {
    case 3:
      if (token == "GET") return method::get;
      if (token == "PUT") return method::put;
      break;
    case 4:
      if (token == "HEAD") return method::head;
      if (token == "POST") return method::post;
      break;
    case 5:
      if (token == "PATCH") return method::patch;
      if (token == "TRACE") return method::trace;
      if (token == "QUERY") return method::query;
      break;
    case 6:
      if (token == "DELETE") return method::delete_;
      break;
    case 7:
      if (token == "OPTIONS") return method::options;
      if (token == "CONNECT") return method::connect;
      break;
    default:
      break;
  }
  return method::other;
}

}  // namespace heddle::http
