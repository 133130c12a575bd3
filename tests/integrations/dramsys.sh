# A DRAMSys behind our memory controller: platform/examples/dramsys. DRAMSYS names the sources of version 5.1; else they
# are those of ../shared/thirdparty. What the example prints is the table of its page.
. tests/integrations/common
find_sources DRAMSYS DRAMSys51.tar.xz DRAMSys51
need_package nlohmann-json3-dev libsqlite3-dev
install_tlmalloc
build_example dramsys -DDRAMSYS_SOURCE="$sources"
example=platform/examples/dramsys
SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1 "$built/controller_before_dramsys" $example/hbm2.json >"$work/dramsys/out" || {
    grep -v '^ ' "$work/dramsys/out"
    exit 1
}
grep '^|' "$work/dramsys/out" >"$work/dramsys/table"
sed -n '/^| accesses/,/^$/p' $example/README.md | grep '^|' | diff - "$work/dramsys/table" || {
    echo "the table in $example/README.md is not what the example prints (above: >)"
    exit 1
}
