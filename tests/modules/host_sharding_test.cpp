// Placements of the host beside the plain split: copies in every cube, and pages that come on demand.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "test_initiator.hpp"
#include "tlmalloc/modules/npu.hpp"

using namespace tlmalloc;
using namespace test_initiator;

namespace {

std::function<tla_status(tl_context *)> first;
const tl_kernel kernels[] = {[](tl_context *tl) { return first(tl); }};

tla_config settings(std::vector<const char *> overrides) {
    tla_config config{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, nullptr),
                        TLA_OK);
    return config;
}

struct bench {
    explicit bench(const std::vector<const char *> &overrides)
        : config(settings(overrides)), platform("npu", config, {kernels, 1}) {}

    void run(std::function<void()> body) {
        bool finished = false;
        platform.host().main = [&] {
            body();
            BOOST_CHECK_EQUAL(platform.host().cleanup(&error), TLA_OK);
            finished = true;
        };
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_start();
        BOOST_CHECK(finished);
        BOOST_CHECK_EQUAL(platform.leaks(), 0u);
    }

    tensor *make(std::uint64_t nbytes, spread kind) {
        tensor *made = nullptr;
        host::sharding where = platform.host().everywhere();
        where.kind = kind;
        BOOST_CHECK_EQUAL(platform.host().create_tensor("t", nbytes, 1, where, &made, &error), TLA_OK);
        return made;
    }

    // What a PE reads at a virtual address, without time.
    bytes seen_by(std::size_t pe, std::uint64_t va, std::size_t length) {
        bytes data(length);
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_address(va);
        payload.set_data_ptr(data.data());
        payload.set_data_length(static_cast<unsigned>(length));
        BOOST_CHECK_EQUAL(platform.pes()[pe]->dma.out->transport_dbg(payload), length);
        return data;
    }

    std::uint64_t used(std::size_t pe) const {
        return platform.pes()[pe]->controller.get_statistics(TLA_HBM).arena.used;
    }

