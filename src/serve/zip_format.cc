// SPDX-License-Identifier: MIT
// Numbers are little-endian. A field that is too small has all bits set, and the extra field
// (section 4.5.3) has the number.
#include "serve/zip_format.hh"

#include <ctime>

namespace heddle::serve {
namespace {

constexpr std::uint32_t all_32 = 0xffffffff;
constexpr std::uint16_t utf8_names = 1 << 11;
constexpr std::uint16_t made_on_unix = 3 << 8;

void put(std::string& to, std::uint64_t value, int bytes) {
  for (; bytes != 0; --bytes, value >>= 8) to += static_cast<char>(value & 0xff);
}

bool large(std::uint64_t n) noexcept { return n >= all_32; }
std::uint32_t small(std::uint64_t n) noexcept {
  return large(n) ? all_32 : static_cast<std::uint32_t>(n);
}

/// Date and time as MS-DOS had them, in UTC: from 1980, in steps of two seconds.
std::uint32_t dos_time(std::int64_t s) noexcept {
  std::tm t{};
  const std::time_t when = s;
  ::gmtime_r(&when, &t);
  if (t.tm_year < 80) return 1 << 21 | 1 << 16;
  if (t.tm_year > 207) t.tm_year = 207;
  return static_cast<std::uint32_t>((t.tm_year - 80) << 25 | (t.tm_mon + 1) << 21 |
                                    t.tm_mday << 16 | t.tm_hour << 11 | t.tm_min << 5 |
                                    t.tm_sec / 2);
}

}  // namespace

std::string zip_format::head(const archived_file& f, std::uint32_t crc) {
  const bool wide = large(f.size);
  const std::uint16_t version = wide || large(at_) ? 45 : 20;
  const auto common = [&](std::string& to) {  // the common fields of both heads
    put(to, version, 2);
    put(to, utf8_names, 2);
    put(to, 0, 2);  // stored
    put(to, dos_time(f.modified_s), 4);
    put(to, crc, 4);
    put(to, small(f.size), 4);
    put(to, small(f.size), 4);
    put(to, f.path.size(), 2);
  };
  std::string local;
  put(local, 0x04034b50, 4);
  common(local);
  put(local, wide ? 20 : 0, 2);
  local += f.path;
  if (wide) {
    put(local, 1, 2);
    put(local, 16, 2);
    put(local, f.size, 8);
    put(local, f.size, 8);
  }
  std::string extra;
  if (wide) {
    put(extra, f.size, 8);
    put(extra, f.size, 8);
  }
  if (large(at_)) put(extra, at_, 8);
  const bool folder = f.path.ends_with('/');
  const std::uint32_t mode = folder ? 040755 : f.executable ? 0100755 : 0100644;
  put(directory_, 0x02014b50, 4);
  put(directory_, made_on_unix | version, 2);
  common(directory_);
  put(directory_, extra.empty() ? 0 : extra.size() + 4, 2);
  put(directory_, 0, 6);  // comment, disk, internal attributes
  put(directory_, mode << 16 | (folder ? 0x10 : 0), 4);
  put(directory_, small(at_), 4);
  directory_ += f.path;
  if (!extra.empty()) {
    put(directory_, 1, 2);
    put(directory_, extra.size(), 2);
    directory_ += extra;
  }
  ++count_;
  at_ += local.size() + f.size;
  return local;
}

std::string zip_format::end() const {
  std::string bytes = directory_;
  const std::uint64_t size = directory_.size();
  const bool wide = large(at_) || large(size) || count_ >= 0xffff;
  if (wide) {
    put(bytes, 0x06064b50, 4);
    put(bytes, 44, 8);
    put(bytes, made_on_unix | 45, 2);
    put(bytes, 45, 2);
    put(bytes, 0, 8);  // disks
    put(bytes, count_, 8);
    put(bytes, count_, 8);
    put(bytes, size, 8);
    put(bytes, at_, 8);
    put(bytes, 0x07064b50, 4);
    put(bytes, 0, 4);
    put(bytes, at_ + size, 8);
    put(bytes, 1, 4);
  }
  put(bytes, 0x06054b50, 4);
  put(bytes, 0, 4);
  put(bytes, count_ >= 0xffff ? 0xffff : count_, 2);
  put(bytes, count_ >= 0xffff ? 0xffff : count_, 2);
  put(bytes, small(size), 4);
  put(bytes, small(at_), 4);
  put(bytes, 0, 2);
  return bytes;
}

}  // namespace heddle::serve
