# Our memory controller in a system of an installed VCML: platform/examples/vcml. What the example prints is what its page
# shows.
. tests/integrations/common
build_example vcml
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
