// Launches over a whole platform: host, IO_CPU, M_CPU, PEs and back.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "test_initiator.hpp"
#include "tlmalloc/modules/npu.hpp"

#include <map>
#include <random>
#include <set>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

std::function<tla_status(tl_context *)> body;
const tl_kernel kernels[] = {[](tl_context *tl) { return body(tl); }};

struct bench {
    explicit bench(std::vector<std::string> settings) {
        for (const char *key : {"mmu.page_size=4 KiB", "hbm.capacity_per_cube=16 MiB", "va.size=64 MiB"})
            settings.push_back(key);
        std::vector<const char *> overrides;
        for (const std::string &text : settings)
            overrides.push_back(text.c_str());
        BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, nullptr),
                            TLA_OK);
        platform = std::make_unique<npu>("npu", config, kernel_table{kernels, 1});
    }

    void run(std::function<void()> what) {
        bool finished = false;
        platform->host().main = [&] {
            what();
            finished = true;
        };
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_start();
        BOOST_CHECK(finished);
    }

    tlmalloc::host &host() { return platform->host(); }
    std::vector<pe_location> all() const {
        std::vector<pe_location> list;
        for (const pe_unit *pe : platform->pes())
            list.push_back(pe->where);
        return list;
    }
    std::uint64_t late() const {
        std::uint64_t sum = 0;
        for (const pe_unit *pe : platform->pes())
            sum += pe->element.get_statistics().late_starts;
        return sum;
    }
    std::uint64_t launches() const {
        std::uint64_t sum = 0;
        for (const pe_unit *pe : platform->pes())
            sum += pe->element.get_statistics().launches;
        return sum;
    }

    // A launch in a thread of its own; what became of it is in the result when `ended` is notified.
    struct result {
        tla_status status = TLA_OK;
        tla_error error{};
        runtime::launched times;
        bool over = false;
        std::uint64_t end_ps = 0;
    };
    void spawn(std::uint32_t kernel, const std::vector<pe_location> &pes, result &r) {
        sc_core::sc_spawn(
            [this, kernel, pes, &r] {
                r.status = host().launch(kernel, {}, pes, &r.error, &r.times);
                r.over = true;
                r.end_ps = to_ps(sc_core::sc_time_stamp());
                ended.notify();
            },
            sc_core::sc_gen_unique_name("launcher"));
    }
    void wait_for(std::initializer_list<const result *> results) {
        for (const result *r : results)
            while (!r->over)
                sc_core::wait(ended);
    }

    tla_config config{};
    std::unique_ptr<npu> platform;
    tla_error error{};
    sc_core::sc_event ended;
};

std::vector<std::string> two_sips() {
    return {"system.sips=2", "system.cube_mesh_width=2", "system.cube_mesh_height=2", "system.pes_per_cube=4"};
}

std::vector<std::string> one_sip() {
    return {"system.cube_mesh_width=2", "system.cube_mesh_height=2", "system.pes_per_cube=4"};
}

void sleep_ns(double ns) {
    sc_core::wait(ns, sc_core::SC_NS);
}

} // namespace

