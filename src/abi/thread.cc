// SPDX-License-Identifier: MIT
// Threads of compiled code: making, spawning, calling, joining, and how one ends.
//
// A thread's `owner` names the one that gets its end: none (it belongs to its color's root), a job,
// a scope, or the frame that called it; the lowest bits say which. Before its first run in another
// color it is `fresh`: it joins that color's root when it runs there.
#include <cstdio>
#include <cstring>

#include "abi/job.hh"
#include "abi/objects.hh"
#include "abi/part.hh"
#include "heddle/core/scope.hh"

namespace heddle::abi {
namespace {

constexpr std::uintptr_t owner_mask = 7;
constexpr std::uintptr_t owned_by_root = 0;
constexpr std::uintptr_t owned_by_job = 1;
constexpr std::uintptr_t owned_by_caller = 2;
constexpr std::uintptr_t owned_by_scope = 3;
constexpr std::uintptr_t has_ended = 4;  // a called thread has ended; the rest is its status
constexpr std::uintptr_t not_started = 5;

heddle_thread& thread_of(heddle_frame* f) noexcept { return *reinterpret_cast<heddle_thread*>(f); }

struct leave_wait;

/// The content of a heddle_scope.
struct children {
  context* own;
  std::size_t live;
  leave_wait* waiter;
};
static_assert(sizeof(children) <= sizeof(heddle_scope));
children& children_of(heddle_scope* s) noexcept { return *reinterpret_cast<children*>(s); }

std::string_view last_part(const char* file) noexcept {
  std::string_view f(file);
  const std::size_t slash = f.rfind('/');
  return slash == std::string_view::npos ? f : f.substr(slash + 1);
}

/// Reports an end that nothing joins on stderr. The usual errors are silent.
void report_end(const heddle_thread& t, std::int64_t status) {
  switch (-status) {
    case 0:
    case -HEDDLE_EOF:
    case -HEDDLE_FAULT:  // reported where it happened
    case ECANCELED:
    case ETIMEDOUT:
    case ECONNRESET:
    case EPIPE:
      return;
    default:
      break;
  }
  const std::uint32_t at = HEDDLE_AT_NUMBER(t.frame.at);
  const heddle_wait_line& line = t.kind->lines[at < t.kind->line_count ? at : 0];
  const heddle_view name = heddle_error_name(static_cast<std::int32_t>(-status));
  const std::string_view file = last_part(line.file);
  const bool has_name = t.kind->name != nullptr;
  std::fprintf(stderr, "heddle: %s%s ended: error.%.*s (after %.*s:%u %s)\n",
               has_name ? "thread " : "a thread", has_name ? t.kind->name : "",
               static_cast<int>(name.len), name.data, static_cast<int>(file.size()), file.data(),
               line.line, line.what);
}

void free_thread(heddle_frame* f, heddle_worker* w) { heddle_free(w, f, thread_of(f).kind->size); }

/// A thread's first run, in its own color.
heddle_link first_run(heddle_frame* f, heddle_worker* hw) {
  worker& w = from(hw);
  heddle_thread& t = thread_of(f);
  f->resume = t.kind->run;
  context* where = &w.root_scope->context_of_tasks();
  w.root_scope->enter();
  if ((t.owner & owner_mask) == owned_by_job) {
    auto* const j = reinterpret_cast<heddle_job*>(t.owner & ~owner_mask);
    where = &j->begin(w, *where);
  }
  w.context_now = *where;
  f->context = w.context_now;
  return f->resume(f, hw);
}

void start_in(worker& w, heddle_frame* f, std::uint32_t place) {
  f->resume = &first_run;
  w.post_to(place, link_of(*f));
}

/// Waits for the children of a scope. A cancellation does not end this wait: it ends the children.
struct leave_wait : wait {
  explicit leave_wait(children& of) noexcept : wait(kind_of_wait), owner(of) {}
  void begin(heddle_frame& f, worker& w) noexcept {
    owner.waiter = this;
    park_plain(*this, f, w);
  }
  static const wait_kind kind_of_wait;
  children& owner;
};
const wait_kind leave_wait::kind_of_wait{"scope", [](wait&, worker&) noexcept {}, true};

}  // namespace
}  // namespace heddle::abi

using namespace heddle;
using namespace heddle::abi;

