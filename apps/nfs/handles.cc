// SPDX-License-Identifier: MIT
// Making and checking sealed handles.
#include "handles.hh"

#include <cstring>

namespace nfs {
namespace {

constexpr char handle_version = 1;
constexpr std::size_t head_bytes = 4;
constexpr std::size_t seal_bytes = 8;

std::uint64_t seal_of(const heddle::siphash_key& key, std::string_view bytes) noexcept {
  return heddle::siphash<2, 4>(key, std::as_bytes(std::span<const char>(bytes)));
}

}  // namespace

std::optional<handle> handle_seal::make(std::uint8_t export_number, int type,
                                        std::string_view kernel) const {
  if (kernel.size() > kernel_handle_bytes_max || type < 0 || type > 255) return {};
  handle made;
  made.data.reserve(head_bytes + kernel.size() + seal_bytes);
  made.data.push_back(handle_version);
  made.data.push_back(static_cast<char>(export_number));
  made.data.push_back(static_cast<char>(kernel.size()));
  made.data.push_back(static_cast<char>(type));
  made.data.append(kernel);
  const std::uint64_t seal = seal_of(key_, made.data);
  char bytes[seal_bytes];
  std::memcpy(bytes, &seal, seal_bytes);
  made.data.append(bytes, seal_bytes);
  return made;
}

std::optional<handle_parts> handle_seal::read(const handle& of) const noexcept {
  const std::string_view all = of.data;
  if (all.size() < head_bytes + seal_bytes || all.size() > NFS3_FHSIZE) return {};
  const handle_parts parts = parts_of(of);
  if (all[0] != handle_version || head_bytes + parts.kernel.size() + seal_bytes != all.size())
    return {};
  if (seal_of(key_, all.substr(0, all.size() - seal_bytes)) != parts.hash) return {};
  return parts;
}

handle_parts parts_of(const handle& accepted) noexcept {
  const std::string_view all = accepted.data;
  handle_parts parts;
  parts.export_number = static_cast<std::uint8_t>(all[1]);
  parts.type = static_cast<std::uint8_t>(all[3]);
  parts.kernel = all.substr(head_bytes, static_cast<std::uint8_t>(all[2]));
  std::memcpy(&parts.hash, all.data() + all.size() - seal_bytes, seal_bytes);
  return parts;
}

}  // namespace nfs
