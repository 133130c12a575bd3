# The Debian packages that `cpack` builds (preset `packages`): the shared libraries, what programs are built with, the
# command line with the plugin, and the pages. Their files are the components of `cmake --install` (model/cmake/install.cmake,
# platform/install.cmake); stage.cmake adds what Debian requires of every package. Debian has no CCI: the preset leaves
# the component cci out, even where the host has CCI.
set(TLMALLOC_MAINTAINER "tlmalloc maintainers <maintainers@tlmalloc.example>" CACHE STRING
    "Who builds the Debian packages, and answers for them: NAME <ADDRESS>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tlmalloc)
set(CPACK_PACKAGE_CONTACT "${TLMALLOC_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/stage.cmake)
set(CPACK_TLMALLOC_SOURCE_DIR ${PROJECT_SOURCE_DIR}) # for stage.cmake
set(CPACK_TLMALLOC_MANDIR ${CMAKE_INSTALL_FULL_MANDIR})
set(CPACK_TLMALLOC_DOCDIR ${CMAKE_INSTALL_FULL_DOCDIR})
set(CPACK_TLMALLOC_DATADIR ${CMAKE_INSTALL_FULL_DATADIR})
set(CPACK_TLMALLOC_DOCROOT ${CMAKE_INSTALL_FULL_DATAROOTDIR}/doc)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL runtime dev tools doc)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 0tlmalloc1) # before every version of Debian's own, if there ever is one
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/model)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON) # on the same version

# The soname changes with every minor version, and so does the name of the package that has it.
set(soversion_of_package ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libtlmalloc${soversion_of_package})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
# CPack's own scripts call ldconfig, where Debian has a trigger. CPack writes none where it is given one; a name without a
# file, about which it warns, is none.
set(version_of_package ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(control ${PROJECT_BINARY_DIR}/control)
foreach(name core modules)
  string(APPEND shlibs "libtlmalloc_${name} ${soversion_of_package} ${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME} (>= ${version_of_package})\n")
endforeach()
file(WRITE ${control}/shlibs "${shlibs}")
file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${control}/shlibs ${control}/triggers
    ${control}/postinst ${control}/postrm)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "memory allocators as hardware - shared libraries
tlmalloc models memory allocators as hardware: controllers that own the free
lists of simulated memories, and whose every decision costs simulated time.
.
This package contains libtlmalloc_core, the allocators in C, and
libtlmalloc_modules, the modules of SystemC and TLM-2.0.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libtlmalloc-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libsystemc-dev, libyaml-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "tlmalloc-doc, cmake, pkg-config")
set(CPACK_COMPONENT_DEV_DEPENDS runtime)
set(CPACK_COMPONENT_DEV_DESCRIPTION "memory allocators as hardware - development files
tlmalloc models memory allocators as hardware: controllers that own the free
lists of simulated memories, and whose every decision costs simulated time.
.
This package contains the headers, a CMake package (tlmalloc::core,
tlmalloc::modules), and files for pkg-config.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME tlmalloc)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION electronics)
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "gcc, libc6-dev, libtlmalloc-dev, libjs-d3")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "gtkwave, python3, tlmalloc-doc")
set(CPACK_COMPONENT_TOOLS_DEPENDS runtime)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "memory allocators as hardware - command line
tlmalloc runs kernels on a simulated neural processing unit whose memory
controllers allocate, map and free in hardware. It explains where the time
went, replays recorded programs, serves language models, and compares
configurations.
.
This package contains the command, configurations, kernels in C, and a plugin
that makes a memory controller available to hosts without SystemC.
.
Kernels of your own need gcc and libtlmalloc-dev. Pages for the browser need
libjs-d3.")

set(CPACK_DEBIAN_DOC_PACKAGE_NAME tlmalloc-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DOC_PACKAGE_SUGGESTS "tlmalloc, libtlmalloc-dev")
set(CPACK_COMPONENT_DOC_DESCRIPTION "memory allocators as hardware - documentation and examples
tlmalloc models memory allocators as hardware: controllers that own the free
lists of simulated memories, and whose every decision costs simulated time.
.
This package contains the pages of the commands, configurations and modules,
waveforms, and example programs.")
include(CPack)
