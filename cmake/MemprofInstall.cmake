# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: the header, both libraries, the CMake package,
# two .pc files; tools/memprof installs the command.
# The tree may be moved after the installation; nothing in it knows its prefix.
if(NOT TARGET memprof_shared)
  return()
endif()
include(CMakePackageConfigHelpers)

install(FILES ${PROJECT_SOURCE_DIR}/capi/include/memprof.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS memprof_shared EXPORT memprof LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS memprof_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# All but the interposer: it defines no malloc, and memprof_start patches import tables.
install(FILES $<TARGET_FILE:memprof_engine> DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME libmemprof_api.a)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Of what is built into the library.
install(FILES ${PROJECT_SOURCE_DIR}/third_party/zydis/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.zydis)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/memprof)
install(EXPORT memprof NAMESPACE memprof:: FILE memprof-targets.cmake DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/memprof-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/memprof-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/memprof-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/memprof-config.cmake
              ${PROJECT_BINARY_DIR}/package/memprof-config-version.cmake DESTINATION ${package_dir})

# Paths below the prefix are written relative to the .pc file; absolute ones, which a packager may set, are kept.
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  set(pc_prefix "\${pcfiledir}/${up}")
endif()
foreach(dir LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
    set(pc_${dir} ${CMAKE_INSTALL_${dir}})
  else()
    set(pc_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
foreach(pc memprof memprof-static)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${pc}.pc.in ${PROJECT_BINARY_DIR}/package/${pc}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${pc}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
