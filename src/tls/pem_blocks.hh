// SPDX-License-Identifier: MIT
// The blocks of a PEM text (RFC 7468), each with its line. OpenSSL's readers search for the next
// block that they can use and skip the rest; with them a damaged certificate in the middle of a
// chain is lost without a word. Every certificate that we load is read with these functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tls/handles.hh"

namespace heddle::tls::detail {

struct pem_block {
  std::string_view label;  ///< "CERTIFICATE", "PRIVATE KEY"
  std::string_view text;   ///< the whole block, its BEGIN and END lines included
  std::size_t line;        ///< number of its BEGIN line in the text, from 1
};

/// All blocks, of every kind. Text between blocks is a comment.
/// Fails: failure with WHERE:LINE, for a block without an end, an end without a block, and a line
///   that begins like one of them and is neither.
[[nodiscard]] std::vector<pem_block> pem_blocks(std::string_view text, const std::string& where);

/// All certificates; an empty list if there is none. Blocks of other kinds are skipped.
/// Fails: as pem_blocks(), and for a certificate that cannot be read.
[[nodiscard]] std::vector<x509_handle> certificates_of(std::string_view text,
                                                       const std::string& where);

/// The bytes of a file. Fails: failure: "cannot read the WHAT 'PATH'".
[[nodiscard]] std::string read_whole(const std::string& path, const char* what);

/// The certificates in a file of authorities. Throws failure if one cannot be read, or if there is
/// none.
[[nodiscard]] std::vector<x509_handle> authorities_in(const std::string& path);

}  // namespace heddle::tls::detail
