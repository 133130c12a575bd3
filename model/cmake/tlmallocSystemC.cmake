# Finds SystemC and TLM-2.0 and defines tlmalloc::systemc; sets tlmalloc_SYSTEMC_FOUND, or tlmalloc_SYSTEMC_MESSAGE.
# It is included by its path and is no FindSystemC.cmake, and its names are its own: other packages bring finders of that
# name, and what one of them finds must neither stand in our way nor we in its.
#
# A target SystemC::systemc that is there already (SystemC as part of the build, another package's finder) is used; else
# SystemC's own package (SystemCLanguage); else pkg-config, as Debian's libsystemc-dev has it.
#
# libsystemc has the C++ standard that it was compiled as in the name of a symbol to which every file that includes
# <systemc> refers: sc_api_version_3_0_2_cxx201703L. tlmalloc::systemc states this standard. Its users are compiled as
# that standard or a later one; SC_CPLUSPLUS makes SystemC's headers refer to the symbol that exists.
set(tlmalloc_SYSTEMC_FOUND TRUE)
if(TARGET tlmalloc::systemc)
  return()
endif()

# tlmalloc_state_standard(LIBRARY): states the standard of the file LIBRARY on tlmalloc::systemc, or C++17 where it is
# unknown (a library that is yet to be built); and in tlmalloc_SYSTEMC_CPLUSPLUS, for pkg-config. tlmalloc_SYSTEMC_SYMBOL is
# the symbol, or empty where it is unknown.
function(tlmalloc_state_standard library)
  set(cplusplus 201703L)
  set(symbol "")
  if(EXISTS "${library}")
    file(STRINGS "${library}" symbols REGEX "sc_api_version_[0-9_]+cxx[0-9]+L")
    if(symbols MATCHES "sc_api_version_[0-9_]+cxx([0-9]+L)")
      set(symbol ${CMAKE_MATCH_0})
      set(cplusplus ${CMAKE_MATCH_1})
    endif()
  endif()
  string(SUBSTRING ${cplusplus} 2 2 standard) # 201703L is C++17, 202002L C++20, 202302L C++23
  set_target_properties(tlmalloc::systemc PROPERTIES
    INTERFACE_COMPILE_FEATURES cxx_std_${standard}
    INTERFACE_COMPILE_DEFINITIONS $<$<COMPILE_LANGUAGE:CXX>:SC_CPLUSPLUS=${cplusplus}>)
  set(tlmalloc_SYSTEMC_CPLUSPLUS ${cplusplus} CACHE INTERNAL "The C++ standard of libsystemc")
  set(tlmalloc_SYSTEMC_SYMBOL "${symbol}" CACHE INTERNAL "The symbol of libsystemc with its version and standard")
endfunction()

if(NOT TARGET SystemC::systemc)
  find_package(SystemCLanguage CONFIG QUIET)
  if(TARGET SystemC::systemc)
    set_property(TARGET SystemC::systemc PROPERTY IMPORTED_GLOBAL TRUE)
  endif()
endif()
if(TARGET SystemC::systemc)
  add_library(tlmalloc::systemc INTERFACE IMPORTED GLOBAL)
  set_property(TARGET tlmalloc::systemc PROPERTY INTERFACE_LINK_LIBRARIES SystemC::systemc)
  # As part of the build its headers are no system headers, and our warnings would be about them.
  set_property(TARGET tlmalloc::systemc PROPERTY INTERFACE_SYSTEM_INCLUDE_DIRECTORIES
               $<TARGET_PROPERTY:SystemC::systemc,INTERFACE_INCLUDE_DIRECTORIES>)
  get_target_property(tlmalloc_is_imported SystemC::systemc IMPORTED)
  set(tlmalloc_systemc_file "")
  if(tlmalloc_is_imported)
    get_target_property(tlmalloc_systemc_file SystemC::systemc LOCATION)
  endif()
  tlmalloc_state_standard("${tlmalloc_systemc_file}")
  return()
endif()

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(tlmalloc_PC_SYSTEMC QUIET systemc)
  pkg_check_modules(tlmalloc_PC_TLM QUIET tlm)
endif()
find_path(tlmalloc_SYSTEMC_INCLUDE_DIR NAMES systemc HINTS ${tlmalloc_PC_SYSTEMC_INCLUDE_DIRS})
find_path(tlmalloc_TLM_INCLUDE_DIR NAMES tlm HINTS ${tlmalloc_PC_TLM_INCLUDE_DIRS} ${tlmalloc_PC_SYSTEMC_INCLUDE_DIRS})
find_library(tlmalloc_SYSTEMC_LIBRARY NAMES systemc HINTS ${tlmalloc_PC_SYSTEMC_LIBRARY_DIRS})
mark_as_advanced(tlmalloc_SYSTEMC_INCLUDE_DIR tlmalloc_TLM_INCLUDE_DIR tlmalloc_SYSTEMC_LIBRARY)
if(NOT tlmalloc_SYSTEMC_INCLUDE_DIR OR NOT tlmalloc_TLM_INCLUDE_DIR OR NOT tlmalloc_SYSTEMC_LIBRARY)
  set(tlmalloc_SYSTEMC_FOUND FALSE)
  set(tlmalloc_SYSTEMC_MESSAGE "tlmalloc: SystemC with TLM-2.0 was not found. On Debian: apt-get install libsystemc-dev")
  return()
endif()
find_package(Threads REQUIRED)
add_library(tlmalloc::systemc INTERFACE IMPORTED GLOBAL)
set_target_properties(tlmalloc::systemc PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${tlmalloc_SYSTEMC_INCLUDE_DIR};${tlmalloc_TLM_INCLUDE_DIR}"
  INTERFACE_LINK_LIBRARIES "${tlmalloc_SYSTEMC_LIBRARY};Threads::Threads")
tlmalloc_state_standard("${tlmalloc_SYSTEMC_LIBRARY}")
