# Finds the configuration library of CCI and defines tlmalloc::cci_configuration; sets tlmalloc_CCI_FOUND, or
# tlmalloc_CCI_MESSAGE. tlmalloc::systemc must exist.
#
# A target SystemC::cci-config that is there already (CCI as part of the build, as in QBox) is used; else header and library
# are looked for, below CMAKE_PREFIX_PATH too. CCI's own package is not used: it wants SystemC's package, which Debian's
# libsystemc-dev lacks. Up to version 1.0.2 target and library have other names: SystemC::cci, and libcci instead of
# libcci-config.
set(tlmalloc_CCI_FOUND TRUE)
if(TARGET tlmalloc::cci_configuration)
  return()
endif()
foreach(target SystemC::cci-config SystemC::cci)
  if(TARGET ${target})
    add_library(tlmalloc::cci_configuration INTERFACE IMPORTED GLOBAL)
    set_property(TARGET tlmalloc::cci_configuration PROPERTY INTERFACE_LINK_LIBRARIES ${target})
    set_property(TARGET tlmalloc::cci_configuration PROPERTY INTERFACE_SYSTEM_INCLUDE_DIRECTORIES
                 $<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>)
    return()
  endif()
endforeach()
find_path(tlmalloc_CCI_INCLUDE_DIR NAMES cci_configuration)
find_library(tlmalloc_CCI_LIBRARY NAMES cci-config cci)
mark_as_advanced(tlmalloc_CCI_INCLUDE_DIR tlmalloc_CCI_LIBRARY)
if(NOT tlmalloc_CCI_INCLUDE_DIR OR NOT tlmalloc_CCI_LIBRARY)
  set(tlmalloc_CCI_FOUND FALSE)
  set(tlmalloc_CCI_MESSAGE "CCI was not found: its header cci_configuration and its library, libcci-config or libcci. \
Install CCI (https://github.com/accellera-official/cci) and add its prefix to CMAKE_PREFIX_PATH")
  return()
endif()
add_library(tlmalloc::cci_configuration INTERFACE IMPORTED GLOBAL)
set_target_properties(tlmalloc::cci_configuration PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${tlmalloc_CCI_INCLUDE_DIR}"
  INTERFACE_LINK_LIBRARIES "${tlmalloc_CCI_LIBRARY};tlmalloc::systemc")
