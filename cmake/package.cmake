# The library for programs that embed Quire: one archive of all folders and the static libraries
# they stand on, the headers of include/quire, and what find_package(quire) reads.
#
# Call once all folders are there.
function(quire_package)
  quire_layers(folders)
  set(script "create ${PROJECT_BINARY_DIR}/libquire.a\n")
  set(archives "")
  list(REMOVE_ITEM folders server)  # an embedding program brings no HTTP front
  foreach(folder IN LISTS folders)
    if(TARGET quire_${folder})
      get_target_property(type quire_${folder} TYPE)
      if(type STREQUAL STATIC_LIBRARY)
        string(APPEND script "addlib $<TARGET_FILE:quire_${folder}>\n")
        list(APPEND archives quire_${folder})
      endif()
    endif()
  endforeach()
  if(QUIRE_PCRE2)
    string(APPEND script "addlib ${QUIRE_PCRE2}\n")
  endif()
  if(QUIRE_XGRAMMAR)
    string(APPEND script "addlib ${QUIRE_XGRAMMAR}\n")
  endif()
  string(APPEND script "save\nend\n")
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/libquire.mri CONTENT "${script}")
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/libquire.a
    COMMAND ${CMAKE_CXX_COMPILER_AR} -M < ${PROJECT_BINARY_DIR}/libquire.mri
    COMMAND ${CMAKE_CXX_COMPILER_RANLIB} ${PROJECT_BINARY_DIR}/libquire.a
    DEPENDS ${archives} ${PROJECT_BINARY_DIR}/libquire.mri VERBATIM
    COMMENT "Putting all folders into libquire.a")
  add_custom_target(quire_archive ALL DEPENDS ${PROJECT_BINARY_DIR}/libquire.a)

  include(CMakePackageConfigHelpers)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/quireConfig.cmake.in
    ${PROJECT_BINARY_DIR}/quireConfig.cmake INSTALL_DESTINATION lib/cmake/quire)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/quireConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/libquire.a DESTINATION lib COMPONENT library)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/quire DESTINATION include COMPONENT library)
  install(FILES ${PROJECT_BINARY_DIR}/quireConfig.cmake
    ${PROJECT_BINARY_DIR}/quireConfigVersion.cmake
    DESTINATION lib/cmake/quire COMPONENT library)
endfunction()
