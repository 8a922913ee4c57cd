// SPDX-License-Identifier: MIT
// Interprets built-in operations.
#include "support/draft/interpreter.hh"

namespace heddle::draft {

val interpreter::make_event(const std::shared_ptr<object>& rendezvous) {
  val v;
  v.handle = std::make_shared<object>();
  v.handle->joined_by = rendezvous;
  ++rendezvous->left;
  return v;
}

val interpreter::construct(const operation& op, const std::vector<val>& args) {
  val v;
  const __int128 n = args.empty() ? 1 : args[0].n;
  if (op.name == "buffer") {
    if (n < 1 || n > (1 << 30)) throw op_error{error_code("invalid")};
    v.n = n;
    return v;
  }
  if ((op.name == "channel" && (n < 1 || n > (1 << 20))) || n < 0)
    throw op_error{error_code("invalid")};
  v.handle = std::make_shared<object>();
  v.handle->capacity = static_cast<std::size_t>(n);
  v.handle->left = op.name == "rendezvous" ? 0 : static_cast<std::int64_t>(n);
  return v;
}

bool interpreter::try_operation(const operation& op, object& on,
                                const std::shared_ptr<object>& handle, const val& sent, val& got) {
  if (op.on == receiver::channel && op.name == "send") {
    if (on.closed) throw op_error{error_code("closed")};
    if (on.values.size() >= on.capacity) return false;
    on.values.push_back(sent);
    return true;
  }
  if (op.on == receiver::channel || op.on == receiver::subscription) {
    if (std::exchange(on.missed, false)) throw op_error{error_code("missed")};
    if (on.values.empty()) {
      if (on.closed) throw op_error{error_code("eof")};
      return false;
    }
    got = std::move(on.values.front());
    on.values.pop_front();
    return true;
  }
  if (op.on == receiver::rendezvous) {
    if (on.values.empty() && on.left == 0) throw op_error{error_code("eof")};
    if (on.values.empty()) return false;
    got = std::move(on.values.front());
    on.values.pop_front();
    return true;
  }
  if (op.on == receiver::semaphore) {
    if (on.left == 0) return false;
    --on.left;
    got.handle = std::make_shared<object>();
    got.handle->gives_back = handle;
    return true;
  }
  if (op.on == receiver::job) {
    job_state& j = *on.job;
    if (!j.ended) return false;
    if (j.faulted) throw op_error{4094};
    if (j.code != 0) throw op_error{j.code};
    if (std::exchange(j.taken, true)) throw op_error{error_code("invalid")};
    got = std::move(j.result);
    return true;
  }
  throw unsupported{std::string(op.name)};
}

val interpreter::at_once(const operation& op, object& on, const std::vector<val>& args) {
  val v;
  if (op.name == "try_receive") {
    if (on.values.empty()) throw op_error{error_code(on.closed ? "eof" : "empty")};
    v = std::move(on.values.front());
    on.values.pop_front();
  } else if (op.name == "try_send") {
    if (on.closed) throw op_error{error_code("closed")};
    if (on.values.size() >= on.capacity) throw op_error{error_code("full")};
    on.values.push_back(args[0]);
  } else if (op.name == "close") {
    on.closed = true;
  } else if (op.on == receiver::broadcast && op.name == "send") {
    for (const auto& weak : on.subscribers) {
      const auto s = weak.lock();
      if (!s) continue;
      if (s->values.size() >= s->capacity) {
        s->values.pop_front();
        s->missed = true;
      }
      s->values.push_back(args[0]);
    }
  } else if (op.name == "subscribe") {
    v.handle = std::make_shared<object>();
    v.handle->capacity = static_cast<std::size_t>(args[0].n);
    on.subscribers.push_back(v.handle);
  } else if (op.on == receiver::event || op.on == receiver::signal) {
    if (const auto to = std::exchange(on.joined_by, nullptr)) {
      --to->left;
      to->values.push_back(on.id ? *on.id : args[0]);
    }
  } else if (op.name == "cancel") {
    on.job_bound->canceled = true;
  } else {
    throw unsupported{std::string(op.name)};
  }
  changed();
  return v;
}

val interpreter::look(const operation& op, const val& on, const std::vector<val>& args) {
  val v;
  if (op.name == "filled" || op.name == "copy") {
    v.s = on.s;
  } else if (op.name == "room") {
    v.n = on.n - static_cast<__int128>(on.s.size());
  } else if (op.name == "find") {
    const std::size_t at = on.s.find(args[0].s);
    if (at != std::string::npos) {
      val n;
      n.n = static_cast<__int128>(at);
      v.parts.push_back(n);
    }
  } else if (op.name == "starts_with") {
    v.n = on.s.starts_with(args[0].s);
  } else if (op.name == "trim") {
    const char* const spaces = " \t\r\n";
    const std::size_t first = on.s.find_first_not_of(spaces);
    if (first != std::string::npos)
      v.s = on.s.substr(first, on.s.find_last_not_of(spaces) + 1 - first);
  } else if (op.name == "to_int") {
    const std::string& s = on.s;
    const std::size_t begin = !s.empty() && s[0] == '-' ? 1 : 0;
    if (s.size() == begin || s.size() > 20) throw op_error{error_code("syntax")};
    __int128 n = 0;
    for (std::size_t i = begin; i != s.size(); ++i) {
      if (s[i] < '0' || s[i] > '9') throw op_error{error_code("syntax")};
      n = n * 10 + (s[i] - '0');
    }
    if (begin != 0) n = -n;
    if (n < INT64_MIN || n > INT64_MAX) throw op_error{error_code("syntax")};
    v.n = n;
  } else {
    throw unsupported{std::string(op.name)};
  }
  return v;
}

void interpreter::change(const operation& op, val& on, const std::vector<val>& args, const type& t,
                         span at) {
  if (op.name == "clear") {
    on.s.clear();
  } else if (op.name == "consume") {
    if (args[0].n < 0 || args[0].n > static_cast<__int128>(on.s.size())) fail_fault(at);
    on.s.erase(0, static_cast<std::size_t>(args[0].n));
  } else if (op.name == "append") {
    if (on.s.size() + args[0].s.size() > t.count) throw op_error{error_code("full")};
    on.s += args[0].s;
  } else {
    throw unsupported{std::string(op.name)};
  }
}

std::string interpreter::printed(const val& v, const type& t) const {
  if (t.is(kind::view) || t.is(kind::text) || t.is(kind::bytes)) return v.s;
  if (t.is(kind::boolean)) return v.n != 0 ? "true" : "false";
  if (t.is(kind::error)) {
    if (v.n == 0) return "none";
    for (const auto& [name, code] : program_.errors)
      if (code == static_cast<std::uint32_t>(v.n)) return name;
    for (const char* name : {"eof", "canceled", "timeout", "memory", "closed", "full", "empty",
                             "syntax", "missed", "invalid"})
      if (error_code(name) == static_cast<std::uint32_t>(v.n)) return name;
    return "system";
  }
  std::string out;
  __int128 n = v.n < 0 ? -v.n : v.n;
  do out.insert(out.begin(), static_cast<char>('0' + static_cast<int>(n % 10)));
  while ((n /= 10) != 0);
  if (v.n < 0) out.insert(out.begin(), '-');
  return t.is(kind::duration) ? out + "ns" : out;
}

}  // namespace heddle::draft
