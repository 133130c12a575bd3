// lt_at_bridge in front of a memory of bursts without byte enables: what is written in part is read and written back.
#include "bridge_bench.hpp"

#include <deque>
#include <random>

using namespace tlmalloc;
using namespace test_initiator;
using tlmalloc::testing::bridge_bench;
using tlmalloc::testing::bridge_config;
using tlmalloc::testing::bridged_bytes;
using tlmalloc::testing::phased_memory;

namespace {

// A memory of bursts of 64 bytes without byte enables.
struct bursts : bridge_bench {
    initiator cpu{"cpu"};

    static lt_at_bridge::config how() {
        lt_at_bridge::config c = bridge_config();
        c.byte_enables = false;
        c.smallest = 64;
        return c;
    }
    static phased_memory::settings memory_of(phased_memory::settings s = {}) {
        s.byte_enables = false;
        s.smallest = 64;
        s.spread = 0;
        return s;
    }
    explicit bursts(const phased_memory::settings &s = {}) : bridge_bench(how(), memory_of(s)) {
        cpu.out.bind(bridge.in);
        for (std::size_t i = 0; i < memory.bytes.size(); i++)
            memory.bytes[i] = static_cast<std::uint8_t>(i * 7);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_write_of_a_part_of_a_burst_is_a_read_and_a_write) {
    bursts b;
    std::vector<std::string> sent;
    b.memory.on_request = [&](const tlm::tlm_generic_payload &p) {
        sent.push_back((p.is_read() ? "read " : "write ") + std::to_string(p.get_address()) + " " +
                       std::to_string(p.get_data_length()));
    };
    std::vector<std::uint8_t> expected = b.memory.bytes;
    b.cpu.body = [&] {
        bytes data = pattern(200);
        const sc_core::sc_time begin = sc_core::sc_time_stamp();
        b.cpu.write(60, data); // 4 bytes, two whole bursts, 68 bytes: one more and 4
        std::copy(data.begin(), data.end(), expected.begin() + 60);
        BOOST_CHECK(b.memory.bytes == expected);
        // Each takes 20 ns and the next goes 1 ns later: reads at 0 and 4, their writes at 20 and 24.
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp() - begin), 44'000u);
        b.cpu.write(128, bytes(64, 1));
        BOOST_CHECK(b.cpu.read(100, 10) == bytes(data.begin() + 40, data.begin() + 50));
        std::fill_n(expected.begin() + 128, 64, std::uint8_t{1});
        bytes enables(64, TLM_BYTE_ENABLED), one(64, 9);
        tlm::tlm_generic_payload p;
        p.set_write();
        p.set_address(192);
        p.set_data_ptr(one.data());
        p.set_data_length(64);
        p.set_streaming_width(64);
        p.set_byte_enable_ptr(enables.data());
        for (const bool is_whole : {true, false}) {
            p.set_byte_enable_length(64);
            enables[63] = is_whole ? TLM_BYTE_ENABLED : TLM_BYTE_DISABLED;
            p.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
            sc_core::sc_time delay;
            b.cpu.out->b_transport(p, delay);
            BOOST_CHECK(p.is_response_ok() && !p.is_dmi_allowed());
        }
        std::fill_n(expected.begin() + 192, 64, std::uint8_t{9});
        std::fill(enables.begin(), enables.end(), TLM_BYTE_DISABLED);
        p.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        sc_core::sc_time delay;
        b.cpu.out->b_transport(p, delay); // nothing
        BOOST_CHECK(p.is_response_ok());
    };
    simulate({&b.cpu});
    BOOST_CHECK(b.memory.bytes == expected);
    BOOST_TEST(sent == (std::vector<std::string>{"read 0 64", "write 64 64", "write 128 64", "write 192 64",
                                                 "read 256 64", "write 0 64", "write 256 64", "write 128 64",
                                                 "read 64 64", "write 192 64", "read 192 64", "write 192 64"}),
               boost::test_tools::per_element());
    BOOST_CHECK_EQUAL(b.bridge.get_statistics().merged, 3u);
    b.check_all_is_over();
}

// Four callers, each with every fourth byte of the same bursts: whoever writes his own leaves the others', also where
// the memory serves what is under way in any order.
BOOST_AUTO_TEST_CASE(no_caller_undoes_writes_of_other_callers_in_the_same_burst) {
    constexpr std::uint64_t range = 256;
    phased_memory::settings s = bursts::memory_of();
    s.late = true;
    s.spread = 30;
    bridge_bench b(bursts::how(), s);
    struct caller {
        initiator cpu;
        std::mt19937 random;
        std::vector<std::uint8_t> own = std::vector<std::uint8_t>(range);
        explicit caller(unsigned i) : cpu(("cpu" + std::to_string(i)).c_str()), random(80 + i) {}
    };
    std::deque<caller> all;
    unsigned wrong = 0;
    for (unsigned me = 0; me < 4; me++) {
        caller &c = all.emplace_back(me);
        c.cpu.out.bind(b.bridge.in);
        c.cpu.body = [&c, &wrong, me] {
            for (unsigned n = 0; n < 5'000; n++) {
                const std::uint64_t length = 1 + c.random() % 100, at = c.random() % (range - length + 1);
                const bool writes = c.random() % 2;
                std::vector<std::uint8_t> data(length), enables(length, TLM_BYTE_DISABLED);
                for (std::uint64_t i = 0; i < length; i++)
                    if ((at + i) % 4 == me) {
                        enables[i] = TLM_BYTE_ENABLED;
                        data[i] = static_cast<std::uint8_t>(c.random());
                        if (writes) c.own[at + i] = data[i];
                    }
                tlm::tlm_generic_payload p;
                p.set_command(writes ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
                p.set_address(at);
                p.set_data_ptr(data.data());
                p.set_data_length(static_cast<unsigned>(length));
                p.set_streaming_width(static_cast<unsigned>(length));
                p.set_byte_enable_ptr(enables.data());
                p.set_byte_enable_length(static_cast<unsigned>(length));
                sc_core::sc_time delay;
                c.cpu.out->b_transport(p, delay);
                wrong += !p.is_response_ok();
                for (std::uint64_t i = 0; i < length; i++)
                    wrong += enables[i] && data[i] != c.own[at + i];
                if (c.random() % 4 == 0)
                    sc_core::wait(static_cast<double>(c.random() % 50) * sc_core::sc_time(1, sc_core::SC_NS));
            }
        };
    }
    simulate({&all[0].cpu, &all[1].cpu, &all[2].cpu, &all[3].cpu});
    BOOST_TEST_INFO("seeds 80 to 83");
    BOOST_TEST(wrong == 0u);
    for (std::uint64_t i = 0; i < range; i++)
        wrong += b.memory.bytes[i] != all[i % 4].own[i];
    BOOST_TEST(wrong == 0u);
    b.check_all_is_over();
}

BOOST_AUTO_TEST_CASE(a_debuggers_write_is_kept_while_its_burst_is_read) {
    bursts b;
    b.cpu.body = [&] { b.cpu.write(8, bytes(8, 0xaa)); };
    initiator debugger("debugger");
    debugger.out.bind(b.bridge.in);
    debugger.body = [&] {
        sc_core::wait(sc_core::sc_time(10, sc_core::SC_NS));
        bytes data(8, 0x55);
        BOOST_CHECK_EQUAL(debugger.debug(tlm::TLM_WRITE_COMMAND, 4, data), 8u); // 4 of them are about to be written
        BOOST_CHECK_EQUAL(debugger.debug(tlm::TLM_WRITE_COMMAND, 60, data), 8u);
    };
    simulate({&b.cpu, &debugger});
    std::vector<std::uint8_t> expected(128);
    for (std::size_t i = 0; i < expected.size(); i++)
        expected[i] = i >= 8 && i < 16                            ? 0xaa
                      : (i >= 4 && i < 12) || (i >= 60 && i < 68) ? 0x55
                                                                  : static_cast<std::uint8_t>(i * 7);
    BOOST_TEST(bytes(b.memory.bytes.begin(), b.memory.bytes.begin() + 128) == expected,
               boost::test_tools::per_element());
    b.check_all_is_over();
}

BOOST_AUTO_TEST_CASE(a_debuggers_write_is_kept_while_its_burst_is_written_back) {
    phased_memory::settings s;
    s.late = true; // the burst is written with its answer, 40 ns after the access
    bursts b(s);
    b.cpu.body = [&] { b.cpu.write(8, bytes(8, 0xaa)); };
    initiator debugger("debugger");
    debugger.out.bind(b.bridge.in);
    bytes meanwhile(8), afterwards(16), expected(16);
    for (std::size_t i = 0; i < expected.size(); i++)
        expected[i] = i >= 8 ? 0xaa : i >= 4 ? 0x55 : static_cast<std::uint8_t>(i * 7);
    debugger.body = [&] {
        sc_core::wait(sc_core::sc_time(30, sc_core::SC_NS));
        bytes data(8, 0x33);
        BOOST_CHECK_EQUAL(debugger.debug(tlm::TLM_WRITE_COMMAND, 4, data), 8u); // 4 of them are about to be written
        data = bytes(4, 0x55);
        BOOST_CHECK_EQUAL(debugger.debug(tlm::TLM_WRITE_COMMAND, 4, data), 4u);
        BOOST_CHECK_EQUAL(debugger.debug(tlm::TLM_READ_COMMAND, 0, meanwhile), 8u);
        BOOST_TEST(meanwhile == bytes(expected.begin(), expected.begin() + 8), boost::test_tools::per_element());
        sc_core::wait(sc_core::sc_time(30, sc_core::SC_NS));
        BOOST_CHECK_EQUAL(debugger.debug(tlm::TLM_READ_COMMAND, 0, afterwards), 16u);
        BOOST_TEST(afterwards == expected, boost::test_tools::per_element());
    };
    simulate({&b.cpu, &debugger});
    BOOST_TEST(bytes(b.memory.bytes.begin(), b.memory.bytes.begin() + 16) == expected,
               boost::test_tools::per_element());
    b.check_all_is_over();
}

BOOST_AUTO_TEST_CASE(a_partial_write_to_an_unreadable_burst_writes_no_byte) {
    phased_memory::settings s;
    s.unreadable = 1000;
    bursts b(s);
    std::vector<std::uint8_t> expected = b.memory.bytes;
    b.cpu.body = [&] {
        sc_core::sc_time delay;
        bytes data(4, 1);
        BOOST_CHECK_EQUAL(b.cpu.write(970, data, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK(b.memory.bytes == expected);
        // Whole bursts go, and two to the same bytes wait for nothing that is left of the refused one.
        const sc_core::sc_time begin = sc_core::sc_time_stamp();
        data = bytes(128, 1);
        tlm::tlm_generic_payload p;
        p.set_write();
        p.set_address(960);
        p.set_data_ptr(data.data());
        p.set_data_length(128);
        p.set_streaming_width(64);
        BOOST_CHECK_EQUAL(b.cpu.send(p, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp() - begin), 21'000u);
        std::fill_n(expected.begin() + 960, 64, std::uint8_t{1});
    };
    simulate({&b.cpu});
    BOOST_CHECK(b.memory.bytes == expected);
    b.check_all_is_over();
}

// One writes whole bursts while another writes a part of each, to a memory that serves what is under way in any order:
// around the part are the bytes of the one, whichever was first.
BOOST_AUTO_TEST_CASE(the_read_of_a_partial_write_waits_for_outstanding_writes) {
    constexpr unsigned rounds = 2'000;
    phased_memory::settings s = bursts::memory_of();
    s.late = true;
    s.spread = 30;
    bridge_bench b(bursts::how(), s);
    initiator whole("whole"), part("part");
    whole.out.bind(b.bridge.in);
    part.out.bind(b.bridge.in);
    unsigned wrong = 0, first = 0;
    std::mt19937 random(90);
    const auto pause = [&] { sc_core::wait(sc_core::sc_time(static_cast<double>(random() % 20), sc_core::SC_NS)); };
    const sc_core::sc_time round(1, sc_core::SC_US);
    whole.body = [&] {
        for (unsigned n = 0; n < rounds; n++) {
            pause();
            whole.write(0, bytes(256, static_cast<std::uint8_t>(2 * n)));
            sc_core::wait(round * (n + 1) - sc_core::sc_time_stamp());
            for (unsigned i = 0; i < 256; i++) {
                const std::uint8_t is = b.memory.bytes[i];
                const bool mine = is == static_cast<std::uint8_t>(2 * n);
                wrong += i / 4 % 16 == 5 ? !mine && is != static_cast<std::uint8_t>(2 * n + 1) : !mine;
                first += i / 4 % 16 == 5 && mine;
            }
        }
    };
    part.body = [&] {
        for (unsigned n = 0; n < rounds; n++) {
            pause();
            for (unsigned burst = 0; burst < 4; burst++)
                part.write(64 * burst + 20, bytes(4, static_cast<std::uint8_t>(2 * n + 1)));
            sc_core::wait(round * (n + 1) - sc_core::sc_time_stamp());
        }
    };
    simulate({&whole, &part});
    BOOST_TEST_INFO("seed 90");
    BOOST_TEST(wrong == 0u);
    BOOST_CHECK_GT(first, 0u); // the part was first sometimes
    b.check_all_is_over();
}

BOOST_AUTO_TEST_CASE(pointers_past_merged_writes_are_for_reading) {
    bursts b;
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    tlm::tlm_generic_payload payload;
    tlm::tlm_dmi dmi;
    payload.set_write();
    payload.set_address(100);
    BOOST_CHECK(!b.cpu.out->get_direct_mem_ptr(payload, dmi));
    BOOST_CHECK_EQUAL(dmi.get_end_address(), bridged_bytes - 1);
    payload.set_read();
    BOOST_CHECK(b.cpu.out->get_direct_mem_ptr(payload, dmi));
    BOOST_CHECK(dmi.is_read_allowed() && !dmi.is_write_allowed());
}

BOOST_AUTO_TEST_CASE(a_merged_write_completes_after_its_caller_is_killed) {
    bursts b;
    initiator other("other");
    other.out.bind(b.bridge.in);
    sc_core::sc_process_handle thread;
    b.cpu.body = [&] {
        thread = sc_core::sc_get_current_process_handle();
        bytes data(90, 0x5a);
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_address(3);
        payload.set_data_ptr(data.data());
        payload.set_data_length(90);
        payload.set_streaming_width(90);
        sc_core::sc_time delay;
        b.cpu.out->b_transport(payload, delay);
        BOOST_CHECK(false);
    };
    other.body = [&] {
        sc_core::wait(sc_core::sc_time(10, sc_core::SC_NS));
        thread.kill();
        BOOST_CHECK(other.read(3, 90) == bytes(90, 0x5a));
        BOOST_CHECK_EQUAL(other.read(2, 1)[0], 14u);
    };
    sc_core::sc_start();
    BOOST_CHECK(other.finished);
    b.check_all_is_over();
}

// Extensions are the caller's: they go with him, also from the read that comes before his write.
void check_extensions_of_reads(bool is_killed) {
    phased_memory::settings s;
    s.late = true; // looks at what a request has when it is answered
    bursts b(s);
    initiator other("other");
    other.out.bind(b.bridge.in);
    sc_core::sc_process_handle thread;
    unknown_extension of_caller;
    b.cpu.body = [&] {
        thread = sc_core::sc_get_current_process_handle();
        bytes data(8, 0xaa);
        struct lent : tlm::tlm_generic_payload { // where the thread is killed, too, nobody deletes the extension
            unknown_extension &extension;
            explicit lent(unknown_extension &of) : extension(of) { set_extension(&extension); }
            ~lent() override { clear_extension(&extension); }
        } payload(of_caller);
        payload.set_write();
        payload.set_address(8);
        payload.set_data_ptr(data.data());
        payload.set_data_length(8);
        payload.set_streaming_width(8);
        sc_core::sc_time delay;
        b.cpu.out->b_transport(payload, delay);
    };
    other.body = [&] {
        sc_core::wait(sc_core::sc_time(10, sc_core::SC_NS));
        if (is_killed) thread.kill();
        sc_core::wait(sc_core::sc_time(15, sc_core::SC_NS)); // the read has been answered, the write has not
        BOOST_CHECK_EQUAL(b.memory.requests, 2u);
        BOOST_CHECK_EQUAL(b.memory.seen_extensions.empty(), is_killed);
    };
    sc_core::sc_start();
    BOOST_CHECK(other.finished);
}
BOOST_AUTO_TEST_CASE(the_read_before_a_write_in_part_has_the_extensions_of_the_caller) {
    check_extensions_of_reads(false);
}
BOOST_AUTO_TEST_CASE(the_read_before_a_write_in_part_loses_the_extensions_with_the_caller) {
    check_extensions_of_reads(true);
}
