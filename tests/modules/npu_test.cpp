// npu and its host: tensors, launches and clean-up over a whole platform, and what happens when something fails.
#include "test_initiator.hpp"
#include "tlmalloc/modules/npu.hpp"

#include <random>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

std::function<tla_status(tl_context *)> first;
const tl_kernel kernels[] = {[](tl_context *tl) { return first(tl); }};

// One cube of `pes` PEs with slices of 1 MiB and pages of 4 KiB.
tla_config settings(unsigned pes, std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"system.pes_per_cube=" + std::to_string(pes), "hbm.capacity_per_cube=" + std::to_string(pes) + " MiB",
                 "mmu.page_size=4 KiB", "va.size=64 MiB"});
    std::vector<const char *> overrides;
    for (const std::string &text : more)
        overrides.push_back(text.c_str());
    tla_config config{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, nullptr),
                        TLA_OK);
    return config;
}

struct bench {
    explicit bench(unsigned pes, const std::vector<std::string> &more = {})
        : config(settings(pes, more)), platform("npu", config, {kernels, 1}) {}

    void run(std::function<void()> body) {
        bool finished = false;
        platform.host().main = [&] {
            body();
            finished = true;
        };
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_start();
        BOOST_CHECK(finished);
    }

    tensor *make(const std::string &name, std::uint64_t nbytes, std::vector<pe_location> pes = {}) {
        tensor *made = nullptr;
        status = platform.host().create_tensor(
            name, nbytes, 1, pes.empty() ? platform.host().everywhere() : host::sharding{pes}, &made, &error);
        BOOST_CHECK((made == nullptr) == (status != TLA_OK));
        return made;
    }

    std::uint64_t used(unsigned pe) const { return platform.pes()[pe]->controller.get_statistics(TLA_HBM).arena.used; }

    tla_config config;
    npu platform;
    tla_status status = TLA_OK;
    tla_error error{};
};

const std::uint64_t mib = 1 << 20;
const pe_location pe0{0, 0, 0}, pe1{0, 0, 1};

} // namespace

