# A SystemC finder as another package may bring it: variables of its own and no target of ours.
find_path(SYSTEMC_INCLUDE_DIRS NAMES systemc)
find_library(SYSTEMC_LIBRARIES NAMES systemc)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SystemC REQUIRED_VARS SYSTEMC_LIBRARIES SYSTEMC_INCLUDE_DIRS)
