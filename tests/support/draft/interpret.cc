// SPDX-License-Identifier: MIT
// Threads of an interpreted program, and virtual time.
#include "support/draft/interpret.hh"

#include <algorithm>

#include "support/draft/interpreter.hh"

namespace heddle::draft {

interpreted interpreter::run() {
  interpreted result;
  const function* main = nullptr;
  for (const auto& f : program_.main_module->functions)
    if (f->is_main()) main = f.get();
  if (main == nullptr) {
    result.supported = false;
    return result;
  }
  auto job = std::make_shared<job_state>();
  try {
    auto thread = std::make_shared<thread_state>();
    std::vector<std::shared_ptr<val>> args;
    for (const param& x : main->decl->params) {
      if (!x.fallback) throw unsupported{"an argument"};
      auto v = std::make_shared<val>();
      v->n = x.fallback->number;
      v->s = bytes_of(*x.fallback);
      args.push_back(std::move(v));
    }
    start(thread, *main, std::move(args), job);
    while (!job->ended) {
      if (std::exchange(released(), false)) changed();
      if (!ready_.empty()) {
        const auto h = ready_.front();
        ready_.pop_front();
        h.resume();
        if (trouble_) std::rethrow_exception(std::exchange(trouble_, nullptr));
      } else if (!wait_for_time()) {
        result.complaint = "deadlock";
        break;
      }
    }
  } catch (const unsupported& u) {
    result.supported = false;
    result.complaint = u.what;
  } catch (const out_of_steps&) {
    result.supported = false;
    result.complaint = "too long";
  }
  if (job->ended && (job->code != 0 || job->faulted)) result.code = 1;
  if (!job->ended) result.code = 1;
  if (!complaint_.empty()) result.complaint = complaint_;
  result.out = std::move(out_);
  return result;
}

void interpreter::changed() {
  for (const waiter& w : waiting_) ready_.push_back(w.h);
  waiting_.clear();
}

bool interpreter::wait_for_time() {
  std::int64_t next = INT64_MAX;
  for (const waiter& w : waiting_) {
    next = std::min(next, w.until);
    for (const bound* b = w.thread->here; b != nullptr && !b->shield; b = b->outer)
      if (!b->canceled) next = std::min(next, b->due);
    for (const bound* b = w.thread->here; b != nullptr; b = b->outer) {
      if (!b->canceled) next = std::min(next, b->due);
      if (b->shield) break;
    }
  }
  if (next == INT64_MAX) return false;
  now_ = std::max(now_, next);
  for (const waiter& w : waiting_)
    for (bound* b = w.thread->here; b != nullptr; b = b->outer)
      if (!b->canceled && b->due <= now_) b->canceled = b->timed = true;
  changed();
  return true;
}

void interpreter::step() {
  if (steps_-- == 0) throw out_of_steps{};
}

co<void> interpreter::thread_body(std::shared_ptr<thread_state> t, const function& f,
                                  std::vector<std::shared_ptr<val>> args,
                                  std::shared_ptr<job_state> job) {
  try {
    job->result = co_await call(*t, f, std::move(args));
  } catch (const leaving& e) {
    job->code = e.code;
  } catch (const op_error& e) {
    job->code = e.code;
  } catch (const fault& e) {
    if (complaint_.empty()) complaint_ = e.what;
    job->faulted = true;
  } catch (...) {
    trouble_ = std::current_exception();
  }
  job->ended = true;
  changed();
}

void interpreter::start(std::shared_ptr<thread_state> t, const function& f,
                        std::vector<std::shared_ptr<val>> args, std::shared_ptr<job_state> job) {
  auto body = std::make_unique<co<void>>(thread_body(t, f, std::move(args), std::move(job)));
  co<void>* const raw = body.get();
  threads_.push_back({std::move(t), std::move(body)});
  starts_.push_back(std::make_unique<starter>(begin(raw)));
  ready_.push_back(starts_.back()->handle);
}

interpreter::starter interpreter::begin(co<void>* body) {
  body->start();
  co_return;
}

co<val> interpreter::call(thread_state& t, const function& f,
                          std::vector<std::shared_ptr<val>> args) {
  if (f.decl->is_extern()) throw unsupported{"a C function"};
  step();
  if (++depth_ > 400) {
    --depth_;
    throw unsupported{"deep calls"};
  }
  activation a;
  a.fn = &f;
  for (std::size_t i = 0; i != f.params.size(); ++i) a.vars[f.params[i]] = args[i];
  try {
    static_cast<void>(co_await exec(t, a, f.decl->body));
  } catch (...) {
    --depth_;
    throw;
  }
  --depth_;
  co_return std::move(a.result);
}

co<val> interpreter::call_action(thread_state& t, val action) {
  step();
  // The variables are shared with the activation; those that the action declares are its own.
  activation a;
  a.fn = action.action_in->fn;
  a.vars = action.action_in->vars;
  static_cast<void>(co_await exec(t, a, *action.action->body));
  co_return std::move(a.result);
}

std::shared_ptr<val>& interpreter::slot(activation& a, const variable* v) {
  std::shared_ptr<val>& s = a.vars[v];
  if (s == nullptr) s = std::make_shared<val>();
  return s;
}

void interpreter::bind(activation& a, const variable* v, val value) {
  if (v != nullptr) a.vars[v] = std::make_shared<val>(std::move(value));
}

std::int64_t interpreter::later(std::int64_t span) const {
  std::int64_t when = 0;
  return __builtin_add_overflow(now_, span, &when) ? INT64_MAX - 1 : when;
}

interpreted interpret(const program& p, std::uint64_t steps_max) {
  return interpreter(p, steps_max).run();
}

}  // namespace heddle::draft
