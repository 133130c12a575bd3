// SystemC and TLM-2.0, for every header of the modules; refuses a C++ standard that would fail at the linker.
#ifndef TLMALLOC_MODULES_SYSTEMC_HPP
#define TLMALLOC_MODULES_SYSTEMC_HPP

// SystemC puts the C++ standard into the name of a symbol that every file refers to (sc_api_version_2_3_4_cxx201703L).
// Debian's libsystemc and libtlmalloc_modules were built as C++17. SC_CPLUSPLUS is SystemC's own way of saying which
// standard its headers are to be read as: with SC_CPLUSPLUS=201703L in all files that include SystemC, a program in a
// later standard links.
// clang-format off
#if __cplusplus < 201703L
#error "tlmalloc's SystemC modules are C++17, and this file is compiled as an earlier standard: use -std=c++17"
#elif (defined(SC_CPLUSPLUS) && SC_CPLUSPLUS != 201703L) || (!defined(SC_CPLUSPLUS) && __cplusplus != 201703L)
#error "libsystemc has C++17 in the name of a symbol, so that another standard fails at the linker: use -std=c++17, or define SC_CPLUSPLUS=201703L wherever SystemC is included"
#endif
// clang-format on

#include <systemc>
#include <tlm>

#endif
