# An installed DRAMSys behind our memory controller: platform/examples/dramsys. What the example prints are the tables of
# its page.
. tests/integrations/common
build_example dramsys
example=platform/examples/dramsys
for memory in hbm2 ddr4; do
    SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1 "$built/controller_before_dramsys" $example/$memory.json \
        >"$work/dramsys/$memory" || {
        grep -v '^ ' "$work/dramsys/$memory"
        exit 1
    }
done
cat "$work/dramsys/hbm2" "$work/dramsys/ddr4" | grep '^|' >"$work/dramsys/table"
sed -n '/^| accesses/,/^$/p' $example/README.md | grep '^|' | diff - "$work/dramsys/table" || {
    echo "the tables in $example/README.md are not what the example prints (above: >)"
    exit 1
}
