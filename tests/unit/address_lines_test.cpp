// Address traces of DRAMSys, DRAMsim3 and Ramulator, and the selection of one of several interleaved channels.
#include "trace/address_trace.h"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <tuple>
#include <vector>

namespace {

const std::string path = TLMALLOC_BINARY_DIR "/address_lines_test.trace";

using parsed = std::tuple<uint64_t, uint64_t, uint32_t, tla_hbm_op>; // time, address, bytes

struct loaded {
    tla_status status;
    std::string error;
    std::vector<parsed> accesses;
    bool timed;
    uint32_t window;
    uint64_t left_out;
};

loaded load(const std::string &text, address_trace_rules rules = {1u << 20, 32, 500, 0, 0}) {
    std::ofstream(path) << text;
    address_trace trace{};
    tla_error error{};
    loaded result{};
    result.status = address_trace_load(path.c_str(), &rules, &trace, &error);
    result.error = error.text;
    for (size_t i = 0; i < trace.traffic.count; i++) {
        const tla_traffic_access &a = trace.traffic.accesses[i];
        result.accesses.emplace_back(a.at_ps, a.address, a.nbytes, a.op);
    }
    result.timed = trace.traffic.timed;
    result.window = trace.traffic.window;
    result.left_out = trace.left_out;
    address_trace_unload(&trace);
    return result;
}

void check(const std::string &text, const std::vector<parsed> &expected) {
    const loaded result = load(text);
    BOOST_CHECK_MESSAGE(result.status == TLA_OK, result.error);
    BOOST_CHECK(result.accesses == expected);
}

void check_error(const std::string &text, const std::string &expected) {
    const loaded result = load(text);
    BOOST_CHECK_EQUAL(result.status, TLA_SYNTAX);
    BOOST_CHECK_MESSAGE(result.error.find(path + expected) == 0, result.error << " for " << expected);
    BOOST_CHECK(result.accesses.empty());
}

constexpr auto R = TLA_HBM_READ, W = TLA_HBM_WRITE;

} // namespace

BOOST_AUTO_TEST_CASE(traces_of_other_simulators_are_told_apart_by_their_first_line) {
    check("# DRAMSys\n\n0: read 0x40\n31:\tread\t0x80\r\n31: (64) write 0xC0 0x0011\n33: (128) read 100\n",
          {{0, 0x40, 32, R}, {15500, 0x80, 32, R}, {15500, 0xc0, 64, W}, {16500, 0x100, 128, R}});
    check("0:\tWrite\t0x40\n8:\tRead\t0x80\n9: READ 0xc0\n",
          {{0, 0x40, 32, W}, {4000, 0x80, 32, R}, {4500, 0xc0, 32, R}});
    check("0: READ 0x40\n1 (64) Write 0x80\n", {{0, 0x40, 32, R}, {500, 0x80, 64, W}});
    check("0x40 READ 0\n80 WRITE 7\n\n", {{0, 0x40, 32, R}, {3500, 0x80, 32, W}});
    check("LD 0x40\nST 128\n", {{0, 0x40, 32, R}, {0, 128, 32, W}});
    check("time_ps,op,addr,bytes\n7,R,64,40\n", {{7, 64, 40, R}});
    BOOST_CHECK(!load("LD 0\n").timed);
    BOOST_CHECK(load("1 read 0\n").timed);
    BOOST_CHECK_EQUAL(load("# window=9\nLD 0\n").window, 9u);
}

