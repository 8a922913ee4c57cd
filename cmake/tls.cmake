# SPDX-License-Identifier: MIT
# Room tls, heddle::tls: TLS by OpenSSL 3. Without it the room is left out, together with its tests,
# the examples that name it, and what `heddle serve` and `heddle cert` do with it.

find_package(OpenSSL 3.0 QUIET COMPONENTS SSL Crypto)
set(tls_possible OFF)
if(OPENSSL_FOUND AND TARGET OpenSSL::SSL)
  set(tls_possible ON)
endif()
heddle_optional(HEDDLE_TLS tls_possible "TLS (OpenSSL 3)" HEDDLE_WITH_TLS)
if(HEDDLE_WITH_TLS)
  heddle_room(tls LINKS heddle OpenSSL::SSL OpenSSL::Crypto)
  target_compile_definitions(heddle_tls INTERFACE HEDDLE_WITH_TLS=1)
else()
  list(APPEND HEDDLE_ROOMS_LEFT_OUT tls)
endif()