// A pattern that DMA engines write is what the host reads, what the host writes they read; by physical address, with
// nothing mapped, all engines at one time.
BOOST_AUTO_TEST_CASE(memory_is_written_and_read_by_physical_address) {
    bench b(two_sips());
    b.run([&] {
        host &host = b.host();
        const pe_location far{1, 3, 2};
        tla_paddr pa{};
        tla_paddr_pe_hbm(far.sip, far.cube, far.pe, 4096, b.config.hbm.capacity, &pa);
        const std::uint64_t nbytes = 5000;
        const bytes data = pattern(nbytes);
        bytes read(nbytes);
        tla_completion wrote{}, got{};
        BOOST_CHECK_EQUAL(host.write_memory(pa, data.data(), nbytes, &b.error, &wrote), TLA_OK);
        BOOST_CHECK_EQUAL(host.read_memory(pa, read.data(), nbytes, &b.error, &got), TLA_OK);
        BOOST_CHECK(read == data);
        BOOST_CHECK_EQUAL(wrote.nbytes, nbytes);
        BOOST_CHECK_EQUAL(got.value, wrote.value + wrote.service_ps);
        BOOST_CHECK_GT(wrote.service_ps, 0u);
        BOOST_CHECK_GE(got.service_ps, wrote.service_ps); // there and back
        BOOST_CHECK_GT(got.correlation_id, wrote.correlation_id);
        BOOST_CHECK_GT(got.request_id, wrote.request_id);

        runtime::launched near, other, all;
        BOOST_CHECK_EQUAL(host.pe_dma(pa, 1000, true, 0x5A, {far}, &b.error, &near), TLA_OK);
        BOOST_CHECK_EQUAL(host.read_memory(pa, read.data(), nbytes, &b.error), TLA_OK);
        BOOST_CHECK(bytes(read.begin(), read.begin() + 1000) == bytes(1000, 0x5A));
        BOOST_CHECK(bytes(read.begin() + 1000, read.end()) == bytes(data.begin() + 1000, data.end()));
        BOOST_CHECK_EQUAL(host.pe_dma(pa, 1000, true, 0x5A, {{0, 0, 0}}, &b.error, &other), TLA_OK);
        BOOST_CHECK_GT(near.duration_ps, 0u);
        BOOST_CHECK_GT(other.duration_ps, near.duration_ps); // another SIP
        BOOST_CHECK_EQUAL(host.pe_dma(pa, 1000, false, 0, b.all(), &b.error, &all), TLA_OK);
        for (const pe_unit *pe : b.platform->pes()) {
            BOOST_CHECK_EQUAL(pe->element.last_run().start_ps, all.start_ps);
            BOOST_CHECK_EQUAL(pe->mmu.get_statistics().lookups, 0u);
            BOOST_CHECK_EQUAL(pe->tcm.get_statistics().bytes_read + pe->tcm.get_statistics().bytes_written, 0u);
        }

        tla_paddr nowhere{};
        tla_paddr_pe_hbm(0, 9, 0, 0, b.config.hbm.capacity, &nowhere); // a cube that is none
        BOOST_CHECK_EQUAL(host.write_memory(nowhere, data.data(), 64, &b.error, &wrote), TLA_BUS_ERROR);
        BOOST_CHECK_EQUAL(wrote.status, TLA_BUS_ERROR);
        BOOST_CHECK_MESSAGE(std::string(b.error.text).find("64 bytes at 0x") == 0, b.error.text);
        BOOST_CHECK_EQUAL(host.pe_dma(nowhere, 64, true, 1, {{0, 1, 2}}, &b.error), TLA_BUS_ERROR);
        BOOST_CHECK_MESSAGE(std::string(b.error.text).rfind("DMA of sip0.cube1.pe2: ", 0) == 0, b.error.text);
        BOOST_CHECK_EQUAL(host.pe_dma(pa, 64, true, 1, {{0, 9, 0}}, &b.error), TLA_NOT_FOUND);
        BOOST_CHECK_EQUAL(b.error.text, std::string("PE DMA: unknown PE sip0.cube9.pe0 in this platform"));
    });
}

