// What a memory controller tells a recording: requests as they are decided, and what is left of references.
#include "controller_bench.hpp"

#include <sstream>

using namespace controller_bench;

namespace {

tla_command about(tla_opcode opcode, std::uint64_t pa) {
    tla_command command{};
    command.opcode = opcode;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.pa = {pa};
    return command;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_watch_hears_of_every_block_with_its_format_and_stream_and_of_every_reference) {
    bench b;
    std::ostringstream heard;
    b.controller.set_watch(
        {[&](tla_memory_kind kind, const tla_stack_deed &deed) {
             heard << tla_memory_kind_name(kind) << (deed.is_free ? " free " : " alloc ") << deed.block.offset << " "
                   << deed.request.nbytes << " " << deed.request.stream << " " << deed.request.format << " "
                   << deed.status << "\n";
         },
         [&](tla_memory_kind kind, std::uint64_t offset, bool one_more, std::uint64_t references, std::uint64_t) {
             heard << tla_memory_kind_name(kind) << (one_more ? " ref " : " unref ") << offset << " " << references
                   << "\n";
         }});
    b.run([&] {
        tla_command first = alloc_command(TLA_TCM, 96);
        first.stream = 5;
        BOOST_CHECK_EQUAL(b.cpu.command(0, first).status, TLA_OK);
        const std::uint64_t pa = b.cpu.command(0, alloc_command(TLA_TCM, 100)).value;
        BOOST_CHECK_EQUAL(b.cpu.command(0, about(TLA_OP_REF, pa)).value, 2u);
        BOOST_CHECK_EQUAL(b.cpu.command(0, about(TLA_OP_UNREF, pa)).value, 1u);
        BOOST_CHECK_EQUAL(b.cpu.command(0, about(TLA_OP_UNREF, pa)).value, 0u);
        BOOST_CHECK_NE(b.cpu.command(0, about(TLA_OP_REF, pa)).status, TLA_OK); // it is dead
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_TCM, 1 << 20)).status, TLA_EXHAUSTED);
    });
    BOOST_CHECK_EQUAL(heard.str(), "tcm alloc 0 96 5 0 0\n"
                                   "tcm alloc 96 100 0 0 0\n"
                                   "tcm ref 96 2\ntcm unref 96 1\n"
                                   "tcm free 96 0 0 0 0\n"
                                   "tcm alloc 0 1048576 0 0 " +
                                       std::to_string(TLA_EXHAUSTED) + "\n");
}
