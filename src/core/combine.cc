// SPDX-License-Identifier: MIT
// The rules of a race: which branch wins, and when a branch counts as finished.
#include "heddle/core/combine.hh"

namespace heddle::detail {

void race::note(std::size_t branch, std::exception_ptr error) noexcept {
  // A branch that ends because it was asked to has not finished, and others may still finish.
  if (branches->canceled() && is_cancellation(error)) {
    cut_short = true;
    return;
  }
  if (error) exception_moved_to(error, this);
  if (error && needs_success) {
    failure = std::move(error);
    return;
  }
  // A lock or channel may have made the choice already, for a branch that has yet to run.
  const bool won = winner.commit(branch);
  if (error) {
    if (won) failure = std::move(error);
  } else if (won || !has_result) {
    index = branch;
    has_result = true;
  }
  if (!std::exchange(ended, true)) branches->cancel();
}

void race::require_result() {
  if (has_result) return;
  // Where a success is needed, a failure does not end the race: a request from above did.
  if (failure && !(needs_success && cut_short)) std::rethrow_exception(failure);
  throw_failure(canceled_error());
}

}  // namespace heddle::detail