// Random subsets run as programs in ascending order of place, all from one picosecond on; nobody else begins anything.
BOOST_AUTO_TEST_CASE(any_subset_of_pes_begins_at_one_time) {
    bench b(two_sips());
    b.run([&] {
        std::mt19937 random(7);
        const std::vector<pe_location> all = b.all();
        std::uint64_t launched = 0;
        for (int round = 0; round < 60; round++) {
            std::vector<pe_location> pes;
            std::vector<std::size_t> which;
            const unsigned sparse = 1 + static_cast<unsigned>(random() % 6);
            for (std::size_t i = 0; i < all.size(); i++)
                if (round < 2 || random() % sparse == 0) {
                    pes.push_back(all[i]);
                    which.push_back(i);
                }
            if (pes.empty()) continue;
            std::map<std::uint32_t, unsigned> programs;
            body = [&](tl_context *tl) {
                programs[tl_program_id(tl, TL_ALL)]++;
                BOOST_CHECK_EQUAL(tl_num_programs(tl, TL_ALL), pes.size());
                const pe_location &where = pes[tl_program_id(tl, TL_ALL)]; // whichever PEs the launch named
                BOOST_CHECK_EQUAL(tl_program_id(tl, TL_PE), where.pe);
                BOOST_CHECK_EQUAL(tl_program_id(tl, TL_CUBE), where.cube);
                BOOST_CHECK_EQUAL(tl_program_id(tl, TL_SIP), where.sip);
                BOOST_CHECK_EQUAL(tl_num_programs(tl, TL_PE), 4u);
                BOOST_CHECK_EQUAL(tl_num_programs(tl, TL_CUBE), 4u);
                BOOST_CHECK_EQUAL(tl_num_programs(tl, TL_SIP), 2u);
                BOOST_CHECK_EQUAL(tl_argument(tl, 0), 70u + static_cast<unsigned>(round));
                return TLA_OK;
            };
            std::vector<pe_location> shuffled = pes;
            for (std::size_t i = shuffled.size(); i > 1; i--)
                std::swap(shuffled[i - 1], shuffled[random() % i]);
            runtime::launched times;
            const std::uint64_t before = to_ps(sc_core::sc_time_stamp());
            BOOST_REQUIRE_EQUAL(b.host().launch(0, {70u + static_cast<unsigned>(round)}, shuffled, &b.error, &times),
                                TLA_OK);
            launched += pes.size();
            BOOST_REQUIRE_EQUAL(b.launches(), launched);
            BOOST_REQUIRE_EQUAL(programs.size(), pes.size());
            BOOST_CHECK_GT(times.start_ps, before);
            for (std::size_t n = 0; n < which.size(); n++) {
                const processing_element &element = b.platform->pes()[which[n]]->element;
                BOOST_REQUIRE_EQUAL(element.last_run().start_ps, times.start_ps);
                BOOST_REQUIRE_EQUAL(element.launched().program, n);
            }
        }
    });
    BOOST_CHECK_EQUAL(b.late(), 0u);
    BOOST_CHECK(reports().empty());
}

// Launches that do not share a PE run beside each other; one on a PE that runs is refused as a whole.
BOOST_AUTO_TEST_CASE(launches_on_other_pes_run_beside_each_other) {
    bench b(one_sip());
    body = [](tl_context *) {
        sleep_ns(2000);
        return TLA_OK;
    };
    b.run([&] {
        const std::vector<pe_location> all = b.all(), left(all.begin(), all.begin() + 6),
                                       right(all.begin() + 6, all.end());
        bench::result first, second, third, fourth;
        b.spawn(0, left, first);
        b.spawn(0, right, second);
        sleep_ns(1000);
        b.spawn(0, {left[5], right[0]}, third); // the host knows
        b.wait_for({&third});
        BOOST_CHECK_EQUAL(third.status, TLA_BUSY);
        BOOST_CHECK_EQUAL(
            std::string(third.error.text).rfind("kernel on sip0.cube1.pe1: the previous kernel or DMA is still", 0),
            0u);
        BOOST_CHECK(!first.over);
        b.wait_for({&first, &second});
        BOOST_CHECK_EQUAL(first.status, TLA_OK);
        BOOST_CHECK_EQUAL(second.status, TLA_OK);
        BOOST_CHECK_EQUAL(first.times.duration_ps, 2'000'000u);
        BOOST_CHECK_LT(second.times.start_ps, first.times.start_ps + 2'000'000u); // beside each other
        BOOST_CHECK_EQUAL(b.launches(), all.size());
        b.spawn(0, {left[5], right[0]}, fourth);
        b.wait_for({&fourth});
        BOOST_CHECK_EQUAL(fourth.status, TLA_OK);
    });
    BOOST_CHECK(reports().empty());
}

