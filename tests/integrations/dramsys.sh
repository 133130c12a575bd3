# A DRAMSys behind our memory controller: platform/examples/dramsys. DRAMSYS names the sources of version 5.1; else they
# are those of ../shared/thirdparty. What the example prints are the tables of its page.
. tests/integrations/common
find_sources DRAMSYS DRAMSys51.tar.xz DRAMSys51
need_package nlohmann-json3-dev libsqlite3-dev
install_tlmalloc
build_example dramsys -DDRAMSYS_SOURCE="$sources"
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
