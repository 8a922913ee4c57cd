// SPDX-License-Identifier: MIT
// OpenSSL's random numbers in a simulation: those of the world's seed.
#pragma once

namespace heddle::tls::detail {

/// In a simulated world, has OpenSSL draw random numbers from the driver from now on, on threads
/// whose driver is simulated. Other threads keep those of OpenSSL. Call it before a key or a number
/// is made. Thread: any.
void use_random_numbers_of_world() noexcept;

}  // namespace heddle::tls::detail
