# SPDX-License-Identifier: MIT
# Each bench/<room>/<name>.cc is one program on Google Benchmark, at <build>/bench/<room>_<name>;
# bench/support/*.cc is linked into all. bench/rivals/, and a room's programs of several files,
# build themselves: with the CMakeLists.txt in their folder.

find_package(benchmark QUIET)
heddle_optional(HEDDLE_BENCH benchmark_FOUND "benchmarks (Google Benchmark)" HEDDLE_WITH_BENCH)
if(NOT HEDDLE_WITH_BENCH)
  return()
endif()
file(GLOB support_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/support/*.cc")
file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/bench"
     "${PROJECT_SOURCE_DIR}/bench/*/*.cc")
list(FILTER sources EXCLUDE REGEX "^(support|rivals)/")
foreach(room IN LISTS HEDDLE_ROOMS_LEFT_OUT)
  list(FILTER sources EXCLUDE REGEX "^${room}/")
endforeach()
add_custom_target(benches)
add_custom_target(gates)  # the programs that scripts/gates counts
foreach(source IN LISTS sources)
  string(REGEX REPLACE "\\.cc$" "" name "${source}")
  string(REPLACE "/" "_" name "${name}")
  add_executable(bench_${name} EXCLUDE_FROM_ALL "bench/${source}" ${support_sources})
  set_target_properties(bench_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  target_include_directories(bench_${name} PRIVATE "${PROJECT_SOURCE_DIR}/bench")
  target_link_libraries(bench_${name} PRIVATE
    heddle_inside heddle_rooms benchmark::benchmark benchmark::benchmark_main)
  target_compile_definitions(bench_${name} PRIVATE
    $<$<BOOL:${HEDDLE_WITH_FIBER}>:HEDDLE_WITH_FIBER=1>)
  add_dependencies(benches bench_${name})
  if(name MATCHES "^gates_")
    add_dependencies(gates bench_${name})
  endif()
endforeach()
file(GLOB folders CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*/CMakeLists.txt")
foreach(file IN LISTS folders)
  get_filename_component(folder "${file}" DIRECTORY)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${folder}")
  add_subdirectory("${folder}")
endforeach()
if(TARGET app_sealed)
  add_dependencies(benches app_sealed)  # suite sealed measures the program itself
endif()
