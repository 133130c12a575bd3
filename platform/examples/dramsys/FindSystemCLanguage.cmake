# DRAMSys asks for SystemC by the name of SystemC's own package, which Debian's libsystemc-dev has not; tlmalloc has found
# it already.
if(NOT TARGET SystemC::systemc)
  add_library(SystemC::systemc INTERFACE IMPORTED GLOBAL)
  set_property(TARGET SystemC::systemc PROPERTY INTERFACE_LINK_LIBRARIES tlmalloc::systemc)
endif()
set(SystemCLanguage_FOUND TRUE)
