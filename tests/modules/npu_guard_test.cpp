// A guarded platform: who asks is known everywhere, transfers are judged as wholes, and what is legal is left alone.
#include "test_initiator.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/npu.hpp"

using namespace tlmalloc;
using namespace test_initiator;

namespace {

std::function<tla_status(tl_context *)> first;
const tl_kernel kernels[] = {[](tl_context *tl) { return first(tl); }};

const std::uint64_t page = 4096;
const pe_location pe0{0, 0, 0};

// One cube of two PEs with slices of 16 MiB and pages of 4 KiB; DMA chunks of 256 bytes.
struct bench {
    explicit bench(std::vector<std::string> more = {"controller.guard=error"}) : config(settings(std::move(more))) {}

    static tla_config settings(std::vector<std::string> more) {
        more.insert(more.begin(), {"system.pes_per_cube=2", "hbm.capacity_per_cube=32 MiB", "mmu.page_size=4 KiB",
                                   "va.size=64 MiB", "dma.outstanding=1"}); // a finding a transfer
        std::vector<const char *> overrides;
        for (const std::string &text : more)
            overrides.push_back(text.c_str());
        tla_config config{};
        BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, nullptr),
                            TLA_OK);
        return config;
    }

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

    // A tensor whose bytes are written, in the HBM of PE 0 unless `where` says else.
    tensor *make(std::uint64_t nbytes, host::sharding where = {{pe0}}) {
        tensor *made = nullptr;
        BOOST_REQUIRE_EQUAL(platform.host().create_tensor("t", nbytes, 1, where, &made, &error), TLA_OK);
        const bytes data = pattern(nbytes);
        if (where.kind != spread::demand)
            BOOST_REQUIRE_EQUAL(platform.host().write_tensor(*made, data.data(), &error), TLA_OK);
        return made;
    }

    // A tile in the TCM of PE 0, allocated as its kernel would.
    std::uint64_t tile(std::uint64_t nbytes) {
        tla_completion answer{};
        tla_command command = alloc_command(TLA_TCM, nbytes);
        return send(command, answer) ? 0 : answer.value;
    }
    void release(std::uint64_t pa, std::uint64_t nbytes) {
        tla_completion answer{};
        tla_command command = free_command(pa, nbytes);
        BOOST_CHECK_EQUAL(send(command, answer), TLA_OK);
    }
    tla_status send(tla_command &command, tla_completion &answer) {
        requester who{0, 1};
        sc_core::sc_time delay;
        const tla_status status =
            send_command(platform.pes()[0]->element.allocator, TLA_PORT_BYTES, command, answer, delay, &who);
        sc_core::wait(delay);
        return status;
    }

    tla_status move(const pe_dma::request &what) {
        sc_core::sc_time delay;
        const tla_status status = platform.pes()[0]->dma.transfer(what, delay);
        sc_core::wait(delay);
        return status;
    }
    tla_status load(std::uint64_t va, std::uint64_t tile, std::uint64_t rows, std::uint64_t row_bytes,
                    std::uint64_t pitch) {
        return move({pe_dma::direction::read, {va}, {tile}, rows, row_bytes, pitch});
    }

    memory_controller::statistics hbm() const { return platform.pes()[0]->controller.get_statistics(TLA_HBM); }
    memory_controller::statistics tcm() const { return platform.pes()[0]->controller.get_statistics(TLA_TCM); }

    tla_config config;
    npu platform{"npu", config, {kernels, 1}};
    tla_error error{};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_row_that_enters_its_neighbour_on_a_chunk_boundary_is_denied_before_any_byte_moves) {
    bench b;
    b.run([&] {
        const tensor *a = b.make(page), *next = b.make(page);
        BOOST_REQUIRE_EQUAL(a->va.value + page, next->va.value);
        BOOST_REQUIRE_EQUAL(a->shards[0].pa.value + page, next->shards[0].pa.value);
        const std::uint64_t tile = b.tile(2 * page);
        BOOST_CHECK_EQUAL(b.load(a->va.value, tile, 1, page, page), TLA_OK);
        BOOST_CHECK_EQUAL(b.load(next->va.value, tile, 1, page, page), TLA_OK);
        BOOST_CHECK(reports().empty());
        BOOST_CHECK_EQUAL(b.load(a->va.value, tile, 1, page + 1, page), TLA_BUS_ERROR); // one byte, a chunk of its own
        BOOST_CHECK_EQUAL(b.hbm().out_of_bounds, 1u);
        BOOST_CHECK_EQUAL(b.load(a->va.value + page - 256, tile, 1, 512, 512), TLA_BUS_ERROR);
        BOOST_CHECK_EQUAL(b.move({pe_dma::direction::write, {next->va.value - 256}, {tile}, 1, 512, 512}),
                          TLA_BUS_ERROR);
        bytes seen(page);
        BOOST_CHECK_EQUAL(b.platform.host().read_tensor(*next, seen.data(), &b.error), TLA_OK);
        BOOST_CHECK(seen == pattern(page));
        b.release(tile, 2 * page);
    });
    BOOST_CHECK_EQUAL(b.hbm().out_of_bounds, 3u);
    BOOST_REQUIRE_EQUAL(reports().size(), 3u);
    BOOST_CHECK_MESSAGE(
        reports()[0].find("read of 256 bytes at 0 of HBM by initiator 1 of asid 0") != std::string::npos &&
            reports()[0].find("part of a transfer of 4097 bytes at 0 that ends 1 bytes past the end of the "
                              "block of 4096 bytes at 0, allocated by trusted initiator 0 of asid 0") !=
                std::string::npos,
        reports()[0]);
}

