# How a folder of src/ becomes a library and a test program.

# The folders of src/LAYERS, lowest first.
function(quire_layers out)
  file(STRINGS ${PROJECT_SOURCE_DIR}/src/LAYERS lines REGEX "^[a-z]+:")
  list(TRANSFORM lines REPLACE ":.*" "")
  set(${out} ${lines} PARENT_SCOPE)
endfunction()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/LAYERS)

# One folder of src/ = one static library + one test program of its *_test.cc.
# Its dependencies are its line in src/LAYERS, which tools/layers.py reads too;
# folders without sources yet are passed over.
#
#   SOURCES  files of the library; none: the folder has headers only
#   TESTS    its *_test.cc
#   LIBS     third-party libraries that only its sources see
#   LABEL    ctest label of the test program, `unit` by default
function(quire_folder name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;TESTS;LIBS" ${ARGN})
  file(STRINGS ${PROJECT_SOURCE_DIR}/src/LAYERS line REGEX "^${name}:")
  string(REGEX REPLACE "^${name}: *" "" deps "${line}")
  separate_arguments(deps)
  set(dep_targets "")
  foreach(dep IN LISTS deps)
    if(TARGET quire_${dep})
      list(APPEND dep_targets quire_${dep})
    endif()
  endforeach()

  if(ARG_SOURCES)
    add_library(quire_${name} STATIC ${ARG_SOURCES})
    target_include_directories(quire_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src
      ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(quire_${name} PUBLIC ${dep_targets} Threads::Threads PRIVATE ${ARG_LIBS})
    quire_warnings(quire_${name})
    if(QUIRE_LTO)
      set_property(TARGET quire_${name} PROPERTY INTERPROCEDURAL_OPTIMIZATION ON)
    endif()
  else()
    add_library(quire_${name} INTERFACE)
    target_include_directories(quire_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src
      ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(quire_${name} INTERFACE ${dep_targets} Threads::Threads ${ARG_LIBS})
  endif()

  if(QUIRE_TESTS AND ARG_TESTS)
    quire_test(${name}_test LABEL ${ARG_LABEL} SOURCES ${ARG_TESTS} LIBS quire_${name} ${ARG_LIBS})
  endif()
endfunction()

# Builds every program that an entry with the label `unit` or `isa` runs, and no other.
add_custom_target(unit_tests)

# A GoogleTest program and its entry in ctest, which runs all of its cases in one process.
#
#   NO_ENTRY  build only; the caller adds the entries (one per ISA, for example)
function(quire_test name)
  cmake_parse_arguments(ARG "NO_ENTRY" "LABEL" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} quire_test_main)
  quire_warnings(${name})
  if(NOT ARG_NO_ENTRY)
    if(NOT ARG_LABEL)
      set(ARG_LABEL unit)
    endif()
    quire_test_entry(${name} PROGRAM ${name} LABEL ${ARG_LABEL})
  endif()
endfunction()

# One ctest entry of a test program.
#
#   PROGRAM  the program's target;  LABEL its label;  ARGS its arguments
#   ISA      run it with QUIRE_CPU_ISA=<ISA>; a machine without it reports the entry as skipped
function(quire_test_entry name)
  cmake_parse_arguments(ARG "" "PROGRAM;LABEL;ISA;TIMEOUT" "ARGS" ${ARGN})
  add_test(NAME ${name} COMMAND ${ARG_PROGRAM} ${ARG_ARGS})
  set(environment "QUIRE_TEST_DATA=$ENV{QUIRE_TEST_DATA}" "QUIRE_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
  if(ARG_ISA)
    list(APPEND environment "QUIRE_CPU_ISA=${ARG_ISA}")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" SKIP_RETURN_CODE 77
    ENVIRONMENT "${environment}")
  if(ARG_LABEL MATCHES "^(unit|isa)$")
    add_dependencies(unit_tests ${ARG_PROGRAM})
  endif()
  if(ARG_TIMEOUT)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  endif()
endfunction()

# Compiles each header of src/ and include/ as the only include of a source, but for one that is
# the first include of its own .cc, which shows the same. Those of an ISA's folder are private to it
# and need its flags.
function(quire_headers_alone)
  if(NOT QUIRE_TESTS OR QUIRE_KERNELS_ONLY)
    return()
  endif()
  file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/include/*.h)
  list(FILTER headers EXCLUDE REGEX "kernels/(avx2|avx512|avx512_bf16|neon|neon_dot|neon_i8mm|wide)/")
  set(sources "")
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "^(src|include)/" "" include "${header}")
    quire_first_include("${PROJECT_SOURCE_DIR}/${header}" first)
    if(first STREQUAL include)
      continue()
    endif()
    string(REPLACE "/" "__" flat "${include}")
    set(source ${PROJECT_BINARY_DIR}/headers_alone/${flat}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${include}\"\n" @ONLY)
    list(APPEND sources ${source})
  endforeach()
  add_library(headers_alone OBJECT EXCLUDE_FROM_ALL ${sources})
  target_include_directories(headers_alone PRIVATE ${PROJECT_SOURCE_DIR}/src
    ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(headers_alone PRIVATE -fsyntax-only)
  quire_warnings(headers_alone)
endfunction()

# The first "include" of the .cc beside a header; empty where there is none.
function(quire_first_include header out)
  string(REGEX REPLACE "[.]h$" ".cc" source "${header}")
  set(${out} "" PARENT_SCOPE)
  if(EXISTS ${source})
    file(STRINGS ${source} line REGEX "^#include" LIMIT_COUNT 1)
    if(line MATCHES "\"(.*)\"")
      set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    endif()
  endif()
endfunction()
