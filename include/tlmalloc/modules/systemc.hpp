// SystemC and TLM-2.0, for every header of the modules. Rejects a C++ standard that would fail in the linker.
#ifndef TLMALLOC_MODULES_SYSTEMC_HPP
#define TLMALLOC_MODULES_SYSTEMC_HPP

// SystemC puts the C++ standard into the name of a symbol that every file refers to (sc_api_version_3_0_2_cxx201703L).
// Debian compiles libsystemc as C++17, 2.3.4 and 3.x alike; others compile it as C++20. SC_CPLUSPLUS is SystemC's own
// macro for the standard that its headers assume. A program links if all files that include SystemC set SC_CPLUSPLUS to
// the standard of libsystemc, and are compiled as that standard or a later one. The CMake target tlmalloc::modules and
// the flags of pkg-config define it, from the libsystemc that they found.
// clang-format off
#if __cplusplus < 201703L
#error "tlmalloc's SystemC modules need C++17, but this file is compiled with an earlier standard: use -std=c++17 or later"
#elif defined(SC_CPLUSPLUS) && SC_CPLUSPLUS > __cplusplus
#error "libsystemc is compiled with a later C++ standard (SC_CPLUSPLUS) than this file: compile this file with that standard or a later one (-std=c++20 where SC_CPLUSPLUS is 202002L)"
#elif !defined(SC_CPLUSPLUS) && __cplusplus != 201703L
#error "libsystemc has its C++ standard in the name of a symbol, so another standard fails in the linker: link the CMake target tlmalloc::modules, or use the flags of pkg-config for tlmalloc-modules, or define SC_CPLUSPLUS as the standard of libsystemc (Debian's: 201703L) wherever SystemC is included"
#endif
// clang-format on

#include <systemc>
#include <tlm>

// Names the type of the module, in front of SC_THREAD and SC_METHOD in a constructor without SC_CTOR. IEEE 1666-2011
// requires SC_HAS_PROCESS for this. IEEE 1666-2023 (SystemC 3) deprecates it and takes the type from `this`.
#if IEEE_1666_SYSTEMC < 202301L
#define TLMALLOC_HAS_PROCESS(module_type) SC_HAS_PROCESS(module_type)
#else
#define TLMALLOC_HAS_PROCESS(module_type) static_assert(true, "a semicolon follows")
#endif

#endif
