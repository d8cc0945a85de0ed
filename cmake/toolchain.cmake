# What holds for every target: warnings, baseline instruction set, sanitizers, linker.

# Warnings are ours alone; a program that embeds Quire does not inherit them.
function(quire_warnings target)
  # A designated initialiser leaves the other members at their defaults on purpose.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
    -Woverloaded-virtual -Wimplicit-fallthrough -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${target} PRIVATE -Wthread-safety)
  endif()
  if(QUIRE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

find_package(Threads REQUIRED)

# The oldest processor that the program starts on; kernels go beyond it behind a run-time check.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-march=x86-64-v2)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
  add_compile_options(-march=armv8-a)
endif()
add_compile_options(-ffp-contract=off)

if(QUIRE_DCHECK)
  add_compile_definitions(QUIRE_DCHECK_ENABLED=1)
endif()
if(QUIRE_SANITIZE)
  add_compile_options(-fsanitize=${QUIRE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Between the checks that the sanitizers put in, g++ 12 loses track of what is initialised.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(-fsanitize=${QUIRE_SANITIZE})
  add_compile_definitions(_GLIBCXX_ASSERTIONS=1)
endif()

find_program(QUIRE_CCACHE ccache)
if(QUIRE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros ${QUIRE_CCACHE})
endif()
find_program(QUIRE_MOLD mold)
if(QUIRE_MOLD AND NOT CMAKE_CROSSCOMPILING AND NOT QUIRE_LTO)
  add_link_options(-fuse-ld=mold)
endif()
if(QUIRE_LTO)
  # What nothing refers to goes; relocations that say only "this address moved" take a bit each.
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(-Wl,--gc-sections)
  include(CheckLinkerFlag)
  check_linker_flag(CXX "-Wl,-z,pack-relative-relocs" QUIRE_HAS_PACKED_RELOCATIONS)
  if(QUIRE_HAS_PACKED_RELOCATIONS)
    add_link_options(-Wl,-z,pack-relative-relocs)
  endif()
endif()