// A sender of its own, at the IO_CPU: the processors refuse what they know to run, and nothing begins.
BOOST_AUTO_TEST_CASE(launches_that_cannot_begin_are_rejected_for_another_sender_too) {
    bench b(one_sip());
    body = [](tl_context *) {
        sleep_ns(2000);
        return TLA_OK;
    };
    b.run([&] {
        const std::vector<pe_location> all = b.all();
        bench::result first;
        b.spawn(0, {all[6]}, first);
        sleep_ns(1000);
        tla_command command{};
        command.opcode = TLA_OP_LAUNCH;
        command.target = TLA_TARGET_IO_CPU;
        command.correlation_id = 900;
        command.request_id = 901;
        command.programs = 16;
        for (std::uint16_t &cube : command.pes.cubes)
            cube = 0;
        for (unsigned cube = 0; cube < 4; cube++)
            command.pes.cubes[cube] = 0xF;
        tla_paddr port{};
        tla_paddr_io_cpu_control(0, 5 * TLA_PORT_BYTES, &port);
        const auto send = [&] {
            tla_completion done{};
            sc_core::sc_time delay;
            send_command(b.host().out, port.value, command, done, delay);
            sc_core::wait(delay);
            return done;
        };
        tla_completion done = send();
        BOOST_CHECK_EQUAL(done.status, TLA_BUSY);
        BOOST_CHECK_EQUAL(done.correlation_id, 900u);
        BOOST_CHECK_EQUAL(done.request_id, 901u);
        BOOST_CHECK_EQUAL(done.failed_at.kind, TLA_LOCATION_PE);
        BOOST_CHECK_EQUAL(done.failed_at.cube, 1u);
        BOOST_CHECK_EQUAL(done.failed_at.pe, 2u);
        BOOST_CHECK_EQUAL(b.launches(), 1u);
        command.pes.cubes[7] = 1; // a cube that is none
        command.programs = 17;
        done = send();
        BOOST_CHECK_EQUAL(done.status, TLA_NOT_FOUND);
        BOOST_CHECK_EQUAL(done.failed_at.cube, 7u);
        command.pes = {};
        done = send();
        BOOST_CHECK_EQUAL(done.status, TLA_INVALID_ARGUMENT);
        command.pes.cubes[0] = 1;
        command.kernel = 1;
        done = send();
        BOOST_CHECK_EQUAL(done.status, TLA_NOT_FOUND);
        BOOST_CHECK_EQUAL(b.launches(), 1u);
        command.kernel = 0; // beside the host's
        command.target_start_ps = to_ps(sc_core::sc_time_stamp()) + 500'000;
        done = send();
        BOOST_CHECK_EQUAL(done.status, TLA_OK);
        BOOST_CHECK_EQUAL(done.value, command.target_start_ps);
        b.wait_for({&first});
        command.target_start_ps = 1; // long ago: begins when it arrives, late
        done = send();
        BOOST_CHECK_EQUAL(done.status, TLA_OK);
        BOOST_CHECK_GT(done.value, 1u);
        BOOST_CHECK_EQUAL(b.late(), 1u);
        BOOST_CHECK_EQUAL(b.platform->pes()[0]->element.last_run().late_ps, done.value - 1);
    });
    BOOST_CHECK(reports().empty());
}

