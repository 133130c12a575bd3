// pe_dma: rows between virtual memory and TCM, chunk by chunk, and their time by formula.
#include "bare.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/tcm.hpp"

#include <memory>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

const std::uint64_t memory_bytes = 1 << 20, tcm_bytes = 64 << 10;

// The engine between a slice (virtual address = offset) and a TCM. `cpu` is the thread that asks for transfers.
struct bench {
    explicit bench(const pe_dma::config &config = bare<pe_dma>()) : dma("dma", config) {
        hbm_slice::config slice_config = bare<hbm_slice>();
        slice_config.capacity = memory_bytes;
        memory = std::make_unique<hbm_slice>("memory", slice_config);
        tcm::config tcm_config = bare<tcm>();
        tcm_config.capacity = tcm_bytes;
        local = std::make_unique<tcm>("tcm", tcm_config);
        dma.out.bind(memory->in);
        dma.local.bind(local->in);
        cpu.out.bind(other.in);
    }

    void run(std::function<void()> body) {
        cpu.body = std::move(body);
        simulate({&cpu});
    }

    static bytes peek(tlm::tlm_fw_transport_if<> &memory, std::uint64_t address, std::size_t length) {
        bytes data(length);
        debug(memory, tlm::TLM_READ_COMMAND, address, data);
        return data;
    }
    static void debug(tlm::tlm_fw_transport_if<> &memory, tlm::tlm_command command, std::uint64_t address,
                      bytes &data) {
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(data.data());
        payload.set_data_length(static_cast<unsigned>(data.size()));
        BOOST_CHECK_EQUAL(memory.transport_dbg(payload), data.size());
    }
    tlm::tlm_fw_transport_if<> &virtual_memory() { return *dma.out.operator->(); }
    tlm::tlm_fw_transport_if<> &tile_memory() { return *dma.local.operator->(); }

    pe_dma dma;
    std::unique_ptr<hbm_slice> memory;
    std::unique_ptr<tcm> local;
    hbm_slice other{"other", bare<hbm_slice>()};
    initiator cpu{"cpu"};
};

pe_dma::request one_row(pe_dma::direction way, std::uint64_t va, std::uint64_t tile, std::uint64_t nbytes) {
    return {way, {va}, {tile}, 1, nbytes, nbytes};
}

} // namespace

