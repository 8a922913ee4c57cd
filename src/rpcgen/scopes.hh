// SPDX-License-Identifier: MIT
// Names in namespaces: a name is looked up in the namespace of its place, then in those around it.
#pragma once

#include <map>
#include <string>

#include "rpcgen/syntax.hh"

namespace heddle::rpcgen {

[[nodiscard]] inline std::string full(const std::string& scope, const std::string& called) {
  return scope.empty() ? called : scope + "::" + called;
}

/// The entry of a name that is used in `scope`, or nullptr.
template <class Map>
[[nodiscard]] const typename Map::mapped_type* find(const Map& in, std::string scope,
                                                    const std::string& called) {
  for (;;) {
    if (const auto at = in.find(full(scope, called)); at != in.end()) return &at->second;
    if (scope.empty()) return nullptr;
    const std::size_t outer = scope.rfind("::");
    scope.resize(outer == std::string::npos ? 0 : outer);
  }
}

/// Replaces the names of types by the types, and checks what needs the whole file.
void resolve(specification& s, const std::map<std::string, item*>& types,
             source::diagnostics& found);

}  // namespace heddle::rpcgen
