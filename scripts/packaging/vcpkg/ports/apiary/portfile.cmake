# An overlay port of this tree:    vcpkg install apiary --overlay-ports=scripts/packaging/vcpkg/ports
# vcpkg's cache goes by the files of this folder, so where the tree has changed:
#   vcpkg remove apiary; VCPKG_BINARY_SOURCES=clear vcpkg install apiary --overlay-ports=scripts/packaging/vcpkg/ports
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release)  # headers

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS
  -DAPIARY_TESTS=OFF -DAPIARY_STRESS=OFF -DAPIARY_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME apiary CONFIG_PATH lib/cmake/apiary)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
