// The reader of QBox's configurations.
#include "lua_file.hpp"

#include "../scratch_directory.hpp"

#include <boost/test/unit_test.hpp>
#include <stdexcept>

namespace {

std::map<std::string, qbox::lua_value> read(const std::string &text) {
    const scratch_directory folder;
    return qbox::read_lua_file(folder.write("conf.lua", text));
}

} // namespace

BOOST_AUTO_TEST_CASE(names_of_nested_tables_are_joined_by_dots) {
    const auto found = read("local kib = 1024\n"
                            "platform = { quantum_ns = 10, mem = { moduletype = \"memory\", dmi = true,\n"
                            "  target_socket = { address = 0x80000000, size = 64 * kib * kib } },\n"
                            "  args = { \"a\", -3, 2.5 }, f = function() end }\n");
    const std::map<std::string, qbox::lua_value> expected{
        {"platform.quantum_ns", std::uint64_t{10}},
        {"platform.mem.moduletype", std::string("memory")},
        {"platform.mem.dmi", true},
        {"platform.mem.target_socket.address", std::uint64_t{0x80000000}},
        {"platform.mem.target_socket.size", std::uint64_t{64} << 20},
        {"platform.args.0", std::string("a")},
        {"platform.args.1", std::int64_t{-3}},
        {"platform.args.2", 2.5},
    };
    BOOST_CHECK(found == expected);
}

BOOST_AUTO_TEST_CASE(the_keyword_in_is_no_name_of_a_member) {
    BOOST_CHECK_THROW(read("mem = { in = { address = 0 } }"), std::runtime_error);
    BOOST_CHECK_EQUAL(read("mem = { [\"in\"] = { address = 0 } }").count("mem.in.address"), 1);
}

BOOST_AUTO_TEST_CASE(a_file_that_fails_gives_its_line) {
    try {
        read("a = 1\nb = a.c.d\n");
        BOOST_ERROR("it runs");
    } catch (const std::runtime_error &error) {
        BOOST_CHECK(std::string(error.what()).find("conf.lua:2:") != std::string::npos);
    }
    BOOST_CHECK_THROW(qbox::read_lua_file("/no/such/conf.lua"), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(values_of_the_command_line_that_begin_like_a_number_are_json) {
    for (const char *json : {"1", "-1", "2 ns", "\"2 ns\"", "true", "[1]"})
        BOOST_CHECK(qbox::is_json(json));
    for (const char *text : {"best_fit", "buddy", "truely"})
        BOOST_CHECK(!qbox::is_json(text));
}
