// SPDX-License-Identifier: MIT
// Runs a checked program: a tree walker whose functions are coroutines, so that a wait anywhere
// suspends its thread.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "draft/coroutine.hh"
#include "draft/operations.hh"
#include "support/draft/interpret.hh"
#include "support/draft/run_state.hh"

namespace heddle::draft {

class interpreter {
 public:
  interpreter(const program& p, std::uint64_t steps) : program_(p), steps_(steps) {}

  interpreted run();

  ~interpreter() {
    ready_.clear();
    waiting_.clear();
    threads_.clear();
  }

 private:
  /// A jump out of the middle of an expression; exec() turns it into its way.
  struct jumping {
    way where;
  };

  // Waits: a thread asks again and again, each time anything has happened.
  struct waiter {
    std::coroutine_handle<> h;
    thread_state* thread;
    std::int64_t until;
  };

  struct parking {
    interpreter& m;
    thread_state& t;
    std::int64_t until;
    static bool await_ready() noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) { m.waiting_.push_back({h, &t, until}); }
    static void await_resume() noexcept {}
  };
  struct yielding {
    interpreter& m;
    static bool await_ready() noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) { m.ready_.push_back(h); }
    static void await_resume() noexcept {}
  };

  /// Something changed: all waiting threads check again, in the order in which they came.
  void changed();

  bool wait_for_time();

  void step();

  // Threads.
  struct running {
    std::shared_ptr<thread_state> thread;
    std::unique_ptr<co<void>> body;
  };

  co<void> thread_body(std::shared_ptr<thread_state> t, const function& f,
                       std::vector<std::shared_ptr<val>> args, std::shared_ptr<job_state> job);

  void start(std::shared_ptr<thread_state> t, const function& f,
             std::vector<std::shared_ptr<val>> args, std::shared_ptr<job_state> job);
  /// A handle that starts a thread when its turn comes.
  struct starter {
    struct promise_type {
      starter get_return_object() {
        return starter(std::coroutine_handle<promise_type>::from_promise(*this));
      }
      static std::suspend_always initial_suspend() noexcept { return {}; }
      static std::suspend_always final_suspend() noexcept { return {}; }
      static void return_void() noexcept {}
      static void unhandled_exception() { std::terminate(); }
    };
    explicit starter(std::coroutine_handle<promise_type> h) : handle(h) {}
    starter(starter&& o) noexcept : handle(std::exchange(o.handle, nullptr)) {}
    starter& operator=(starter&&) = delete;
    ~starter() {
      if (handle) handle.destroy();
    }
    std::coroutine_handle<promise_type> handle;
  };
  static starter begin(co<void>* body);

  co<val> call(thread_state& t, const function& f, std::vector<std::shared_ptr<val>> args);
  /// Runs an action in the activation where it is written, with a result of its own.
  co<val> call_action(thread_state& t, val action);

  // Statements.
  co<way> exec(thread_state& t, activation& a, const block& b);

  std::shared_ptr<val>& slot(activation& a, const variable* v);
  void bind(activation& a, const variable* v, val value);

  co<way> exec(thread_state& t, activation& a, const stmt& s);

  // One function a kind of statement: exec() of a statement calls the one for its kind, and does
  // not compile if a kind has none.
  co<way> exec(thread_state& t, activation& a, const stmt& s, const bad_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const let_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const expression_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const assign_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const if_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const while_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const loop_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const for_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const match_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const any_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const wait_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const scope_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const nowait_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const shield_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const within_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const defer_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const return_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const break_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const continue_stmt& x);
  co<way> exec(thread_state& t, activation& a, const stmt& s, const fail_stmt& x);

  co<bool> holds(thread_state& t, activation& a, const condition& c);

  /// `loop`, or `while` with a condition.
  co<way> repeat(thread_state& t, activation& a, const condition* when, const block& body);

  /// The body of `within` or `shield`.
  co<way> exec_bounded(thread_state& t, activation& a, bound& b, const block& body);

  // Expressions.
  co<val*> place(thread_state& t, activation& a, const expr& e);
  co<val*> place(thread_state& t, activation& a, const expr& e, const name_expr& x);
  co<val*> place(thread_state& t, activation& a, const expr& e, const member_expr& x);
  co<val*> place(thread_state& t, activation& a, const expr& e, const index_expr& x);
  static co<val*> place(
      thread_state& t, activation& a, const expr& e,
      const one_of<bad_expr, integer_expr, duration_expr, text_expr, boolean_expr, none_expr,
                   list_expr, call_expr, unary_expr, binary_expr, range_expr, try_expr, move_expr,
                   spawn_expr, or_expr, action_expr> auto& x);

  [[noreturn]] void fail_fault(span at);

  __int128 arithmetic(word op, const type& t, __int128 x, __int128 y, span at);

  val zero_of(const type& t);

  std::int64_t later(std::int64_t span) const;

  co<val> eval(thread_state& t, activation& a, const expr& e);

  co<val> eval_plain(thread_state& t, activation& a, const expr& e);

  // One function a kind of expression.
  co<val> eval(thread_state& t, activation& a, const expr& e, const bad_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const name_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const integer_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const duration_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const boolean_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const text_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const none_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const list_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const call_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const index_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const member_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const unary_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const binary_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const range_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const try_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const move_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const spawn_expr& x);
  co<val> eval(thread_state& t, activation& a, const expr& e, const or_expr& x);
  static co<val> eval(thread_state& t, activation& a, const expr& e, const action_expr& x);

  co<std::vector<std::shared_ptr<val>>> arguments(thread_state& t, activation& a,
                                                  const call_expr& e);

  static val make_event(const std::shared_ptr<object>& rendezvous);
  val construct(const operation& op, const std::vector<val>& args);

  /// Whether the operation is done; it throws its error.
  static bool try_operation(const operation& op, object& on, const std::shared_ptr<object>& handle,
                            const val& sent, val& got);

  val at_once(const operation& op, object& on, const std::vector<val>& args);

  val look(const operation& op, const val& on, const std::vector<val>& args);

  void change(const operation& op, val& on, const std::vector<val>& args, const type& t, span at);

  std::string printed(const val& v, const type& t) const;

  const program& program_;
  std::uint64_t steps_;
  std::int64_t now_ = 0;
  std::string out_;
  std::string complaint_;
  std::exception_ptr trouble_;
  int depth_ = 0;
  std::deque<std::coroutine_handle<>> ready_;
  std::vector<waiter> waiting_;
  std::vector<running> threads_;
  std::vector<std::unique_ptr<starter>> starts_;
  std::vector<std::shared_ptr<bound>> keep_;
  std::unordered_map<const any_stmt*, std::size_t> won_;
};

}  // namespace heddle::draft
