# Finds SystemC and TLM-2.0 and defines SystemC::systemc.
# SystemC's own package (SystemCLanguage) is used if it is there; else pkg-config, as Debian's libsystemc-dev has it.
if(NOT TARGET SystemC::systemc)
  find_package(SystemCLanguage CONFIG QUIET)
endif()
if(NOT TARGET SystemC::systemc)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(PC_SystemC QUIET systemc)
    pkg_check_modules(PC_TLM QUIET tlm)
  endif()
  find_path(SystemC_INCLUDE_DIR NAMES systemc HINTS ${PC_SystemC_INCLUDE_DIRS})
  find_path(TLM_INCLUDE_DIR NAMES tlm HINTS ${PC_TLM_INCLUDE_DIRS} ${PC_SystemC_INCLUDE_DIRS})
  find_library(SystemC_LIBRARY NAMES systemc HINTS ${PC_SystemC_LIBRARY_DIRS})
  include(FindPackageHandleStandardArgs)
  find_package_handle_standard_args(SystemC
    REQUIRED_VARS SystemC_LIBRARY SystemC_INCLUDE_DIR TLM_INCLUDE_DIR VERSION_VAR PC_SystemC_VERSION
    REASON_FAILURE_MESSAGE "On Debian: apt-get install libsystemc-dev")
  if(SystemC_FOUND)
    find_package(Threads REQUIRED)
    add_library(SystemC::systemc UNKNOWN IMPORTED GLOBAL)
    set_target_properties(SystemC::systemc PROPERTIES
      IMPORTED_LOCATION ${SystemC_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES "${SystemC_INCLUDE_DIR};${TLM_INCLUDE_DIR}"
      INTERFACE_COMPILE_FEATURES cxx_std_17
      INTERFACE_LINK_LIBRARIES Threads::Threads)
  endif()
  mark_as_advanced(SystemC_INCLUDE_DIR TLM_INCLUDE_DIR SystemC_LIBRARY)
else()
  set(SystemC_FOUND TRUE)
endif()
