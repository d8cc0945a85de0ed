# How the kernels of one instruction set are compiled (docs/kernels.md).

# Each ISA's files get that ISA's flags, and no other file ever does. Link-time
# optimisation stays off: it would undo the separation.
function(quire_isa name)
  cmake_parse_arguments(ARG "" "" "FLAGS;SOURCES" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/src/kernels/${name}/)
  add_library(kernels_${name} OBJECT ${ARG_SOURCES})
  target_include_directories(kernels_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  quire_warnings(kernels_${name})
  # What a sanitizer adds to unrolled loops takes minutes to compile at the highest level.
  if(QUIRE_SANITIZE)
    set(level -O1)
  else()
    set(level -O3)
  endif()
  target_compile_options(kernels_${name} PRIVATE ${level} -ffp-contract=off -fno-exceptions
    ${ARG_FLAGS})
  if(QUIRE_TESTS AND NOT QUIRE_SANITIZE)
    add_test(NAME isa_symbols_${name}
      COMMAND ${PROJECT_SOURCE_DIR}/tools/isa_symbols.sh $<TARGET_OBJECTS:kernels_${name}>
      COMMAND_EXPAND_LISTS)
    set_tests_properties(isa_symbols_${name} PROPERTIES LABELS unit)
  endif()
endfunction()
