// tcm: the rules of the payload, and its two channels by formula.
#include "bare.hpp"
#include "data_target.hpp"
#include "tlmalloc/modules/tcm.hpp"

using namespace tlmalloc;
using namespace data_targets;

namespace {

struct bench {
    explicit bench(const tcm::config &config = bare<tcm>()) : memory("tcm", config) { cpu.out.bind(memory.in); }

    // Local time at which an access is done that begins at begin_ps.
    std::uint64_t done(tlm::tlm_command command, std::size_t length, std::uint64_t begin_ps) {
        bytes data(length);
        sc_core::sc_time delay;
        set_local_ps(delay, begin_ps);
        BOOST_CHECK_EQUAL(cpu.access(command, 0, data, delay), tlm::TLM_OK_RESPONSE);
        return local_ps(delay);
    }

    void run(std::function<void()> body) {
        cpu.body = std::move(body);
        simulate({&cpu});
    }

    tcm memory;
    initiator cpu{"cpu"};
};

} // namespace

BOOST_AUTO_TEST_CASE(tcm_answers_every_access_as_the_payload_rules_say) {
    tcm::config config = bare<tcm>();
    config.capacity = 5000;
    bench b(config);
    b.run([&] { data_target{b.cpu, 0, 5000}.check_everything(); });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(an_access_takes_its_bytes_at_the_channels_bandwidth) {
    tcm::config config = bare<tcm>();
    config.write_bandwidth = 128'000'000'000;
    config.latency_ps = 250;
    bench b(config);
    b.run([&] {
        BOOST_CHECK_EQUAL(b.done(tlm::TLM_READ_COMMAND, 512, 0), 250u + 1000); // 512 B at 512 GB/s (ADR-0040)
        BOOST_CHECK_EQUAL(b.done(tlm::TLM_WRITE_COMMAND, 512, 2000), 2000u + 250 + 4000); // at 128 GB/s
    });
}

BOOST_AUTO_TEST_CASE(reads_and_writes_overlap_but_two_reads_do_not) {
    bench b;
    b.run([&] {
        BOOST_CHECK_EQUAL(b.done(tlm::TLM_READ_COMMAND, 1024, 100), 2100u);
        BOOST_CHECK_EQUAL(b.done(tlm::TLM_WRITE_COMMAND, 1024, 100), 2100u);
        BOOST_CHECK_EQUAL(b.done(tlm::TLM_READ_COMMAND, 1024, 100), 4100u);
    });
    const tcm::statistics &s = b.memory.get_statistics();
    BOOST_CHECK_EQUAL(s.busy_ps, 6000u);
    BOOST_CHECK_EQUAL(s.reads, 2u);
    BOOST_CHECK_EQUAL(s.bytes_read, 2048u);
    BOOST_CHECK_EQUAL(s.writes, 1u);
    BOOST_CHECK_EQUAL(s.bytes_written, 1024u);
}

BOOST_AUTO_TEST_CASE(an_access_that_overlaps_its_way_counts_and_takes_no_time_of_a_channel) {
    tcm::config config = bare<tcm>();
    config.latency_ps = 250;
    bench b(config);
    requester who{0, 1};
    who.overlaps = true;
    b.run([&] {
        bytes data(1024, 0x5a);
        tlm::tlm_generic_payload p;
        p.set_command(tlm::TLM_WRITE_COMMAND);
        p.set_address(64);
        p.set_data_ptr(data.data());
        p.set_data_length(1024);
        p.set_streaming_width(1024);
        p.set_extension(&who);
        sc_core::sc_time delay;
        b.cpu.out->b_transport(p, delay);
        BOOST_CHECK_EQUAL(p.get_response_status(), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(delay), 250u);
        p.clear_extension(&who);
        BOOST_CHECK_EQUAL(b.done(tlm::TLM_WRITE_COMMAND, 1024, 9000), 9000u + 250 + 2000); // the channel was free
        bytes kept(64);                                                                    // of what done() has left
        p.set_command(tlm::TLM_READ_COMMAND);
        p.set_address(1024);
        p.set_data_ptr(kept.data());
        p.set_data_length(64);
        BOOST_CHECK_EQUAL(b.cpu.out->transport_dbg(p), 64u);
        BOOST_CHECK(kept == bytes(64, 0x5a));
    });
    const tcm::statistics &s = b.memory.get_statistics();
    BOOST_CHECK_EQUAL(s.busy_ps, 2000u);
    BOOST_CHECK_EQUAL(s.writes, 2u);
    BOOST_CHECK_EQUAL(s.bytes_written, 2048u);
}

BOOST_AUTO_TEST_CASE(a_tcm_without_bandwidth_cannot_be_built) {
    tcm::config config = bare<tcm>();
    config.read_bandwidth = 0;
    check_refused([&] { tcm memory("tcm", config); },
                  "/tlmalloc/tcm/config: read_bandwidth and write_bandwidth must be above 0");
}

BOOST_AUTO_TEST_CASE(an_access_that_streams_takes_all_its_bytes) {
    bench b;
    b.run([&] {
        bytes data(1024);
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_data_ptr(data.data());
        payload.set_data_length(1024);
        payload.set_streaming_width(64);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.send(payload, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(to_ps(delay), 2000u); // 16 times 64 B at 512 GB/s
    });
}
