# A SystemC that CMAKE_PREFIX_PATH leads to (SystemCLanguage), of any version and C++ standard: the library, the command
# line and the examples are built on it, and every kernel has the same report and waveform as on this system's SystemC.
. tests/integrations/common

prefix=
for folder in $(echo "${CMAKE_PREFIX_PATH:-}" | tr ':;' '  '); do
    [ -z "$(find "$folder" -name 'SystemCLanguageConfig.cmake' 2>/dev/null)" ] || prefix=$folder
done
[ "$prefix" ] || skip "no SystemC: CMAKE_PREFIX_PATH leads to no SystemCLanguageConfig.cmake"
ours=$project/build/release/platform/tlmalloc
[ -x "$ours" ] || skip "build/release has no program to compare with: run ./platform/quickstart"
library=$(find "$prefix" -name 'libsystemc.so' | head -n 1)

build=$work/systemc/build
# Warnings are no errors: GCC 12 warns of std::string in C++20 without cause.
cmake -S "$project" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DTLMALLOC_TESTS=OFF -DCMAKE_PREFIX_PATH="$prefix" >"$work/systemc/build.log" 2>&1 &&
    cmake --build "$build" -j "${jobs:-$(nproc)}" >>"$work/systemc/build.log" 2>&1 ||
    { tail -n 50 "$work/systemc/build.log"; exit 1; }
export LD_LIBRARY_PATH="${library%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1
"$build/platform/examples/own_top_level" | grep -x "freed: TLA_OK"
for kernel in platform/kernels/*.c; do
    kernel=$(basename "$kernel" .c)
    for program in "$build/platform/tlmalloc" "$ours"; do
        folder=$work/systemc/$([ "$program" = "$ours" ] && echo ours || echo theirs)
        mkdir -p "$folder"
        "$program" run configs/npu_small.yaml --kernel "$kernel" --json "$folder/$kernel.json" \
            --vcd "$folder/$kernel.vcd" >"$folder/$kernel.txt" || { cat "$folder/$kernel.txt"; exit 1; }
    done
done
diff -rq -x '*.txt' "$work/systemc/ours" "$work/systemc/theirs"
grep -ao 'sc_api_version_[0-9_]*cxx[0-9]*L' "$library" | sort -u | sed 's/^/The same reports and waveforms on /'