// Mappings pass both processors while kernels run, and take as long as when none does.
BOOST_AUTO_TEST_CASE(mappings_pass_while_kernels_run) {
    bench b(two_sips());
    std::uint64_t kernel_ends = 0;
    body = [&](tl_context *) {
        sleep_ns(50'000);
        kernel_ends = to_ps(sc_core::sc_time_stamp());
        return TLA_OK;
    };
    b.run([&] {
        std::uint64_t took[2] = {};
        const auto map = [&](std::uint64_t &map_ps) {
            tensor *t = nullptr;
            BOOST_REQUIRE_EQUAL(b.host().create_tensor("t", 65536, 4, b.host().everywhere(), &t, &b.error), TLA_OK);
            map_ps = t->map_ps;
            BOOST_REQUIRE_EQUAL(b.host().free_tensor(t, &b.error), TLA_OK);
        };
        map(took[0]);
        bench::result launch;
        b.spawn(0, b.all(), launch);
        sleep_ns(5000);
        map(took[1]);
        BOOST_CHECK(!launch.over);
        BOOST_CHECK_EQUAL(kernel_ends, 0u);
        b.wait_for({&launch});
        BOOST_CHECK_EQUAL(launch.status, TLA_OK);
        BOOST_CHECK_EQUAL(took[0], took[1]);
        BOOST_CHECK_EQUAL(b.host().cleanup(&b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
    BOOST_CHECK(reports().empty());
}

// Page faults of kernels are mapped by way of the processors that pass their launch on.
BOOST_AUTO_TEST_CASE(page_faults_pass_while_kernels_run) {
    auto settings = two_sips();
    settings.push_back("mmu.unmapped=demand");
    bench b(settings);
    body = [](tl_context *tl) {
        tl_tile tile{};
        tla_status status = tl_alloc(tl, 1, 256, TL_F32, &tile);
        if (!status) status = tl_fill(tl, &tile, 1.0f);
        if (!status) status = tl_store(tl, {tl_argument(tl, 0) + tl_program_id(tl, TL_ALL) * 4096ull}, 1024, &tile);
        const tla_status freed = tl_free(tl, &tile);
        return status ? status : freed;
    };
    b.run([&] {
        runtime::sharding where = b.host().everywhere();
        where.kind = spread::demand;
        tensor *t = nullptr;
        BOOST_REQUIRE_EQUAL(b.host().create_tensor("t", 32 * 1024, 4, where, &t, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.host().launch(0, {t->va.value}, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(t->shards.size(), 32u);
        BOOST_CHECK_EQUAL(b.host().cleanup(&b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
    BOOST_CHECK(reports().empty());
}

// Of several kernels that fail the first in program order is told, wherever and whenever it ends.
BOOST_AUTO_TEST_CASE(the_first_failing_kernel_in_program_order_is_reported) {
    bench b(two_sips());
    std::set<std::uint32_t> bad;
    body = [&](tl_context *tl) {
        const std::uint32_t program = tl_program_id(tl, TL_ALL);
        sleep_ns(3000 - 50.0 * program); // the last are the first to end
        return bad.count(program) ? static_cast<tla_status>(TLA_EXHAUSTED + program % 3) : TLA_OK;
    };
    b.run([&] {
        const std::vector<pe_location> all = b.all();
        std::mt19937 random(3);
        for (std::uint32_t first = 0; first < all.size(); first += 3) {
            bad = {first};
            for (int n = 0; n < 4; n++)
                bad.insert(first + static_cast<std::uint32_t>(random() % (all.size() - first)));
            runtime::launched times;
            BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error, &times),
                              static_cast<tla_status>(TLA_EXHAUSTED + first % 3));
            const std::string expected = "kernel on " + to_string(all[first]) + ": ";
            BOOST_CHECK_MESSAGE(std::string(b.error.text).rfind(expected, 0) == 0, b.error.text);
            bad.clear();
            BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
        }
    });
    BOOST_CHECK(reports().empty());
}

// Eight launches at a time have a port each, the ninth is told so.
BOOST_AUTO_TEST_CASE(as_many_launches_as_ports_are_under_way) {
    bench b(one_sip());
    body = [](tl_context *) {
        sleep_ns(5000);
        return TLA_OK;
    };
    b.run([&] {
        const std::vector<pe_location> all = b.all();
        bench::result results[9];
        for (std::size_t i = 0; i < 9; i++)
            b.spawn(0, {all[i]}, results[i]);
        for (bench::result &r : results)
            b.wait_for({&r});
        for (std::size_t i = 0; i < 8; i++)
            BOOST_CHECK_EQUAL(results[i].status, TLA_OK);
        BOOST_CHECK_EQUAL(results[8].status, TLA_LIMIT);
        BOOST_CHECK_EQUAL(
            results[8].error.text,
            std::string("launch: 8 launches and transfers are outstanding, the most that the host's ports allow"));
        BOOST_CHECK_EQUAL(b.launches(), 8u);
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_way_along_a_route_that_does_not_exist_is_rejected) {
    command_processor processor{"processor", {}};
    check_refused([&] { processor.expect_way(0, 1, 1); },
                  "/tlmalloc/command_processor/config: expect_way: dispatch route 0 must be below 0");
}
