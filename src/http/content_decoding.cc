// SPDX-License-Identifier: MIT
// Chooses the library for a coding, and words its errors.
#include "heddle/http/content_decoding.hh"

#include <string>

#include "heddle/base/error.hh"
#include "http/unpackers.hh"

namespace heddle::http {
namespace {

std::unique_ptr<detail::unpacker> unpacker_of(content_coding coding) {
  switch (coding) {
    case content_coding::gzip:
      return detail::unpack_gzip();
    case content_coding::brotli:
      return detail::unpack_brotli();
    case content_coding::zstd:
      return detail::unpack_zstd();
    case content_coding::identity:
      break;
  }
  return nullptr;
}

}  // namespace

// The libraries that pack also unpack.
coding_set codings_read() noexcept { return codings_made(); }

content_reader::content_reader(content_coding coding)
    : coding_(coding), unpacker_(unpacker_of(coding)) {
  if (unpacker_ == nullptr)
    throw failure(std::make_error_code(std::errc::not_supported),
                  "this build cannot unpack the coding '" + std::string(name_of(coding)) + "'");
}

content_reader::~content_reader() = default;

std::size_t content_reader::read(std::string_view& packed, std::span<char> room) {
  if (const auto count = unpacker_->read(packed, room)) return *count;
  throw failure(std::make_error_code(std::errc::bad_message),
                "the body is not valid " + std::string(name_of(coding_)) +
                    " although its Content-Encoding says so");
}

void content_reader::finish() const {
  if (unpacker_->whole()) return;
  throw failure(std::make_error_code(std::errc::bad_message),
                "the body ended inside its " + std::string(name_of(coding_)) +
                    " data; the answer is incomplete");
}

}  // namespace heddle::http