    tla_config config;
    npu platform;
    tla_error error{};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_replicated_tensor_is_a_copy_in_every_cube_and_each_cube_sees_its_own) {
    bench b({"system.pes_per_cube=2", "system.cube_mesh_width=2", "mmu.page_size=4 KiB"});
    b.run([&] {
        tensor *t = b.make(10'000, spread::replicate);
        BOOST_REQUIRE_EQUAL(t->shards.size(), 4u); // two cubes of two PEs
        for (std::size_t pe = 0; pe < 4; pe++)
            BOOST_CHECK_EQUAL(b.used(pe), 5000u);
        const bytes data = pattern(10'000);
        BOOST_CHECK_EQUAL(b.platform.host().write_tensor(*t, data.data(), &b.error), TLA_OK);
        for (std::size_t pe = 0; pe < 4; pe++)
            BOOST_CHECK(b.seen_by(pe, t->va.value, 10'000) == data);
        // A write by a PE of cube 0 is not seen in cube 1.
        sc_core::sc_time delay;
        bytes other(100, 0x77);
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_address(t->va.value);
        payload.set_data_ptr(other.data());
        payload.set_data_length(100);
        payload.set_streaming_width(100);
        b.platform.pes()[1]->dma.out->b_transport(payload, delay);
        sc_core::wait(delay);
        BOOST_CHECK(payload.is_response_ok());
        BOOST_CHECK(b.seen_by(0, t->va.value, 100) == other);
        BOOST_CHECK(b.seen_by(2, t->va.value, 100) == bytes(data.begin(), data.begin() + 100));
        bytes read(10'000);
        BOOST_CHECK_EQUAL(b.platform.host().read_tensor(*t, read.data(), &b.error), TLA_OK);
        BOOST_CHECK(bytes(read.begin(), read.begin() + 100) == other); // the first copy
    });
}

// All policies on SIP 1: what the host writes every PE reads where the placement says that the element is, and each
// that has a copy of its own, or whose cube has one, reads that.
static void place(tla_cut of_cubes, tla_cut of_pes) {
    bench b({"system.sips=2", "system.pes_per_cube=3", "system.cube_mesh_width=3", "mmu.page_size=4 KiB"});
    b.run([&] {
        const tla_matrix_layout where{of_cubes, of_pes, 1, 2, 2, 37, 29, 4}; // two of three cubes, two of three PEs
        tensor *t = nullptr;
        BOOST_REQUIRE_EQUAL(b.platform.host().create_tensor("m", where, &t, &b.error), TLA_OK);
        const std::size_t nbytes = tla_matrix_layout_bytes(&where);
        const bytes matrix = pattern(nbytes);
        bytes packed(nbytes), read(nbytes), unpacked(nbytes);
        tla_matrix_layout_pack(&where, matrix.data(), packed.data());
        BOOST_CHECK_EQUAL(b.platform.host().write_tensor(*t, packed.data(), &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.host().read_tensor(*t, read.data(), &b.error), TLA_OK);
        tla_matrix_layout_unpack(&where, read.data(), unpacked.data());
        BOOST_CHECK(unpacked == matrix);
        for (std::size_t n = 0; n < b.platform.pes().size(); n++) {
            const pe_location &pe = b.platform.pes()[n]->where;
            if (of_cubes == TLA_REPLICATE && (pe.sip != 1 || pe.cube > 1)) {
                BOOST_CHECK_EQUAL(b.platform.pes()[n]->mmu.get_statistics().table.mapped_bytes, 0u);
                continue;
            }
            for (std::uint64_t row = 0; row < where.rows; row++)
                for (std::uint64_t column = 0; column < where.columns; column += 5) {
                    std::uint64_t offset = 0;
                    tla_pe_location home{};
                    BOOST_REQUIRE_EQUAL(tla_matrix_layout_find(&where, row, column, &offset, &home), TLA_OK);
                    const auto at = matrix.begin() + static_cast<std::ptrdiff_t>((row * where.columns + column) * 4);
                    BOOST_REQUIRE(b.seen_by(n, t->va.value + offset, 4) == bytes(at, at + 4));
                }
        }
        // Each shard becomes its own number; then who sees which is read from it.
        for (std::size_t i = 0; i < t->shards.size(); i++) {
            bytes mark(t->shards[i].nbytes, static_cast<std::uint8_t>(i + 1));
            tlm::tlm_generic_payload payload;
            payload.set_write();
            payload.set_address(t->shards[i].pa.value);
            payload.set_data_ptr(mark.data());
            payload.set_data_length(static_cast<unsigned>(mark.size()));
            BOOST_REQUIRE_EQUAL(b.platform.host().out->transport_dbg(payload), mark.size());
        }
        for (std::size_t i = 0; i < t->shards.size(); i++) {
            const shard &s = t->shards[i];
            const std::size_t own = (s.where.sip * 3 + s.where.cube) * 3 + s.where.pe;
            BOOST_CHECK(b.seen_by(own, t->va.value + s.offset, s.nbytes) ==
                        bytes(s.nbytes, static_cast<std::uint8_t>(i + 1)));
        }
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_matrix_by_columns_over_cubes_and_rows_over_pes_lies_where_it_is_found) {
    place(TLA_COLUMN_WISE, TLA_ROW_WISE);
}
BOOST_AUTO_TEST_CASE(a_matrix_by_rows_over_cubes_and_columns_over_pes_lies_where_it_is_found) {
    place(TLA_ROW_WISE, TLA_COLUMN_WISE);
}
BOOST_AUTO_TEST_CASE(a_matrix_that_cubes_replicate_lies_where_it_is_found) {
    place(TLA_REPLICATE, TLA_COLUMN_WISE);
}
BOOST_AUTO_TEST_CASE(a_matrix_that_pes_replicate_lies_where_it_is_found) {
    place(TLA_ROW_WISE, TLA_REPLICATE);
}
BOOST_AUTO_TEST_CASE(a_matrix_that_all_replicate_lies_where_it_is_found) {
    place(TLA_REPLICATE, TLA_REPLICATE);
}

BOOST_AUTO_TEST_CASE(an_invalid_matrix_layout_reports_the_cause_and_leaves_nothing) {
    bench b({"system.pes_per_cube=2", "system.cube_mesh_width=2", "mmu.page_size=4 KiB", "hbm.capacity_per_cube=64 KiB",
             "va.size=1 GiB"});
    b.run([&] {
        host &host = b.platform.host();
        tensor *t = nullptr;
        const auto refused = [&](const tla_matrix_layout &where, tla_status status, const std::string &text) {
            BOOST_CHECK_EQUAL(host.create_tensor("m", where, &t, &b.error), status);
            BOOST_CHECK(t == nullptr);
            BOOST_CHECK_MESSAGE(std::string(b.error.text).rfind(text, 0) == 0, b.error.text);
            for (std::size_t pe = 0; pe < 4; pe++)
                BOOST_CHECK_EQUAL(b.used(pe), 0u);
            BOOST_CHECK_EQUAL(b.platform.addresses().get_statistics().space.used, 0u);
        };
        refused({TLA_ROW_WISE, TLA_ROW_WISE, 1, 1, 1, 4, 4, 4}, TLA_NOT_FOUND,
                "tensor m: unknown PE sip1.cube0.pe0 in this platform");
        refused({TLA_ROW_WISE, TLA_ROW_WISE, 0, 3, 1, 4, 4, 4}, TLA_NOT_FOUND,
                "tensor m: unknown PE sip0.cube2.pe0 in this platform");
        refused({TLA_ROW_WISE, TLA_ROW_WISE, 0, 1, 3, 4, 4, 4}, TLA_NOT_FOUND,
                "tensor m: unknown PE sip0.cube0.pe2 in this platform");
        refused({TLA_ROW_WISE, TLA_ROW_WISE, 0, 0, 1, 4, 4, 4}, TLA_INVALID_ARGUMENT,
                "tensor m: matrix layout on SIP 0, ");
        // 4 PEs of 32 KiB: 256 KiB
        refused({TLA_ROW_WISE, TLA_COLUMN_WISE, 0, 2, 2, 256, 256, 4}, TLA_EXHAUSTED,
                "tensor m: HBM of sip0.cube0.pe0 overflow: requested 65536 bytes, 32768 free, largest free block "
                "32768: ");
        BOOST_CHECK_MESSAGE(
            std::string(b.error.text).find("; 4 of 4 shards do not fit: they need 262144 bytes, but 131072 are free") !=
                std::string::npos,
            b.error.text);
        BOOST_CHECK_EQUAL(b.error.requested, 65536u);
        refused({TLA_ROW_WISE, TLA_COLUMN_WISE, 0, 2, 2, 1 << 20, 1 << 20, 4}, TLA_EXHAUSTED,
                "tensor m: virtual addresses overflow: requested 4398046511104 bytes, 1073741824 free");
        BOOST_CHECK_EQUAL(host.create_tensor("m", {TLA_ROW_WISE, TLA_COLUMN_WISE, 0, 2, 2, 128, 256, 4}, &t, &b.error),
                          TLA_OK); // fills all
    });
}

BOOST_AUTO_TEST_CASE(pages_on_demand_come_to_the_pe_that_touches_them_first) {
    bench b({"system.pes_per_cube=2", "mmu.page_size=4 KiB", "mmu.unmapped=demand", "mmu.fault_latency=45 us"});
    b.run([&] {
        tensor *t = b.make(5 * 4096, spread::demand);
        BOOST_CHECK_EQUAL(t->shards.size(), 0u);
        bytes data = pattern(4096 + 100);
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_address(t->va.value + 4096);
        payload.set_data_ptr(data.data());
        payload.set_data_length(4196);
        payload.set_streaming_width(4196);
        sc_core::sc_time delay;
        const std::uint64_t start_ps = to_ps(sc_core::sc_time_stamp());
        b.platform.pes()[1]->dma.out->b_transport(payload, delay);
        BOOST_CHECK(payload.is_response_ok());
        BOOST_CHECK_GT(local_ps(delay) - start_ps, 2 * std::uint64_t{45'000'000}); // two faults (UVMSmart: 45 us each)
        BOOST_CHECK_LT(local_ps(delay) - start_ps, 2 * std::uint64_t{46'000'000});
        sc_core::wait(delay);
        BOOST_CHECK_EQUAL(b.used(0), 0u);
        BOOST_CHECK_EQUAL(b.used(1), 2 * 4096u);
        BOOST_CHECK(b.seen_by(0, t->va.value + 4096, data.size()) == data); // mapped everywhere
        bytes all(5 * 4096), expected(5 * 4096);
        std::copy(data.begin(), data.end(), expected.begin() + 4096);
        BOOST_CHECK_EQUAL(b.platform.host().read_tensor(*t, all.data(), &b.error), TLA_OK);
        BOOST_CHECK(all == expected);
        BOOST_CHECK_EQUAL(b.platform.host().write_tensor(*t, all.data(), &b.error), TLA_UNSUPPORTED);
        payload.set_address(t->va.value + 64 * 4096); // no tensor's
        delay = sc_core::SC_ZERO_TIME;
        b.platform.pes()[0]->dma.out->b_transport(payload, delay);
        BOOST_CHECK_EQUAL(payload.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    });
    BOOST_CHECK_EQUAL(b.platform.pes()[1]->mmu.get_statistics().demand_faults, 2u);
}

// A reader waits for the driver at each page that it found, while the list of pages grows and moves elsewhere.
// A page that another SIP's PE brings meanwhile is waited for, too: that SIP's driver is busy for longer. (A walk of
// the list as it was before would not meet it, and read what the list has left.)
BOOST_AUTO_TEST_CASE(a_reader_waits_for_the_driver_of_a_page_that_comes_meanwhile) {
    bench b({"system.sips=2", "system.pes_per_cube=1", "mmu.page_size=4 KiB", "mmu.unmapped=demand",
             "mmu.fault_latency=1 us", "host.driver=asynchronous", "host.driver_alloc=200 us"});
    b.run([&] {
        host &h = b.platform.host();
        tensor *t = b.make(2 * 4096, spread::demand);
        const auto touch = [&](std::size_t pe) {
            std::uint8_t byte = 7;
            sc_core::sc_time delay;
            BOOST_CHECK(access(b.platform.pes()[pe]->dma.out, tlm::TLM_WRITE_COMMAND, t->va.value + pe * 4096, &byte, 1,
                               delay));
            sc_core::wait(delay);
        };
        touch(0);
        shard blocks[3]{};
        for (std::size_t i = 0; i < 3; i++)
            BOOST_REQUIRE_EQUAL(h.allocate({i > 0, 0, 0}, TLA_HBM, 64, &blocks[i], &b.error), TLA_OK);
        const std::uint64_t first_ps = h.driver()->ready_ps(0), second_ps = h.driver()->ready_ps(1);
        BOOST_REQUIRE_LT(first_ps + 100'000'000, second_ps);
        sc_core::sc_spawn([&] { touch(1); });
        bytes found(2 * 4096);
        BOOST_CHECK_EQUAL(h.read_tensor(*t, found.data(), &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(t->shards.size(), 2u);
        BOOST_CHECK_GE(to_ps(sc_core::sc_time_stamp()), second_ps);
        BOOST_CHECK(found[0] == 7 && found[4096] == 7);
        for (const shard &block : blocks)
            BOOST_CHECK_EQUAL(h.release(block, &b.error), TLA_OK);
    });
}

BOOST_AUTO_TEST_CASE(pages_may_come_while_a_reader_waits_for_the_driver) {
    bench b({"system.pes_per_cube=1", "mmu.page_size=4 KiB", "mmu.unmapped=demand", "mmu.fault_latency=1 us",
             "host.driver=asynchronous", "host.driver_alloc=200 us"});
    b.run([&] {
        const std::size_t pages = 64;
        tensor *t = b.make(pages * 4096, spread::demand);
        bytes expected(pages * 4096), found(pages * 4096);
        const auto touch = [&](std::size_t page) {
            bytes data(1, static_cast<std::uint8_t>(page + 1));
            expected[page * 4096] = data[0];
            tlm::tlm_generic_payload payload;
            payload.set_write();
            payload.set_address(t->va.value + page * 4096);
            payload.set_data_ptr(data.data());
            payload.set_data_length(1);
            payload.set_streaming_width(1);
            sc_core::sc_time delay;
            b.platform.pes()[0]->dma.out->b_transport(payload, delay);
            BOOST_CHECK(payload.is_response_ok());
            sc_core::wait(delay);
        };
        for (std::size_t page = 0; page < 3; page++)
            touch(page);
        shard other{};
        BOOST_REQUIRE_EQUAL(b.platform.host().allocate({0, 0, 0}, TLA_HBM, 64, &other, &b.error), TLA_OK);
        sc_core::sc_spawn([&] {
            for (std::size_t page = 3; page < pages; page++)
                touch(page);
        });
        BOOST_CHECK_EQUAL(b.platform.host().read_tensor(*t, found.data(), &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(t->shards.size(), pages); // the driver takes longer than all faults
        BOOST_CHECK(found == expected);
        BOOST_CHECK_EQUAL(b.platform.host().release(other, &b.error), TLA_OK);
    });
}

// PE 1 cannot allocate its table, so the posted MAP is taken back on both PEs, after it was acknowledged.
BOOST_AUTO_TEST_CASE(a_page_whose_posted_map_was_lost_is_mapped_at_the_next_fault) {
    bench b({"system.pes_per_cube=2", "mmu.page_size=4 KiB", "mmu.unmapped=demand", "mmu.walk=memory",
             "va.map_ack=posted", "host.retries=0", "faults.plan=refuse at=0ns pe=1"});
    const auto mapped = [&](std::size_t pe) { return b.platform.pes()[pe]->mmu.get_statistics().table.mapped_bytes; };
    b.run([&] {
        tensor *t = b.make(4096, spread::demand);
        bytes data = pattern(64), back(64);
        const auto access = [&](tlm::tlm_command command, bytes &of) {
            tlm::tlm_generic_payload payload;
            payload.set_command(command);
            payload.set_address(t->va.value + 128);
            payload.set_data_ptr(of.data());
            payload.set_data_length(64);
            payload.set_streaming_width(64);
            sc_core::sc_time delay;
            b.platform.pes()[0]->dma.out->b_transport(payload, delay);
            sc_core::wait(delay + sc_core::sc_time(100, sc_core::SC_US));
            BOOST_CHECK(payload.is_response_ok());
        };
        access(tlm::TLM_WRITE_COMMAND, data); // in time before it is taken back, or after it was mapped anew
        if (b.platform.mapping_statistics().posted_failures == 0) sc_core::wait(1, sc_core::SC_MS);
        BOOST_CHECK_GT(b.platform.mapping_statistics().posted_failures, 0u);
        access(tlm::TLM_READ_COMMAND, back);
        BOOST_CHECK(back == data);
        BOOST_CHECK_EQUAL(mapped(0), 4096u);
        BOOST_CHECK_EQUAL(mapped(1), 4096u);
    });
    BOOST_CHECK_EQUAL(b.platform.pes()[0]->mmu.get_statistics().faults, 0u);
}

BOOST_AUTO_TEST_CASE(tensors_of_an_address_space_are_not_there_in_another) {
    bench b({"system.pes_per_cube=1", "mmu.page_size=4 KiB", "mmu.asids=4", "workload.asid=2", "mmu.walk=memory"});
    b.run([&] {
        tensor *t = b.make(4096, spread::split);
        tlm::tlm_generic_payload payload;
        bytes data(4);
        payload.set_read();
        payload.set_address(t->va.value);
        payload.set_data_ptr(data.data());
        payload.set_data_length(4);
        payload.set_streaming_width(4);
        sc_core::sc_time delay;
        b.platform.pes()[0]->dma.out->b_transport(payload, delay); // without an extension: address space 0
        BOOST_CHECK_EQUAL(payload.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        tla_paddr tile{};
        tla_paddr_pe_tcm(0, 0, 0, 0, &tile);
        // The DMA engine says whose accesses it makes.
        BOOST_CHECK_EQUAL(
            b.platform.pes()[0]->dma.transfer({pe_dma::direction::read, t->va, tile, 1, 4096, 4096}, delay), TLA_OK);
        sc_core::wait(delay);
    });
}

BOOST_AUTO_TEST_CASE(a_host_with_no_transaction_in_flight_cannot_be_built) {
    host::config config;
    config.outstanding = 0;
    check_refused([&] { host h("host", config); }, "/tlmalloc/host/config: outstanding must be above 0");
}
