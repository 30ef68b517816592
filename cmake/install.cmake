# Everything goes into the package: weft/libweft.so, weft/_core, weft/_torch, weft/_simgrid, weft/include.

include(GNUInstallDirs)
install(TARGETS weft EXPORT weft-config LIBRARY DESTINATION weft)
install(DIRECTORY include/ DESTINATION weft/include)
install(EXPORT weft-config NAMESPACE weft:: DESTINATION weft/cmake)
foreach(module _core _torch _simgrid)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION weft)
  endif()
endforeach()
if(EXISTS "${WEFT_PACKAGE_DIR}/_build_info.py")
  install(FILES "${WEFT_PACKAGE_DIR}/_build_info.py" DESTINATION weft)
endif()
