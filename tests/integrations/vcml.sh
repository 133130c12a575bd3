# Our memory controller in a VCML system: platform/examples/vcml. VCML and MWR name the sources of VCML and of its
# library; else they are those of ../shared/thirdparty. What the example prints is what its page shows.
. tests/integrations/common
find_sources VCML vcml.tar.xz vcml
vcml=$sources
find_sources MWR mwr.tar.xz mwr
install_tlmalloc
build_example vcml -DVCML_SOURCE="$vcml" -DMWR_SOURCE="$sources"
example=platform/examples/vcml
SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1 "$built/vcml_system" >"$work/vcml/out" 2>"$work/vcml/err" || {
    cat "$work/vcml/out" "$work/vcml/err"
    exit 1
}
grep -v '^\[' "$work/vcml/out" >"$work/vcml/said"
sed -n '/^```$/,/^```$/p' $example/README.md | grep -v '^```' | diff - "$work/vcml/said" || {
    echo "what $example/README.md shows is not what the example prints (above: >)"
    exit 1
}
