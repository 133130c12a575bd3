# tlmalloc_verilate(): makes classes of C++, or modules of SystemC, of the engines in model/rtl, where Verilator is
# installed (verilator_FOUND). Verilator's own function is not used: in 5.048 it ends a path at a space, and the files that
# newer versions write cannot be compiled together with those of another engine.
find_package(verilator QUIET HINTS $ENV{VERILATOR_ROOT})

# Verilator's warnings are errors where the compiler's are, up to the newest version that `tests/run --system` has seen.
set(tlmalloc_verilator_arguments -O3 -Wall -Wno-DECLFILENAME) # it ends a path at a space
if(verilator_VERSION VERSION_GREATER 5.048)
  message(STATUS "Verilator ${verilator_VERSION} is not tested: its warnings are no errors")
  list(APPEND tlmalloc_verilator_arguments -Wno-fatal)
elseif(NOT CMAKE_COMPILE_WARNING_AS_ERROR)
  list(APPEND tlmalloc_verilator_arguments -Wno-fatal)
endif()

# tlmalloc_verilate(LIBRARY LANGUAGE CLASS ENGINE FOLDER ARGUMENT...): adds an engine to a library, as a class in C++ (cc)
# or as a module of SystemC (sc) that the header CLASS.h declares. FOLDER has the file of the engine's policy; arguments
# are Verilator's.
function(tlmalloc_verilate library language class engine folder)
  set(rtl ${PROJECT_SOURCE_DIR}/model/rtl)
  if(engine STREQUAL buddy_engine)
    set(sources ${folder}/buddy.sv ${rtl}/buddy_memory.sv)
  elseif(engine STREQUAL offset_bins_engine)
    set(sources ${folder}/offset_bins.sv ${rtl}/offset_bins_memory.sv)
  else()
    set(sources ${folder}/first_fit.sv ${rtl}/node_memory.sv)
  endif()
  list(APPEND sources ${rtl}/${engine}.sv)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${class})
  # Its many small files become one: each includes more than it has.
  add_custom_command(
    OUTPUT ${output}/${class}.h ${output}/${class}.cc
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${output}
    COMMAND ${CMAKE_COMMAND} -E env VERILATOR_ROOT=${VERILATOR_ROOT} ${VERILATOR_BIN} --${language} --prefix ${class}
            --top-module ${engine} --Mdir ${output} ${tlmalloc_verilator_arguments} ${ARGN} ${sources}
    COMMAND sh -c "cat \"$1\"/*.cpp >\"$1/$2.cc\"" sh ${output} ${class}
    DEPENDS ${sources} ${VERILATOR_BIN}
    COMMENT "Verilating ${class}"
    VERBATIM)
  target_sources(${library} PRIVATE ${output}/${class}.cc ${VERILATOR_ROOT}/include/verilated.cpp
                                    ${VERILATOR_ROOT}/include/verilated_threads.cpp)
  string(COMPARE EQUAL ${language} sc is_systemc)
  target_compile_definitions(${library} PRIVATE VM_COVERAGE=0 VM_SC=${is_systemc} VM_TRACE=0 VM_TRACE_FST=0 VM_TRACE_SAIF=0
                                                VM_TRACE_VCD=0)
  target_include_directories(${library} SYSTEM PUBLIC ${output} ${VERILATOR_ROOT}/include ${VERILATOR_ROOT}/include/vltstd)
  set_target_properties(${library} PROPERTIES COMPILE_WARNING_AS_ERROR OFF) # Verilator's code is not ours to warn about
endfunction()
