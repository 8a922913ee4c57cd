// SPDX-License-Identifier: MIT
// Which parameters that are actions may wait. Each call expands its function anew, but a function
// has one form: if an action waits at one of the calls, the parameter waits at all of them, and so
// do the parameters that are passed on to it.
#pragma once

#include <vector>

#include "draft/types.hh"

namespace heddle::draft {

/// Whether the statement itself waits, even if nothing in it does.
[[nodiscard]] bool waits_itself(const stmt& s) noexcept;

class action_waits {
 public:
  /// Collects the actions that the function passes, and its calls of its own parameters.
  void find(function& f);
  /// One step of the fixpoint: whether it found another parameter or function that waits.
  bool pass();
  /// Calls of parameters that wait are waits themselves.
  void mark_calls();

 private:
  struct passed {
    variable* to;
    const action_expr* body;  ///< or null
    variable* from;           ///< the parameter that is passed on
  };
  struct call {
    function* in;
    expr* at;
    const variable* action;
  };
  std::vector<passed> passed_;
  std::vector<call> calls_;
};

}  // namespace heddle::draft