extern "C" {

void* heddle_thread_new(heddle_worker* w, const heddle_thread_kind* kind) {
  auto* const t = static_cast<heddle_thread*>(heddle_try_alloc(w, kind->size));
  if (t == nullptr) return nullptr;
  std::memset(static_cast<void*>(t), 0, kind->head);
  t->frame.resume = kind->run;
  t->frame.destroy = &free_thread;
  t->frame.at = HEDDLE_AT_THREAD;
  t->kind = kind;
  t->owner = not_started;
  return t;
}

heddle_link heddle_end(heddle_worker* hw, heddle_frame* self, std::int64_t status) {
  worker& w = from(hw);
  heddle_thread& t = thread_of(self);
  const std::uintptr_t owner = t.owner;
  switch (owner & owner_mask) {
    case owned_by_caller: {
      auto* const caller = reinterpret_cast<heddle_frame*>(owner & ~owner_mask);
      // The status is a small negative number or 0.
      t.owner = static_cast<std::uintptr_t>(-status) << 3 | has_ended;
      return link_of(*caller);
    }
    case owned_by_job: {
      auto* const j = reinterpret_cast<heddle_job*>(owner & ~owner_mask);
      heddle_scope* const in = j->scope;
      if (!j->joined_later()) report_end(t, status);
      j->finish(w, self, status, t.kind->result);
      free_thread(self, hw);
      if (in != nullptr) {
        children& c = children_of(in);
        if (--c.live == 0 && c.waiter != nullptr) wake(*std::exchange(c.waiter, nullptr), w);
      } else {
        w.root_scope->leave_later(w);
      }
      return 0;
    }
    case owned_by_scope: {
      children& c = children_of(reinterpret_cast<heddle_scope*>(owner & ~owner_mask));
      report_end(t, status);
      free_thread(self, hw);
      if (--c.live == 0 && c.waiter != nullptr) wake(*std::exchange(c.waiter, nullptr), w);
      return 0;
    }
    default:
      report_end(t, status);
      free_thread(self, hw);
      w.root_scope->leave_later(w);
      return 0;
  }
}

void heddle_scope_open(heddle_worker* hw, heddle_scope* s, heddle_frame* self) {
  worker& w = from(hw);
  *s = {};
  children& c = children_of(s);
  try {
    c.own = &context::open(w, &w.current_context());
    w.context_now = *c.own;
    self->context = w.context_now;
  } catch (...) {
    c.own = nullptr;  // memory is full: the scope's threads cannot be made either
  }
}

std::int64_t heddle_scope_leave(heddle_worker* hw, heddle_scope* s, heddle_frame* self,
                                bool cancel) {
  worker& w = from(hw);
  children& c = children_of(s);
  // The frame waits outside of the scope's context, so that cancelling it does not end this wait.
  if (c.own != nullptr && w.context_now.address() == reinterpret_cast<std::uintptr_t>(c.own)) {
    w.context_now = *c.own->parent();
    self->context = w.context_now;
    if (cancel) c.own->cancel(w);
  }
  if (c.live != 0) {
    auto* x = static_cast<leave_wait*>(s->opaque[3]);
    if (x == nullptr) {
      try {
        x = make<leave_wait>(w, c);
      } catch (...) {
        // There is no memory even for the wait: the frame asks again at the next turn.
        w.post(link_of(*self));
        return HEDDLE_PARKED;
      }
      s->opaque[3] = x;
      x->begin(*self, w);
    }
    return HEDDLE_PARKED;
  }
  if (auto* x = static_cast<leave_wait*>(std::exchange(s->opaque[3], nullptr))) drop(w, x);
  if (c.own != nullptr) context::close(w, *std::exchange(c.own, nullptr));
  return 0;
}

void heddle_spawn(heddle_worker* hw, heddle_frame* f) {
  if (f == nullptr) return;
  worker& w = from(hw);
  thread_of(f).owner = owned_by_root;
  start_in(w, f, w.color);
}

void heddle_spawn_color(heddle_worker* hw, heddle_frame* f, std::uint64_t color) {
  if (f == nullptr) return;
  worker& w = from(hw);
  thread_of(f).owner = owned_by_root;
  start_in(w, f, w.place_of(color));
}

void heddle_spawn_in(heddle_worker* hw, heddle_frame* f, heddle_scope* s) {
  if (f == nullptr) return;
  worker& w = from(hw);
  children& c = children_of(s);
  thread_of(f).owner = reinterpret_cast<std::uintptr_t>(s) | owned_by_scope;
  ++c.live;
  f->context = c.own != nullptr ? c.own->low() : static_cast<std::uint32_t>(w.context_now);
  w.post(link_of(*f));
}

heddle_job* heddle_job_of(heddle_worker* hw, heddle_frame* f, heddle_scope* s, std::int64_t color,
                          std::size_t size, heddle_drop drop_result) {
  worker& w = from(hw);
  heddle_job* j = heddle_job::make(w, size, drop_result);
  const std::uint32_t place =
      color == HEDDLE_SAME_COLOR ? w.color : w.place_of(static_cast<std::uint64_t>(color));
  if (f == nullptr || j == nullptr) {
    if (f != nullptr && s != nullptr) {  // without a job it runs alone
      heddle_spawn_in(hw, f, s);
    } else if (f != nullptr) {
      thread_of(f).owner = owned_by_root;
      start_in(w, f, place);
    }
    if (j != nullptr) j->fail(-ENOMEM);
    return j;
  }
  thread_of(f).owner = reinterpret_cast<std::uintptr_t>(j) | owned_by_job;
  if (s != nullptr) {
    children& c = children_of(s);
    j->scope = s;
    ++c.live;
    j->color = w.color;
    context& outer = c.own != nullptr ? *c.own : w.current_context();
    f->context = j->begin(w, outer).low();
    w.post(link_of(*f));
    return j;
  }
  j->color = place;
  start_in(w, f, place);
  return j;
}

std::int64_t heddle_call(heddle_worker* hw, heddle_frame* f, heddle_frame* self, heddle_link* run) {
  worker& w = from(hw);
  heddle_thread& t = thread_of(f);
  if (t.owner == not_started) {
    t.owner = reinterpret_cast<std::uintptr_t>(self) | owned_by_caller;
    f->context = self->context = w.context_now;
    *run = link_of(*f);
    return HEDDLE_PARKED;
  }
  if ((t.owner & owner_mask) != has_ended) return HEDDLE_PARKED;
  return -static_cast<std::int64_t>(t.owner >> 3);
}

void heddle_call_result(heddle_frame* f, void* out, std::size_t size) {
  const heddle_thread& t = thread_of(f);
  std::memcpy(out, reinterpret_cast<const char*>(f) + t.kind->result, size);
}

void heddle_call_end(heddle_worker* hw, heddle_frame* f) { free_thread(f, hw); }

}  // extern "C"