BOOST_AUTO_TEST_CASE(a_strided_transfer_whose_last_row_lies_in_the_neighbour_is_denied) {
    bench b;
    b.run([&] {
        const tensor *a = b.make(page);
        b.make(page);
        const std::uint64_t tile = b.tile(page);
        BOOST_CHECK_EQUAL(b.load(a->va.value + 512, tile, 4, 256, 1024), TLA_OK);
        BOOST_CHECK(reports().empty());
        BOOST_CHECK_EQUAL(b.load(a->va.value + 512, tile, 5, 256, 1024), TLA_BUS_ERROR); // its fifth row
        // the same upside down: rows that go down are judged row by row
        BOOST_CHECK_EQUAL(b.load(a->va.value + 3072, tile, 4, 256, std::uint64_t(0) - 1024), TLA_OK);
        b.release(tile, page);
    });
    BOOST_CHECK_EQUAL(b.hbm().out_of_bounds, 1u);
}

BOOST_AUTO_TEST_CASE(a_transfer_that_overflows_its_tile_by_a_byte_is_denied) {
    bench b;
    b.run([&] {
        const tensor *a = b.make(page);
        const std::uint64_t tile = b.tile(512), next = b.tile(512);
        BOOST_REQUIRE_EQUAL(tile + 512, next);
        BOOST_CHECK_EQUAL(b.load(a->va.value, tile, 2, 256, 1024), TLA_OK);
        BOOST_CHECK_EQUAL(b.load(a->va.value, next, 2, 256, 1024), TLA_OK);
        BOOST_CHECK(reports().empty());
        BOOST_CHECK_EQUAL(b.load(a->va.value, tile, 1, 513, 513), TLA_BUS_ERROR);
        BOOST_CHECK_EQUAL(b.load(a->va.value, tile, 3, 256, 1024), TLA_BUS_ERROR);
        b.release(tile, 512);
        b.release(next, 512);
    });
    BOOST_CHECK_EQUAL(b.tcm().out_of_bounds, 2u);
}

// The parts of one tensor lie beside each other in one slice, and are blocks of their own.
BOOST_AUTO_TEST_CASE(a_transfer_over_adjacent_parts_of_one_tensor_is_legal) {
    bench b;
    b.run([&] {
        const tensor *a = b.make(4 * 1000, {{pe0, pe0, pe0, pe0}});
        BOOST_REQUIRE_EQUAL(a->shards.size(), 4u);
        BOOST_REQUIRE_EQUAL(a->shards[0].pa.value + 1000, a->shards[1].pa.value);
        b.make(page);
        const std::uint64_t tile = b.tile(4000);
        BOOST_CHECK_EQUAL(b.load(a->va.value, tile, 1, 4000, 4000), TLA_OK); // chunks lie over the seams, too
        BOOST_CHECK_EQUAL(b.load(a->va.value, tile, 4, 900, 1000), TLA_OK);
        BOOST_CHECK_EQUAL(b.load(a->va.value + 999, tile, 1, 2, 2), TLA_OK); // an access that the MMU has joined
        b.release(tile, 4000);
    });
    BOOST_CHECK(reports().empty());
}

namespace {

void check_pages_on_demand(const char *walk) {
    bench b({"controller.guard=error", "mmu.unmapped=demand", walk, "dma.chunk=8 KiB"});
    b.run([&] {
        const tensor *a = b.make(6 * page, {{pe0}, spread::demand});
        const std::uint64_t tile = b.tile(6 * page);
        bytes data = pattern(6 * page);
        requester who{0, 1};
        sc_core::sc_time delay;
        BOOST_CHECK(access(b.platform.pes()[0]->element.local, tlm::TLM_WRITE_COMMAND, tile, data.data(), 6 * page,
                           delay, &who));
        sc_core::wait(delay);
        BOOST_CHECK_EQUAL(b.move({pe_dma::direction::write, a->va, {tile}, 1, 6 * page, 6 * page}), TLA_OK);
        BOOST_CHECK_EQUAL(b.load(a->va.value, tile, 1, 6 * page, 6 * page), TLA_OK);
        BOOST_CHECK_EQUAL(b.load(a->va.value + 100, tile, 5, 700, page), TLA_OK);
        b.release(tile, 6 * page);
    });
    BOOST_CHECK(reports().empty());
}

} // namespace

