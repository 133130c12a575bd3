# Our memory as a component of an installed QBox: platform/examples/qbox. That the component works in a container by
# QBox's conventions is tests/qbox.
. tests/integrations/common
build_example qbox
nm -D --defined-only "$built/tlmalloc_memory.so" | grep -q ' T module_register$' || {
    echo "tlmalloc_memory.so has no function module_register, which QBox's factory calls"
    exit 1
}