BOOST_AUTO_TEST_CASE(rows_are_gathered_into_a_tile_and_scattered_again) {
    bench b;
    b.run([&] {
        bytes matrix = pattern(64 * 1000);
        bench::debug(b.virtual_memory(), tlm::TLM_WRITE_COMMAND, 5000, matrix);
        // 7 rows of 130 bytes, 1000 bytes apart, from an odd address
        pe_dma::request request{pe_dma::direction::read, {5000 + 13}, {333}, 7, 130, 1000};
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.dma.transfer(request, delay), TLA_OK);
        for (unsigned row = 0; row < 7; row++) {
            const auto from = matrix.begin() + 13 + row * 1000;
            BOOST_CHECK(bench::peek(b.tile_memory(), 333 + row * 130, 130) == bytes(from, from + 130));
        }
        request = {pe_dma::direction::write, {200'000}, {333}, 7, 130, 500};
        BOOST_CHECK_EQUAL(b.dma.transfer(request, delay), TLA_OK);
        for (unsigned row = 0; row < 7; row++) {
            const auto from = matrix.begin() + 13 + row * 1000;
            BOOST_CHECK(bench::peek(b.virtual_memory(), 200'000 + row * 500, 130) == bytes(from, from + 130));
            BOOST_CHECK(bench::peek(b.virtual_memory(), 200'000 + row * 500 + 130, 370) == bytes(370, 0));
        }
    });
    BOOST_CHECK_EQUAL(b.dma.get_statistics().bytes_read, 7 * 130u);
    BOOST_CHECK_EQUAL(b.dma.get_statistics().bytes_written, 7 * 130u);
    BOOST_CHECK_EQUAL(b.dma.get_statistics().transfers, 2u);
}

BOOST_AUTO_TEST_CASE(chunks_end_at_multiples_of_their_size) {
    bench b;
    b.run([&] {
        sc_core::sc_time delay;
        b.dma.transfer(one_row(pe_dma::direction::read, 200, 0, 600), delay); // 56, 256, 256, 32
    });
    BOOST_CHECK_EQUAL(b.dma.get_statistics().chunks, 4u);
    BOOST_CHECK_EQUAL(b.memory->get_statistics().reads, 4u);
}

BOOST_AUTO_TEST_CASE(a_read_of_16_kib_is_limited_by_the_slice_and_ends_with_the_last_commit) {
    bench b;
    b.run([&] {
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.dma.transfer(one_row(pe_dma::direction::read, 0, 0, 16384), delay), TLA_OK);
        // Chunk n leaves at n ns (256 B at 256 GB/s) and finds its pseudo-channel free 8 ns after the one before: the
        // last of the 64 leaves at 63 ns, is read in 8 ns and written into the TCM in 256 B / 512 GB/s.
        BOOST_CHECK_EQUAL(local_ps(delay), 63'000u + 8000 + 500);
    });
}

BOOST_AUTO_TEST_CASE(a_tile_whose_side_overlaps_takes_no_time_of_the_tcm) {
    pe_dma::config config = bare<pe_dma>();
    config.overlaps = true;
    bench overlapping(config);
    overlapping.run([&] {
        for (const auto way : {pe_dma::direction::read, pe_dma::direction::write}) {
            const std::uint64_t before = overlapping.local->get_statistics().busy_ps;
            sc_core::sc_time delay;
            const std::uint64_t start_ps = local_ps(delay);
            BOOST_CHECK_EQUAL(overlapping.dma.transfer(one_row(way, 0, 0, 256), delay), TLA_OK);
            BOOST_CHECK_EQUAL(local_ps(delay) - start_ps, 8000u); // the slice's commit alone
            BOOST_CHECK_EQUAL(overlapping.local->get_statistics().busy_ps, before);
        }
    });
    BOOST_CHECK_EQUAL(overlapping.local->get_statistics().bytes_written, 256u);
    BOOST_CHECK_EQUAL(overlapping.local->get_statistics().bytes_read, 256u);
}

BOOST_AUTO_TEST_CASE(with_one_chunk_outstanding_each_waits_for_the_one_before) {
    pe_dma::config config = bare<pe_dma>();
    config.outstanding = 1;
    bench b(config);
    b.run([&] {
        sc_core::sc_time delay;
        b.dma.transfer(one_row(pe_dma::direction::read, 0, 0, 1024), delay);
        BOOST_CHECK_EQUAL(local_ps(delay), 4 * (8000u + 500));
    });
}

// The engine is slower than its memories: it is still busy with a chunk that has ended.
BOOST_AUTO_TEST_CASE(a_reset_ends_the_time_that_the_engine_is_busy_with_its_last_chunk) {
    pe_dma::config config = bare<pe_dma>();
    config.bandwidth = 256'000'000; // 1 us for a chunk of 256 bytes
    bench b(config);
    const std::uint64_t end_ps = 8000 + 500, reset_ps = 2 * end_ps;
    b.run([&] {
        const auto read = [&](std::uint64_t begin_ps) {
            sc_core::sc_time delay;
            set_local_ps(delay, begin_ps);
            b.dma.transfer(one_row(pe_dma::direction::read, 0, 0, 256), delay);
            return local_ps(delay);
        };
        BOOST_CHECK_EQUAL(read(0), end_ps);
        sc_core::wait(from_ps(reset_ps) - sc_core::sc_time_stamp());
        b.dma.reset();
        sc_core::wait(from_ps(1));
        BOOST_CHECK(!b.dma.in_reset());
        BOOST_CHECK_EQUAL(read(reset_ps + 1), reset_ps + 1 + end_ps);
        BOOST_CHECK_EQUAL(read(2 * reset_ps), reset_ps + 1 + 1'000'000 + end_ps);
    });
}

BOOST_AUTO_TEST_CASE(an_error_ends_the_transfer_and_no_further_chunk_is_issued) {
    bench b;
    b.run([&] {
        sc_core::sc_time delay;
        const std::uint64_t near_end = memory_bytes - 512;
        BOOST_CHECK_EQUAL(b.dma.transfer(one_row(pe_dma::direction::read, near_end, 0, 4096), delay), TLA_BUS_ERROR);
        BOOST_CHECK_EQUAL(b.dma.transfer(one_row(pe_dma::direction::write, 0, tcm_bytes - 256, 1024), delay),
                          TLA_BUS_ERROR);
    });
    BOOST_CHECK_EQUAL(b.dma.get_statistics().errors, 2u);
    BOOST_CHECK_EQUAL(b.dma.get_statistics().chunks, 3u + 2);
    BOOST_CHECK_EQUAL(b.dma.get_statistics().bytes_read, 512u);
    BOOST_CHECK_EQUAL(b.memory->get_statistics().writes, 1u);
}

BOOST_AUTO_TEST_CASE(an_engine_without_chunks_cannot_be_built) {
    pe_dma::config config = bare<pe_dma>();
    config.chunk = 0;
    check_refused([&] { pe_dma dma("dma", config); },
                  "/tlmalloc/pe_dma/config: chunk, bandwidth and outstanding must be above 0");
}
