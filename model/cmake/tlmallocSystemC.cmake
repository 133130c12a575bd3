# Finds SystemC and TLM-2.0 and defines tlmalloc::systemc; sets tlmalloc_SYSTEMC_FOUND, or tlmalloc_SYSTEMC_MESSAGE.
# It is included by its path and is no FindSystemC.cmake, and its names are its own: other packages bring finders of that
# name, and what one of them finds must neither stand in our way nor we in its.
#
# A target SystemC::systemc that is there already (SystemC as part of the build, another package's finder) is used; else
# SystemC's own package (SystemCLanguage); else pkg-config, as Debian's libsystemc-dev has it.
set(tlmalloc_SYSTEMC_FOUND TRUE)
if(TARGET tlmalloc::systemc)
  return()
endif()
if(NOT TARGET SystemC::systemc)
  find_package(SystemCLanguage CONFIG QUIET)
  if(TARGET SystemC::systemc)
    set_property(TARGET SystemC::systemc PROPERTY IMPORTED_GLOBAL TRUE)
  endif()
endif()
if(TARGET SystemC::systemc)
  add_library(tlmalloc::systemc INTERFACE IMPORTED GLOBAL)
  set_property(TARGET tlmalloc::systemc PROPERTY INTERFACE_LINK_LIBRARIES SystemC::systemc)
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
