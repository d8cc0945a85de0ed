# The static library that constrains output, which tools/deps.sh builds once for all presets:
# QUIRE_XGRAMMAR is its archive, QUIRE_XGRAMMAR_INCLUDE its headers.
set(QUIRE_XGRAMMAR_FOLDER "" CACHE PATH "Folder with xgrammar's include/ and lib/; empty: tools/get_xgrammar.sh's")
set(folder "${QUIRE_XGRAMMAR_FOLDER}")
if(NOT folder)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/get_xgrammar.sh --path
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
set(QUIRE_XGRAMMAR ${folder}/lib/libxgrammar.a CACHE INTERNAL "the archive")
set(QUIRE_XGRAMMAR_INCLUDE ${folder}/include)
if(NOT EXISTS ${QUIRE_XGRAMMAR})
  message(FATAL_ERROR "xgrammar is not in ${folder}; tools/deps.sh build puts it there")
endif()