BOOST_AUTO_TEST_CASE(errors_in_lines_of_other_simulators_have_their_place) {
    check_error("0: read 0x40\n1: fetch 0x40\n", ":2:4: found 'fetch', expected read or write");
    check_error("0: read 0x40\nx: read 0x40\n", ":2:1: found 'x', expected a cycle");
    check_error("0: read 0x40\n1: (x) read 0\n", ":2:4: found '(x)', expected a number of bytes in parentheses");
    check_error("0: read 0x40\n1: (0) read 0\n", ":2:4: found '(0)', expected a number of bytes in parentheses");
    check_error("0: read 0x40\n1: read\n", ":2:8: found '', expected CYCLE: [(BYTES)] read or write, ADDRESS");
    check_error("0: read 0x4g\n", ":1:9: found '0x4g', expected a hexadecimal address");
    check_error("0: read 0x40 0x0 more\n", ":1:18: found 'more', expected the end of the line");
    check_error("5: read 0\n4: read 0\n",
                ":2:1: found '4', expected a cycle not before the previous line's, which begins at 2500 ps");
    check_error("0x0 READ 0\n0x40 FETCH 1\n", ":2:6: found 'FETCH', expected READ or WRITE");
    check_error("0x0 READ 0\n0x40 READ\n", ":2:10: found '', expected ADDRESS READ or WRITE, CYCLE");
    check_error("0x0 READ 18446744073709551615\n", ":1:10: found '18446744073709551615', expected a cycle");
    check_error("LD 0x40\nLOAD 0x40\n", ":2:1: found 'LOAD', expected LD or ST");
    check_error("LD 4g\n", ":1:4: found '4g', expected a decimal address, or a hexadecimal one with 0x");
    check_error("LD 0 32\n", ":1:6: found '32', expected the end of the line");
    check_error("LD\n", ":1:3: found '', expected LD or ST, ADDRESS");
    check_error("LD 0x100000\n", ":1:4: found '0x100000', expected an address below the 1048576 bytes of the address "
                                 "map (--select I/N takes a part of more)");
    check_error("1: (64) read 0xfffe0\n", ":1:4: found '(64)', expected a number of bytes, 1 .. 32");
}

BOOST_AUTO_TEST_CASE(a_selected_channel_gets_its_bursts_of_every_address) {
    // burst B belongs to channel B mod 4, and lies there at B / 4, modulo the 2^20 bytes
    const auto part = [](uint32_t number, const std::string &text) {
        return load(text, {1u << 20, 32, 500, number, 4});
    };
    BOOST_CHECK(part(1, "LD 0x20\nLD 0xa0\nLD 0x40\n").accesses ==
                (std::vector<parsed>{{0, 0, 32, R}, {0, 32, 32, R}}));
    BOOST_CHECK_EQUAL(part(1, "LD 0x20\nLD 0xa0\nLD 0x40\n").left_out, 1u);
    // bursts 2 to 9: channel 0 has 4 and 8, channel 2 has 2 and 6, channel 3 has 3 and 7
    BOOST_CHECK(part(0, "0: (256) read 0x40\n").accesses == (std::vector<parsed>{{0, 32, 64, R}}));
    BOOST_CHECK(part(2, "0: (256) read 0x40\n").accesses == (std::vector<parsed>{{0, 0, 64, R}}));
    BOOST_CHECK(part(3, "0: (256) read 0x40\n").accesses == (std::vector<parsed>{{0, 0, 64, R}}));
    // 4 MiB and 64 bytes: again at the beginning
    BOOST_CHECK(part(2, "LD 0x400040\n").accesses == (std::vector<parsed>{{0, 0, 32, R}}));
    BOOST_CHECK(part(0, "0: (256) read 0x3fff80\n").accesses ==
                (std::vector<parsed>{{0, (1u << 20) - 32, 32, R}, {0, 0, 32, R}}));
    BOOST_CHECK(part(3, "LD 0xfffffffffffffff\n").status == TLA_OK);
    BOOST_CHECK(part(0, "LD 0xffffffffffffffff\n").error.find("expected an access that ends below 2^64") !=
                std::string::npos);
    const loaded none = part(3, "LD 0\nLD 0x20\n");
    BOOST_CHECK_EQUAL(none.status, TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(none.error, path + ": no access has a burst of part 3 of 4");
}