BOOST_AUTO_TEST_CASE(a_transfer_over_pages_on_demand_is_legal) {
    check_pages_on_demand("mmu.walk=ideal");
}

BOOST_AUTO_TEST_CASE(a_transfer_over_pages_on_demand_is_legal_with_tables_in_memory) {
    check_pages_on_demand("mmu.walk=memory");
}

BOOST_AUTO_TEST_CASE(page_tables_belong_to_no_context) {
    bench b({"controller.guard=error", "mmu.walk=memory"});
    b.run([&] {
        const tensor *a = b.make(page);
        const std::uint64_t tile = b.tile(page);
        BOOST_CHECK_EQUAL(b.load(a->va.value, tile, 1, page, page), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.pes()[0]->mmu.get_statistics().walk_errors, 0u);
        BOOST_CHECK(reports().empty());
        // the block behind the tensor's is a table
        const tla_paddr table{a->shards[0].pa.value + page};
        requester kernel{0, 1};
        bytes data(8);
        sc_core::sc_time delay;
        BOOST_CHECK(!access(b.platform.pes()[0]->element.local, tlm::TLM_WRITE_COMMAND, table.value, data.data(), 8,
                            delay, &kernel));
        tla_completion answer{};
        tla_command command = free_command(table.value, page);
        BOOST_CHECK_EQUAL(b.send(command, answer), TLA_NOT_OWNER);
        b.release(tile, page);
    });
    BOOST_CHECK_EQUAL(b.hbm().not_owner, 2u);
}

BOOST_AUTO_TEST_CASE(a_kernel_of_another_address_space_reaches_nothing_that_is_not_its_own) {
    bench b({"controller.guard=error", "mmu.asids=4", "workload.asid=2"});
    b.run([&] {
        const tensor *a = b.make(page);
        requester mine{2, 1}, other{3, 2};
        bytes data(64);
        sc_core::sc_time delay;
        const auto try_as = [&](requester &who) {
            return access(b.platform.pes()[0]->element.local, tlm::TLM_READ_COMMAND, a->shards[0].pa.value, data.data(),
                          64, delay, &who);
        };
        BOOST_CHECK(try_as(mine));
        BOOST_CHECK(!try_as(other));
        tla_completion answer{};
        tla_command command = free_command(a->shards[0].pa.value, page);
        BOOST_CHECK_EQUAL(
            send_command(b.platform.pes()[1]->element.allocator, TLA_PORT_BYTES, command, answer, delay, &other),
            TLA_OUT_OF_RANGE); // another PE's controller does not know it
        BOOST_CHECK_EQUAL(
            send_command(b.platform.pes()[0]->element.allocator, TLA_PORT_BYTES, command, answer, delay, &other),
            TLA_NOT_OWNER);
    });
    BOOST_CHECK_EQUAL(b.hbm().not_owner, 2u);
}

BOOST_AUTO_TEST_CASE(the_guard_reports_a_kernel_that_strays_and_no_other_kernel) {
    bench b;
    b.run([&] {
        const tensor *a = b.make(page);
        b.make(page);
        const auto load = [&](std::uint32_t columns) {
            return [&, columns](tl_context *tl) {
                tl_tile tile{};
                tla_status status = tl_alloc(tl, 1, columns, TL_F16, &tile);
                if (!status) status = tl_load(tl, &tile, a->va, columns * 2);
                if (!status) status = tl_add(tl, &tile, &tile, &tile);
                if (!status) status = tl_store(tl, a->va, columns * 2, &tile);
                tl_free(tl, &tile);
                return status;
            };
        };
        first = load(2048);
        BOOST_CHECK_EQUAL(b.platform.host().launch(0, {}, &b.error), TLA_OK);
        BOOST_CHECK(reports().empty());
        first = load(2049);
        BOOST_CHECK_EQUAL(b.platform.host().launch(0, {}, &b.error), TLA_BUS_ERROR);
    });
    BOOST_CHECK_GT(b.hbm().out_of_bounds, 0u);
    BOOST_CHECK_EQUAL(b.hbm().not_owner + b.hbm().never_written + b.tcm().never_written, 0u);
}

BOOST_AUTO_TEST_CASE(in_report_mode_a_transfer_that_strays_is_made_and_counted) {
    bench b({"controller.guard=report"});
    b.run([&] {
        const tensor *a = b.make(page);
        b.make(page);
        const std::uint64_t tile = b.tile(page);
        BOOST_CHECK_EQUAL(b.load(a->va.value + page - 512, tile, 1, 768, 768), TLA_OK);
        b.release(tile, page);
    });
    BOOST_CHECK_EQUAL(b.hbm().out_of_bounds, 3u); // each of its accesses
}
