# What `cmake --install` puts where, of the platform: the command line with its man page and completions, the
# configurations and kernels, and the pages with what they show. See model/cmake/install.cmake for the library.
set(data_dir ${CMAKE_INSTALL_DATADIR}/tlmalloc)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME tools)
set(TLMALLOC_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Folder of the completion for zsh")

install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${data_dir} FILES_MATCHING PATTERN "*.yaml" PATTERN "*.csv*" PATTERN "*.jsonl")
install(DIRECTORY kernels DESTINATION ${data_dir} FILES_MATCHING PATTERN "*.[ch]")

if(TLMALLOC_MODULES)
  if(TLMALLOC_PAGES)
    install(DIRECTORY report DESTINATION ${data_dir} FILES_MATCHING PATTERN "*.js" PATTERN "*.css" PATTERN "*.html")
  endif()
  install(DIRECTORY report DESTINATION ${CMAKE_INSTALL_DOCDIR}/platform COMPONENT doc FILES_MATCHING PATTERN "*.png")
  file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  if(BUILD_SHARED_LIBS)
    set_target_properties(tlmalloc PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  endif()
  install(TARGETS tlmalloc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET tlmalloc_plugin)
    # A folder of its own: no program links to the plugin, which therefore has no soname.
    install(TARGETS tlmalloc_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tlmalloc)
    install(FILES plugin/tlmc.py DESTINATION ${data_dir}/plugin)
    if(BUILD_SHARED_LIBS)
      set_target_properties(tlmalloc_plugin PROPERTIES INSTALL_RPATH "$ORIGIN/..")
    endif()
  endif()
  install(FILES completion/tlmalloc.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tlmalloc)
  install(FILES completion/_tlmalloc DESTINATION ${TLMALLOC_ZSH_DIR})

  # The man page says what `--help` says.
  if(NOT CMAKE_CROSSCOMPILING)
    add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/tlmalloc.1
      COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/man/make_page $<TARGET_FILE:tlmalloc> > ${CMAKE_CURRENT_BINARY_DIR}/tlmalloc.1
      DEPENDS tlmalloc man/make_page VERBATIM)
    add_custom_target(man_page ALL DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/tlmalloc.1)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tlmalloc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
endif()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME doc)
# The pages lie to one another as in the source tree; what they show of the rest is led to where it is installed.
file(GLOB pages RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md)
foreach(folder model platform configs waveforms tests/bench tests/proofs)
  file(GLOB_RECURSE found RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.md)
  list(APPEND pages ${found})
endforeach()
foreach(page ${pages})
  get_filename_component(folder ${page} DIRECTORY)
  set(installed_in ${CMAKE_INSTALL_FULL_DOCDIR}/${folder})
  file(RELATIVE_PATH to_include ${installed_in} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  file(RELATIVE_PATH to_data ${installed_in} ${CMAKE_INSTALL_FULL_DATADIR}/tlmalloc)
  file(READ ${PROJECT_SOURCE_DIR}/${page} text)
  string(REGEX REPLACE "\\]\\((\\.\\./)*include/" "](${to_include}/" text "${text}")
  string(REGEX REPLACE "\\]\\((\\.\\./)*(configs/[a-z0-9_/]+\\.yaml)" "](${to_data}/\\2" text "${text}")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/pages/${page} "${text}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${page})
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pages/${page} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/waveforms DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS
        PATTERN "*.md" EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/platform PATTERN "*.md" EXCLUDE)
# The project outside tlmalloc, without the scripts that test the installation.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tests/install DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests
        FILES_MATCHING PATTERN "CMakeLists.txt" PATTERN "*.c" PATTERN "*.cpp" PATTERN "FindSystemC.cmake"
        PATTERN "components" EXCLUDE PATTERN "standard" EXCLUDE PATTERN "subdirectory" EXCLUDE)