BOOST_AUTO_TEST_CASE(a_tensor_is_split_mapped_everywhere_written_and_read_back) {
    bench b(4);
    b.run([&] {
        BOOST_CHECK(!b.platform.pes()[0]->controller.has_allocators()); // lazily (ADR-0048 D5)
        tensor *t = b.make("t", 10'001);
        BOOST_REQUIRE(t);
        BOOST_REQUIRE_EQUAL(t->shards.size(), 4u);
        BOOST_CHECK_EQUAL(t->shards[0].nbytes, 2501u); // the first part is one element larger
        BOOST_CHECK_EQUAL(t->shards[3].nbytes, 2500u);
        BOOST_CHECK_EQUAL(t->va.value, std::uint64_t{4} << 30);
        for (const pe_unit *pe : b.platform.pes())
            BOOST_CHECK_EQUAL(pe->mmu.get_statistics().table.mapped_bytes, 10'001u);
        const bytes data = pattern(10'001);
        BOOST_CHECK_EQUAL(b.platform.host().write_tensor(*t, data.data(), &b.error), TLA_OK);
        bytes got(10'001);
        BOOST_CHECK_EQUAL(b.platform.host().read_tensor(*t, got.data(), &b.error), TLA_OK);
        BOOST_CHECK(got == data);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 1u + 4 + 4 + 1); // the tensor, HBM, MMUs, virtual addresses
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_failed_allocation_releases_the_blocks_of_other_pes_and_reports_the_cause) {
    bench b(2);
    b.run([&] {
        BOOST_REQUIRE(b.make("big", mib - 100, {pe1}));
        const std::uint64_t before = b.used(0);
        BOOST_CHECK(!b.make("both", 2000));
        BOOST_CHECK_EQUAL(b.status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(
            b.error.text,
            std::string(
                "tensor both: HBM of sip0.cube0.pe1 overflow: requested 1000 bytes, 100 free, largest free block 100: "
                "exhausted; free something first, or configure more memory (correlation 2, request 6)"));
        BOOST_CHECK_EQUAL(b.error.requested, 1000u);
        BOOST_CHECK_EQUAL(b.error.total_free, 100u);
        BOOST_CHECK_EQUAL(b.error.largest_free, 100u);
        BOOST_CHECK_EQUAL(b.used(0), before);
        BOOST_CHECK_EQUAL(b.platform.host().tensors().size(), 1u);
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    });
}

BOOST_AUTO_TEST_CASE(a_fragmented_slice_differs_from_an_exhausted_one) {
    bench b(2);
    b.run([&] {
        tensor *one = b.make("one", mib / 4, {pe0});
        BOOST_REQUIRE(b.make("two", mib / 2, {pe0}));
        tensor *three = b.make("three", mib / 4, {pe0});
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(one, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(three, &b.error), TLA_OK);
        BOOST_CHECK(!b.make("four", mib / 4 + 1, {pe0}));
        BOOST_CHECK_EQUAL(b.status, TLA_FRAGMENTED);
        BOOST_CHECK_EQUAL(
            b.error.text,
            std::string("tensor four: HBM of sip0.cube0.pe0 overflow: requested 262145 bytes, 524288 free, largest "
                        "free block 262144: fragmented; allocate large blocks first, choose a policy that packs "
                        "tighter, or map pages (correlation 6, request 17)"));
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    });
}

BOOST_AUTO_TEST_CASE(virtual_addresses_run_out_before_anything_is_allocated) {
    bench b(1, {"va.size=64 KiB"});
    b.run([&] {
        BOOST_REQUIRE(b.make("a", 60'000));
        BOOST_CHECK(!b.make("b", 5000));
        BOOST_CHECK_EQUAL(
            b.error.text,
            std::string("tensor b: virtual addresses overflow: requested 5000 bytes, 4096 free, largest free block "
                        "4096: exhausted; free something first, or configure more memory (correlation 2, request 4)"));
        BOOST_CHECK_EQUAL(b.used(0), 60'000u);
        b.platform.host().cleanup(&b.error);
    });
    BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
}

BOOST_AUTO_TEST_CASE(a_map_that_fails_on_one_mmu_leaves_nothing_allocated_or_mapped) {
    bench b(4);
    b.run([&] {
        // PE 2 has a mapping of its own where the tensor would come.
        tla_paddr mmu{};
        BOOST_REQUIRE_EQUAL(tla_paddr_pe_control(0, 0, 2, TLA_CONTROL_PE_MMU, 5 * TLA_PORT_BYTES, &mmu), TLA_OK);
        tla_command taken = map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{(std::uint64_t{4} << 30) + 100, 0, 1}});
        bytes descriptor(TLA_COMMAND_MAX_BYTES);
        std::size_t length = 0;
        tla_command_encode(&taken, descriptor.data(), descriptor.size(), &length);
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_address(mmu.value);
        payload.set_data_ptr(descriptor.data());
        payload.set_data_length(static_cast<unsigned>(length));
        payload.set_streaming_width(static_cast<unsigned>(length));
        sc_core::sc_time delay;
        b.platform.host().out->b_transport(payload, delay);
        BOOST_CHECK_EQUAL(payload.get_response_status(), tlm::TLM_OK_RESPONSE);
        sc_core::wait(1, sc_core::SC_US);
        BOOST_CHECK(!b.make("t", 10'000));
        BOOST_CHECK_EQUAL(b.status, TLA_OVERLAP);
        BOOST_CHECK_MESSAGE(std::string(b.error.text).rfind("tensor t: map: ", 0) == 0, b.error.text);
        for (unsigned pe = 0; pe < 4; pe++) {
            BOOST_CHECK_EQUAL(b.used(pe), 0u);
            BOOST_CHECK_EQUAL(b.platform.pes()[pe]->mmu.get_statistics().table.mapped_bytes, pe == 2 ? 1u : 0u);
        }
        BOOST_CHECK_EQUAL(b.platform.addresses().get_statistics().space.used, 0u);
    });
}

BOOST_AUTO_TEST_CASE(invalid_requests_of_the_host_are_rejected) {
    bench b(2);
    b.run([&] {
        host &host = b.platform.host();
        tensor *made = nullptr;
        BOOST_CHECK_EQUAL(host.create_tensor("t", 0, 4, host.everywhere(), &made, &b.error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(host.create_tensor("t", 4, 4, {{}}, &made, &b.error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(host.create_tensor("t", UINT64_MAX, 4, host.everywhere(), &made, &b.error),
                          TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(host.create_tensor("t", 4, 4, {{pe0, {0, 0, 2}}}, &made, &b.error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(b.error.text, std::string("tensor t: unknown PE sip0.cube0.pe2 in this platform"));
        BOOST_CHECK_EQUAL(host.create_tensor("t", 4, 4, {{{99, 99, 99}}}, &made, &b.error), TLA_INVALID_ARGUMENT);
        tensor *t = b.make("t", 100);
        BOOST_CHECK_EQUAL(host.free_tensor(t, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(host.free_tensor(t, &b.error), TLA_NOT_ALLOCATED); // double free
        BOOST_CHECK_EQUAL(host.launch(0, std::vector<std::uint64_t>(17), &b.error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(host.launch(5, {}, &b.error), TLA_NOT_FOUND);
    });
    BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_pe_may_get_several_parts_of_a_tensor) {
    bench b(2);
    b.run([&] {
        tensor *t = b.make("t", 3000, {pe0, pe1, pe0});
        BOOST_REQUIRE_MESSAGE(t, b.error.text);
        const bytes data = pattern(3000);
        bytes got(3000);
        BOOST_CHECK_EQUAL(b.platform.host().write_tensor(*t, data.data(), &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.host().read_tensor(*t, got.data(), &b.error), TLA_OK);
        BOOST_CHECK(got == data);
        BOOST_CHECK_EQUAL(b.used(0), 2000u);
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_block_that_was_not_released_is_a_leak) {
    bench b(1);
    first = [](tl_context *tl) {
        tl_tile tile{};
        return tl_alloc(tl, 4, 4, TL_F32, &tile);
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.platform.host().launch(0, {}, &b.error), TLA_OK);
        b.platform.host().cleanup(&b.error);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 1u);
    });
}

BOOST_AUTO_TEST_CASE(the_status_of_a_kernel_that_fails_names_its_pe) {
    bench b(4);
    first = [](tl_context *tl) { return tl_program_id(tl, TL_ALL) == 2 ? TLA_UNSUPPORTED : TLA_OK; };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.platform.host().launch(0, {}, &b.error), TLA_UNSUPPORTED);
        BOOST_CHECK_EQUAL(std::string(b.error.text).rfind("kernel on sip0.cube0.pe2: ", 0), 0u);
    });
}

BOOST_AUTO_TEST_CASE(a_kernel_that_reads_past_its_mappings_fails_and_is_counted_as_a_fault) {
    bench b(1);
    first = [](tl_context *tl) {
        tl_tile tile{};
        tla_status status = tl_alloc(tl, 1, 64, TL_F32, &tile);
        if (!status) status = tl_load(tl, &tile, {tl_argument(tl, 0)}, 256);
        tl_free(tl, &tile);
        return status;
    };
    b.run([&] {
        tensor *t = b.make("t", 256);
        BOOST_REQUIRE(t);
        BOOST_CHECK_EQUAL(b.platform.host().launch(0, {t->va.value}, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.host().launch(0, {t->va.value + 1}, &b.error), TLA_BUS_ERROR);
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.platform.pes()[0]->mmu.get_statistics().faults, 1u);
    BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
}

// Tensors come and go at random; kernels copy random rows between them by DMA; the host writes and reads. Every byte is
// compared with plain vectors.
BOOST_AUTO_TEST_CASE(random_traffic_through_mmus_moves_every_byte_where_a_plain_copy_would) {
    const unsigned seed = 20480;
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937 random(seed);
    const auto upto = [&](std::uint64_t n) { return random() % n; };
    struct copy {
        std::uint64_t from, to, rows, row_bytes, pitch_from, pitch_to;
    };
    static copy job;
    first = [](tl_context *tl) {
        if (tl_program_id(tl, TL_ALL) != tl_argument(tl, 0)) return TLA_OK;
        tl_tile tile{};
        tla_status status = tl_alloc(tl, static_cast<std::uint32_t>(job.rows),
                                     static_cast<std::uint32_t>(job.row_bytes / 2), TL_F16, &tile);
        if (!status) status = tl_load(tl, &tile, {job.from}, job.pitch_from);
        if (!status) status = tl_store(tl, {job.to}, job.pitch_to, &tile);
        const tla_status freed = tl_free(tl, &tile);
        return status ? status : freed;
    };
    bench b(4, {"dma.chunk=256 B", "simulation.quantum=50 ns"});
    b.run([&] {
        host &host = b.platform.host();
        std::vector<std::pair<tensor *, bytes>> live;
        std::uint64_t copied = 0;
        for (unsigned step = 0; step < 400; step++) {
            const std::uint64_t what = upto(10);
            if (live.size() < 3 || (what < 2 && live.size() < 12)) {
                bytes data = pattern(1 + upto(60'000), step);
                tensor *t = b.make("t" + std::to_string(step), data.size(),
                                   upto(2) ? std::vector<pe_location>{} : std::vector<pe_location>{pe1, pe0});
                BOOST_REQUIRE_MESSAGE(t, b.error.text);
                BOOST_REQUIRE_EQUAL(host.write_tensor(*t, data.data(), &b.error), TLA_OK);
                live.emplace_back(t, std::move(data));
            } else if (what < 3) {
                const auto gone = live.begin() + static_cast<std::ptrdiff_t>(upto(live.size()));
                BOOST_REQUIRE_EQUAL(host.free_tensor(gone->first, &b.error), TLA_OK);
                live.erase(gone);
            } else {
                const std::uint64_t source = upto(live.size()),
                                    target = (source + 1 + upto(live.size() - 1)) % live.size();
                auto &[from, from_bytes] = live[source];
                auto &[to, to_bytes] = live[target];
                const std::uint64_t most = std::min(from_bytes.size(), to_bytes.size());
                job.row_bytes = 2 * (1 + upto(700));
                job.rows = 1 + upto(9);
                job.pitch_from = job.row_bytes + upto(300);
                job.pitch_to = job.row_bytes + upto(300);
                const std::uint64_t span = (job.rows - 1) * std::max(job.pitch_from, job.pitch_to) + job.row_bytes;
                if (span > most) continue;
                const std::uint64_t from_at = upto(from_bytes.size() - span + 1),
                                    to_at = upto(to_bytes.size() - span + 1);
                job.from = from->va.value + from_at;
                job.to = to->va.value + to_at;
                BOOST_REQUIRE_EQUAL(host.launch(0, {upto(4)}, &b.error), TLA_OK);
                for (std::uint64_t row = 0; row < job.rows; row++)
                    std::copy_n(from_bytes.begin() + static_cast<std::ptrdiff_t>(from_at + row * job.pitch_from),
                                job.row_bytes,
                                to_bytes.begin() + static_cast<std::ptrdiff_t>(to_at + row * job.pitch_to));
                copied++;
            }
            for (const auto &[t, expected] : live) {
                bytes got(expected.size());
                BOOST_REQUIRE_EQUAL(host.read_tensor(*t, got.data(), &b.error), TLA_OK);
                BOOST_REQUIRE_MESSAGE(got == expected, "seed " << seed << ", step " << step << ", tensor " << t->name);
            }
        }
        BOOST_CHECK_GT(copied, 100u);
        BOOST_CHECK_EQUAL(host.cleanup(&b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    BOOST_CHECK(reports().empty());
    std::uint64_t splits = 0;
    for (const pe_unit *pe : b.platform.pes())
        splits += pe->mmu.get_statistics().splits;
    BOOST_CHECK_GT(splits, 50u); // shards meet inside chunks
}

BOOST_AUTO_TEST_CASE(two_platforms_in_one_process_do_not_see_each_other) {
    const tla_config small = settings(1), large = settings(4, {"controller.cost.fixed=100 ns"});
    npu a("a", small, {kernels, 1}), b("b", large, {kernels, 1});
    unsigned finished = 0;
    std::uint64_t alloc_ps[2] = {};
    const auto body = [&](npu &platform, unsigned which) {
        tla_error error{};
        tensor *t = nullptr;
        BOOST_REQUIRE_EQUAL(platform.host().create_tensor("t", 5000, 1, platform.host().everywhere(), &t, &error),
                            TLA_OK);
        BOOST_CHECK_EQUAL(t->va.value, std::uint64_t{4} << 30); // each has its own addresses
        alloc_ps[which] = t->alloc_ps;
        const bytes data = pattern(5000);
        bytes got(5000);
        BOOST_CHECK_EQUAL(platform.host().write_tensor(*t, data.data(), &error), TLA_OK);
        BOOST_CHECK_EQUAL(platform.host().read_tensor(*t, got.data(), &error), TLA_OK);
        BOOST_CHECK(got == data);
        BOOST_CHECK_EQUAL(platform.host().cleanup(&error), TLA_OK);
        finished++;
    };
    a.host().main = [&] { body(a, 0); };
    b.host().main = [&] { body(b, 1); };
    sc_core::sc_start();
    BOOST_CHECK_EQUAL(finished, 2u);
    BOOST_CHECK_EQUAL(a.leaks() + b.leaks(), 0u);
    BOOST_CHECK_GT(alloc_ps[1], alloc_ps[0]); // and its own prices
}

// What 16 KiB from an odd address on occupy of a slice's pseudo-channels: each burst once, as from an even one.
BOOST_AUTO_TEST_CASE(bulk_transfers_from_odd_addresses_take_no_burst_twice) {
    bench b(1, {});
    b.run([&] {
        const pe_unit &pe = *b.platform.pes()[0];
        const std::uint64_t nbytes = 16 * 1024, burst_ps = 8000;
        bytes data = pattern(nbytes);
        const auto bursts = [&](const std::function<tla_status(tla_paddr)> &moves, std::uint64_t offset) {
            tla_paddr pa{};
            tla_paddr_pe_hbm(0, 0, 0, offset, b.config.hbm.capacity, &pa);
            const std::uint64_t before = pe.slice.get_statistics().busy_ps;
            BOOST_CHECK_EQUAL(moves(pa), TLA_OK);
            return (pe.slice.get_statistics().busy_ps - before) / burst_ps;
        };
        const auto by_host = [&](tla_paddr pa) {
            return b.platform.host().write_memory(pa, data.data(), nbytes, &b.error);
        };
        const auto by_end_point = [&](tla_paddr pa) {
            return b.platform.end_point_of(0).move(tlm::TLM_WRITE_COMMAND, pa.value, data.data(), nbytes);
        };
        for (const auto &moves : {std::function<tla_status(tla_paddr)>(by_host), {by_end_point}}) {
            BOOST_CHECK_EQUAL(bursts(moves, 4096), 64u);
            BOOST_CHECK_EQUAL(bursts(moves, 4097), 65u);
            BOOST_CHECK_EQUAL(bursts(moves, 4095), 65u);
        }
    });
}
