// SystemC and TLM-2.0, for every header of the modules; refuses a C++ standard that would fail at the linker.
#ifndef TLMALLOC_MODULES_SYSTEMC_HPP
#define TLMALLOC_MODULES_SYSTEMC_HPP

// SystemC puts the C++ standard into the name of a symbol that every file refers to (sc_api_version_3_0_2_cxx201703L).
// Debian compiles libsystemc as C++17, 2.3.4 and 3.x alike. SC_CPLUSPLUS is SystemC's own macro for the standard as
// which its headers are read: a program in a later standard links if SC_CPLUSPLUS is the standard of libsystemc in all
// files that include SystemC. The CMake target tlmalloc::modules and the flags of pkg-config define it.
// clang-format off
#if __cplusplus < 201703L
#error "tlmalloc's SystemC modules are C++17, and this file is compiled as an earlier standard: use -std=c++17 or a later one"
#elif !defined(SC_CPLUSPLUS) && __cplusplus != 201703L
#error "libsystemc has C++17 in the name of a symbol, so that another standard fails at the linker: link the CMake target tlmalloc::modules, or use the flags of pkg-config for tlmalloc-modules, or define SC_CPLUSPLUS=201703L wherever SystemC is included"
#endif
// clang-format on

#include <systemc>
#include <tlm>

#endif
