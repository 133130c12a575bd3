// Transfers that are longer than their initiator's window, over nodes that store and forward: everything comes to its
// end, and with the right bytes.
#include "test_initiator.hpp"
#include "tlmalloc/modules/npu.hpp"

#include <random>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

struct bench {
    explicit bench(std::vector<std::string> more) {
        more.insert(more.end(), {"system.sips=3", "system.pes_per_cube=2", "hbm.capacity_per_cube=8 MiB",
                                 "mmu.page_size=4 KiB", "va.size=64 MiB", "host.dma_chunk=64 B"});
        std::vector<const char *> overrides;
        for (const std::string &text : more)
            overrides.push_back(text.c_str());
        BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, nullptr),
                            TLA_OK);
        platform = std::make_unique<npu>("npu", config, kernel_table{});
    }

    void run(const std::function<void()> &body) {
        bool finished = false;
        platform->host().main = [&] {
            body();
            finished = true;
        };
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_start();
        BOOST_CHECK(finished);
    }

    tla_config config{};
    std::unique_ptr<npu> platform;
    tla_error error{};
};

// Tensors in many parts, near and far in random order, and windows of few chunks: an engine's window moves in order, so
// that it waits for a far chunk while near ones behind it are long there.
void by_engines(unsigned seed) {
    std::mt19937 random(seed);
    BOOST_TEST_MESSAGE("seed " << seed);
    bench b({"dma.outstanding=" + std::to_string(1 + random() % 9)});
    b.run([&] {
        const std::vector<pe_unit *> &pes = b.platform->pes();
        for (int round = 0; round < 12; round++) {
            std::vector<pe_location> parts;
            for (std::size_t i = 0, count = 1 + random() % 12; i < count; i++)
                parts.push_back(pes[random() % pes.size()]->where);
            const std::uint64_t nbytes = parts.size() * (1 + random() % 3000);
            tensor *from = nullptr, *to = nullptr;
            BOOST_REQUIRE_EQUAL(b.platform->host().create_tensor("from", nbytes, 1, {parts}, &from, &b.error), TLA_OK);
            std::shuffle(parts.begin(), parts.end(), random);
            BOOST_REQUIRE_EQUAL(b.platform->host().create_tensor("to", nbytes, 1, {parts}, &to, &b.error), TLA_OK);
            const bytes data = pattern(nbytes);
            BOOST_REQUIRE_EQUAL(b.platform->host().write_tensor(*from, data.data(), &b.error), TLA_OK);
            pe_unit &pe = *pes[random() % pes.size()];
            for (const auto &[way, t] : {std::pair{pe_dma::direction::read, from}, {pe_dma::direction::write, to}}) {
                pe_dma::request request{};
                request.way = way;
                request.va = t->va;
                tla_paddr_pe_tcm(pe.where.sip, pe.where.cube, pe.where.pe, 0, &request.tile);
                request.rows = 1;
                request.row_bytes = request.pitch = nbytes;
                sc_core::sc_time delay;
                BOOST_REQUIRE_EQUAL(pe.dma.transfer(request, delay), TLA_OK);
                sc_core::wait(delay);
            }
            bytes got(nbytes);
            BOOST_REQUIRE_EQUAL(b.platform->host().read_tensor(*to, got.data(), &b.error), TLA_OK);
            BOOST_CHECK(got == data);
            BOOST_REQUIRE_EQUAL(b.platform->host().free_tensor(from, &b.error), TLA_OK);
            BOOST_REQUIRE_EQUAL(b.platform->host().free_tensor(to, &b.error), TLA_OK);
        }
    });
}

} // namespace

// The host has 1024 accesses of 64 bytes under way: five windows.
BOOST_AUTO_TEST_CASE(the_host_moves_several_windows) {
    bench b({});
    b.run([&] {
        tla_paddr pa{};
        tla_paddr_pe_hbm(2, 0, 1, 4096, b.config.hbm.capacity, &pa);
        const bytes data = pattern(300'000);
        bytes got(data.size());
        BOOST_CHECK_EQUAL(b.platform->host().write_memory(pa, data.data(), data.size(), &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform->host().read_memory(pa, got.data(), got.size(), &b.error), TLA_OK);
        BOOST_CHECK(got == data);
    });
}

BOOST_AUTO_TEST_CASE(engines_move_tensors_in_many_parts) {
    by_engines(1);
}
BOOST_AUTO_TEST_CASE(engines_with_other_windows_move_tensors_in_many_parts) {
    by_engines(2);
}

// Nothing is to be held twice: a long read streams as a long write does.
BOOST_AUTO_TEST_CASE(a_long_read_of_another_sip_takes_as_long_as_a_write) {
    bench b({"mmu.overhead=0 ns", "dma.outstanding=16"});
    b.run([&] {
        const auto ps = [&](pe_dma::direction way, std::uint64_t nbytes) {
            tla_paddr pa{};
            tla_paddr_pe_hbm(0, 0, 0, 4096, b.config.hbm.capacity, &pa);
            pe_dma::request request{};
            request.way = way;
            request.va.value = pa.value;
            request.physical = true;
            request.rows = 1;
            request.row_bytes = request.pitch = nbytes;
            request.has_tile = false;
            const std::uint64_t start = to_ps(sc_core::sc_time_stamp());
            sc_core::sc_time delay;
            BOOST_CHECK_EQUAL(b.platform->pes()[2]->dma.transfer(request, delay), TLA_OK);
            sc_core::wait(delay);
            return to_ps(sc_core::sc_time_stamp()) - start;
        };
        for (const std::uint64_t chunks : {1u, 16u, 17u, 32u, 33u, 100u})
            BOOST_CHECK_EQUAL(ps(pe_dma::direction::read, chunks * 256), ps(pe_dma::direction::write, chunks * 256));
    });
}
