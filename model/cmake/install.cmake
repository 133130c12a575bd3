# What `cmake --install` puts where, of the library: headers, libraries, a CMake package and pkg-config files. Nothing
# holds an absolute path, so that an installation can be moved (and `cmake --install --prefix` and DESTDIR used).
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev) # the components are Debian packages (platform/packages/packages.cmake)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tlmalloc)

set_target_properties(tlmalloc_core PROPERTIES EXPORT_NAME core)
install(TARGETS tlmalloc_core EXPORT tlmallocCore LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev)
install(EXPORT tlmallocCore NAMESPACE tlmalloc:: DESTINATION ${package_dir})
if(NOT TLMALLOC_FIRMWARE)
  set(left_out PATTERN "riscv" EXCLUDE PATTERN "riscv_core.hpp" EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tlmalloc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "modules" EXCLUDE PATTERN "testing" EXCLUDE PATTERN "cci" EXCLUDE
        ${left_out})
set(pc_files tlmalloc-core)

if(TLMALLOC_MODULES)
  set_target_properties(tlmalloc_modules PROPERTIES EXPORT_NAME modules INSTALL_RPATH "$ORIGIN")
  install(TARGETS tlmalloc_modules EXPORT tlmallocModules LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev)
  install(EXPORT tlmallocModules NAMESPACE tlmalloc:: DESTINATION ${package_dir})
  if(TARGET tlmalloc_cci)
    set_target_properties(tlmalloc_cci PROPERTIES EXPORT_NAME cci INSTALL_RPATH "$ORIGIN")
    install(TARGETS tlmalloc_cci EXPORT tlmallocCci)
    install(EXPORT tlmallocCci NAMESPACE tlmalloc:: DESTINATION ${package_dir})
    install(FILES ${CMAKE_CURRENT_LIST_DIR}/tlmallocCciLibrary.cmake DESTINATION ${package_dir})
  else()
    list(APPEND left_out PATTERN "cci" EXCLUDE)
  endif()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tlmalloc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.hpp" ${left_out})
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/tlmallocSystemC.cmake DESTINATION ${package_dir})
  list(APPEND pc_files tlmalloc-modules)
endif()

set(tlmalloc_installed_components)
foreach(component firmware torch serving sweep pages)
  string(TOUPPER TLMALLOC_${component} option)
  if(${option} AND (component STREQUAL firmware OR (TLMALLOC_PLATFORM AND TLMALLOC_MODULES)))
    list(APPEND tlmalloc_installed_components ${component})
  endif()
endforeach()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tlmallocConfig.cmake.in
  ${PROJECT_BINARY_DIR}/tlmallocConfig.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tlmallocConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tlmallocConfig.cmake ${PROJECT_BINARY_DIR}/tlmallocConfigVersion.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
# What an archive needs belongs to every link; a shared library brings it itself.
if(BUILD_SHARED_LIBS)
  set(pc_dependencies "Requires.private: yaml-0.1\nLibs: -L\${libdir} -ltlmalloc_core\nLibs.private: -lm -pthread")
else()
  set(pc_dependencies "Requires: yaml-0.1\nLibs: -L\${libdir} -ltlmalloc_core -lm -pthread")
endif()
foreach(name ${pc_files})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
