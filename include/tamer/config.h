/* SPDX-License-Identifier: MIT
 * The macros of tamer's configuration. Heddle needs C++23, so all of these features are there. A
 * preevent is a type of its own, but as cheap as an event, because every event is. */
#pragma once

#define TAMER_HAVE_CXX_LAMBDAS 1
#define TAMER_HAVE_CXX_RVALUE_REFERENCES 1
#define TAMER_HAVE_CXX_TEMPLATE_ALIAS 1
#define TAMER_HAVE_CXX_VARIADIC_TEMPLATES 1
#define TAMER_HAVE_CXX_STATIC_ASSERT 1
#define TAMER_HAVE_CXX_AUTO 1
#define TAMER_HAVE_CXX_NOEXCEPT 1
#define TAMER_HAVE_PREEVENT 1
#define TAMER_MOVE(x) ::std::move(x)
#define TAMER_MAKE_ANNOTATED_EVENT(...) make_event(__VA_ARGS__)
#define TAMER_MAKE_FN_ANNOTATED_EVENT(name, ...) make_event(__VA_ARGS__)
#define TAMER_HAVE_CXX_CONSTEXPR 1
#define TAMER_HAVE_CXX_TYPE_TRAITS 1
#define TAMER_NOEXCEPT noexcept
#define TAMER_CONSTEXPR constexpr
