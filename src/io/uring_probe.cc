// SPDX-License-Identifier: MIT
// Finds out whether io_uring runs here: makes a small ring and names the features it grants.
#include <liburing.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "io/uring.hh"
#include "io/uring_ring.hh"

namespace heddle {
namespace {

/// The value of kernel.io_uring_disabled, or -1 where the kernel has no such switch.
int disabled_by_sysctl() noexcept {
  std::FILE* file = std::fopen("/proc/sys/kernel/io_uring_disabled", "re");
  if (file == nullptr) return -1;
  int value = -1;
  if (std::fscanf(file, "%d", &value) != 1) value = -1;
  std::fclose(file);
  return value;
}

driver_probe refused(int error) {
  driver_probe p{"io_uring", false, std::strerror(-error), ""};
  switch (-error) {
    case ENOSYS:
      p.detail = "this kernel has no io_uring";
      p.advice = "use Linux 6.0 or later, or HEDDLE_DRIVER=epoll";
      break;
    case EPERM: {
      const int value = disabled_by_sysctl();
      if (value > 0) {
        p.detail = "kernel.io_uring_disabled is " + std::to_string(value);
        p.advice = "sysctl kernel.io_uring_disabled=0, or HEDDLE_DRIVER=epoll";
      } else {
        p.detail = "not permitted, probably by a seccomp filter (containers have one)";
        p.advice =
            "allow io_uring_setup, io_uring_enter and io_uring_register, or "
            "HEDDLE_DRIVER=epoll";
      }
      break;
    }
    case ENOMEM:
      p.detail = "the limit on locked memory is too small for a ring";
      p.advice = "raise it (ulimit -l), or HEDDLE_DRIVER=epoll";
      break;
    default:
      p.advice = "HEDDLE_DRIVER=epoll";
      break;
  }
  return p;
}

bool has_buffer_rings(io_uring& ring) noexcept {
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uint64_t>(memory);
  registration.ring_entries = 8;
  registration.bgid = 7;
  const bool works = io_uring_register_buf_ring(&ring, &registration, 0) == 0;
  if (works) (void)io_uring_unregister_buf_ring(&ring, 7);
  ::munmap(memory, 4096);
  return works;
}

}  // namespace

driver_probe probe_uring() {
  io_uring ring{};
  if (const int error = open_ring(ring, 8); error < 0) return refused(error);
  driver_probe p{"io_uring", true, "", ""};
  const bool buffers = has_buffer_rings(ring);
  const bool deferred = (ring.flags & IORING_SETUP_DEFER_TASKRUN) != 0;
  io_uring_probe* const known = io_uring_get_probe_ring(&ring);
  const bool opcodes = known != nullptr && io_uring_opcode_supported(known, IORING_OP_SEND_ZC);
  if (known != nullptr) io_uring_free_probe(known);
  io_uring_queue_exit(&ring);
  // Multishot receive came with Linux 6.0, as did the opcode that is looked for here.
  p.usable = buffers && opcodes;
  p.detail = std::string("provided buffer rings ") + (buffers ? "yes" : "no") +
             ", multishot accept and receive " + (opcodes ? "yes" : "no") +
             ", deferred task work " + (deferred ? "yes" : "no");
  if (!p.usable) p.advice = "use Linux 6.0 or later, or HEDDLE_DRIVER=epoll";
  return p;
}

}  // namespace heddle
