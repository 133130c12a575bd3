# Runs in cpack, after the files of each package are in a folder of their own and before they become packages. Adds the
# copyright and the changelogs, compresses the manual, strips the programs, and links to the licence that every Debian has.
file(READ ${CPACK_TLMALLOC_SOURCE_DIR}/platform/packages/changelog debian_changelog)
if(NOT debian_changelog MATCHES "^tlmalloc \\(${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}\\) ")
  message(FATAL_ERROR "platform/packages/changelog: the first entry must be of version "
    "${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
endif()

# compressed(FILE OUTPUT): without a name and a time, so that the same text makes the same bytes.
function(compressed file output)
  execute_process(COMMAND gzip -9cn ${file} OUTPUT_FILE ${output} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component ${CPACK_COMPONENTS_ALL})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
  string(TOUPPER ${component} upper)
  set(folder ${root}${CPACK_TLMALLOC_DOCROOT}/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  file(MAKE_DIRECTORY ${folder})
  file(COPY ${CPACK_TLMALLOC_SOURCE_DIR}/platform/packages/copyright DESTINATION ${folder})
  compressed(${CPACK_TLMALLOC_SOURCE_DIR}/platform/packages/changelog ${folder}/changelog.Debian.gz)
  compressed(${CPACK_TLMALLOC_SOURCE_DIR}/CHANGELOG.md ${folder}/changelog.gz)
  file(GLOB pages ${root}${CPACK_TLMALLOC_MANDIR}/man*/*.[1-9])
  foreach(page ${pages})
    compressed(${page} ${page}.gz)
    file(REMOVE ${page})
  endforeach()
  if(EXISTS ${root}${CPACK_TLMALLOC_DOCDIR}/LICENSE)
    file(REMOVE ${root}${CPACK_TLMALLOC_DOCDIR}/LICENSE)
    file(CREATE_LINK ../../common-licenses/Apache-2.0 ${root}${CPACK_TLMALLOC_DOCDIR}/LICENSE SYMBOLIC)
  endif()
  execute_process(COMMAND find ${root} -type f ( -name "*.so" -o -name "*.so.*" -o -path "*/bin/*" ) -exec
                  strip --remove-section=.comment --remove-section=.note {} + COMMAND_ERROR_IS_FATAL ANY)
  if(component STREQUAL runtime)
    file(WRITE ${root}${CPACK_TLMALLOC_DATADIR}/lintian/overrides/${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME}
      "# Two libraries of the same version, in one package.\n"
      "${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME}: package-name-doesnt-match-sonames *\n")
  endif()
  # The same on every host, whatever its umask.
  execute_process(COMMAND chmod -R u=rwX,go=rX ${root} COMMAND_ERROR_IS_FATAL ANY)
  if(DEFINED ENV{SOURCE_DATE_EPOCH})
    execute_process(COMMAND find ${root} -newermt @$ENV{SOURCE_DATE_EPOCH} -exec touch -h -d @$ENV{SOURCE_DATE_EPOCH} {} +
                    COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
