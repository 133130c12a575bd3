# An installed CCI: the tests of the component cci, its page's example with an installed library, and the component for QBox
# in a container by QBox's conventions.
. tests/integrations/common
build=$work/cci/build
log=$work/cci/build.log
rm -f "$build/CMakeCache.txt" # CCI may lie elsewhere now
cmake -S "$project" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTLMALLOC_BATCHES=ON \
    -DCMAKE_PREFIX_PATH="$others" >"$log" 2>&1 || { tail -n 50 "$log"; exit 1; }
if grep -q 'tlmalloc::cci is not built' "$log"; then skip "CCI is not installed in a folder of CMAKE_PREFIX_PATH"; fi
targets=$(ninja -C "$build" -t targets all |
    sed -n 's/^\(cci_settings_test\|bus_memory_test\|container_test\|cci_example\): phony$/\1/p')
# shellcheck disable=SC2086
ninja -C "$build" $targets >>"$log" 2>&1 || { tail -n 50 "$log"; exit 1; }
ctest --test-dir "$build" -R '^(cci_settings_test|bus_memory_test|container_test|examples[.]cci)' --no-tests=error \
    --output-on-failure
install_library
sh tests/cci/run "$work/tlmalloc" "$project" "${CMAKE_PREFIX_PATH:-}"
