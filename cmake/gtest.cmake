# GoogleTest: the installed library, or its installed sources where the build is for another
# processor than the one that builds.
if(QUIRE_TESTS AND CMAKE_CROSSCOMPILING)
  set(INSTALL_GTEST OFF)
  add_subdirectory(/usr/src/googletest/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
elseif(QUIRE_TESTS)
  find_package(GTest REQUIRED)
endif()
