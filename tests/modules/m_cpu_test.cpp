// An M_CPU's firmware (platform/examples/m_cpu.hpp) beside a host that drives controllers by the same driver.
#include "platform/examples/m_cpu_cube.hpp"

#include "bare.hpp"
#include "test_initiator.hpp"
#include "unit/seeded_random.hpp"

#include "tlmalloc/command/port_client.h"

using namespace tlmalloc;
using namespace test_initiator;

namespace {

const unsigned pes = 3;
const std::uint64_t slice_bytes = 256 << 10;

memory_controller::config small(std::uint64_t fixed_ps = 0) {
    memory_controller::config config = bare<memory_controller>();
    config.memory.of[TLA_HBM].bytes = slice_bytes;
    config.cost.fixed_ps = fixed_ps;
    return config;
}

// A host that drives a controller through its port, a word a transaction.
struct word_driver {
    word_driver(initiator &initiator_of_host, unsigned pe) : from(initiator_of_host) {
        tla_paddr_pe_control(0, 0, pe, TLA_CONTROL_MEMORY_CONTROLLER, TLA_PORT_OF_HOST, &port);
        driver.relax = [](void *) { sc_core::wait(1, sc_core::SC_US); };
        driver.context = this;
        driver.read = [](void *self, std::uint32_t offset) { return static_cast<word_driver *>(self)->read(offset); };
        driver.write = [](void *self, std::uint32_t offset, std::uint32_t word) {
            static_cast<word_driver *>(self)->write(offset, word);
        };
    }
    word_driver(const word_driver &) = delete;
    word_driver &operator=(const word_driver &) = delete;

    std::uint32_t read(std::uint32_t offset) const {
        const bytes word = from.read(port.value + offset, 4);
        std::uint32_t value = 0;
        for (unsigned i = 0; i < 4; i++)
            value |= std::uint32_t{word[i]} << 8 * i;
        return value;
    }
    void write(std::uint32_t offset, std::uint32_t word) const {
        bytes data;
        for (unsigned i = 0; i < 4; i++)
            data.push_back(static_cast<std::uint8_t>(word >> 8 * i));
        from.write(port.value + offset, data);
    }

    initiator &from;
    tla_paddr port{};
    tla_port_client driver{};
};

// A cube whose M_CPU is asked by a thread that has the host's socket.
struct bench {
    explicit bench(const char *name = "cube", const memory_controller::config &settings = small())
        : host((std::string(name) + "_host").c_str()), cube(name, host.out, pes, settings) {
        host.body = [] {};
    }

    void run(std::function<void()> body) {
        host.body = std::move(body);
        reports().clear();
        simulate({&host});
    }

    std::uint64_t instructions() const { return cube.processor.core.get_statistics().instructions; }

    initiator host;
    m_cpu_cube cube;
};

struct block {
    unsigned pe;
    tla_paddr pa;
    std::uint64_t nbytes;
};

} // namespace

BOOST_AUTO_TEST_CASE(blocks_lie_where_a_hosts_driver_gets_them_and_keep_their_bytes) {
    bench by_firmware("firmware"), by_host("host");
    unsigned failures = 0;
    by_firmware.run([&] {
        m_cpu &processor = by_firmware.cube.processor;
        std::vector<std::unique_ptr<word_driver>> drivers;
        for (unsigned pe = 0; pe < pes; pe++)
            drivers.push_back(std::make_unique<word_driver>(by_host.host, pe));
        std::vector<block> live;
        seeded_random random(1);
        for (int i = 0; i < 1500; i++) {
            if (live.empty() || !random.one_in(3)) {
                const unsigned pe = static_cast<unsigned>(random.between(0, pes - 1));
                const std::uint64_t nbytes = random.between(1, 20000);
                tla_paddr pa{}, expected{};
                const tla_status status = processor.alloc(pe, nbytes, pa);
                BOOST_REQUIRE_EQUAL(status,
                                    tla_port_client_alloc(&drivers[pe]->driver, TLA_HBM, nbytes, &expected, nullptr));
                BOOST_REQUIRE_EQUAL(pa.value, expected.value);
                failures += status != TLA_OK;
                if (status) continue;
                sc_core::sc_time delay;
                BOOST_REQUIRE_EQUAL(
                    by_firmware.host.write(pa.value, pattern(nbytes, static_cast<unsigned>(pa.value)), delay),
                    tlm::TLM_OK_RESPONSE);
                sc_core::wait(delay);
                live.push_back({pe, pa, nbytes});
            } else {
                const std::size_t which = random.between(0, live.size() - 1);
                const block b = live[which];
                bytes seen(b.nbytes);
                sc_core::sc_time delay;
                BOOST_REQUIRE_EQUAL(by_firmware.host.read(b.pa.value, seen, delay), tlm::TLM_OK_RESPONSE);
                BOOST_REQUIRE(seen == pattern(b.nbytes, static_cast<unsigned>(b.pa.value)));
                sc_core::wait(delay);
                for (const tla_status expected : {TLA_OK, TLA_NOT_ALLOCATED}) {
                    BOOST_REQUIRE_EQUAL(processor.free(b.pa, b.nbytes), expected);
                    BOOST_REQUIRE_EQUAL(tla_port_client_free(&drivers[b.pe]->driver, b.pa, b.nbytes, nullptr),
                                        expected);
                }
                live[which] = live.back();
                live.pop_back();
            }
        }
    });
    BOOST_CHECK_GT(failures, 20u);
    for (unsigned pe = 0; pe < pes; pe++) {
        const auto one = by_firmware.cube.memories[pe]->controller.get_statistics(TLA_HBM);
        const auto other = by_host.cube.memories[pe]->controller.get_statistics(TLA_HBM);
        BOOST_CHECK_EQUAL(one.allocs, other.allocs);
        BOOST_CHECK_EQUAL(one.nodes_visited, other.nodes_visited);
        BOOST_CHECK_EQUAL(one.arena.used, other.arena.used);
    }
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_command_takes_hundreds_of_instructions_and_a_look_at_its_state_eight) {
    bench b;
    std::vector<std::uint64_t> taken;
    b.run([&] {
        tla_paddr pa{};
        BOOST_CHECK_EQUAL(b.cube.processor.alloc(0, 1, pa), TLA_OK); // begins, too
        for (int i = 0; i < 3; i++) {
            const std::uint64_t before = b.instructions();
            BOOST_CHECK_EQUAL(b.cube.processor.alloc(1, 4096, pa), TLA_OK);
            const std::uint64_t between = b.instructions();
            BOOST_CHECK_EQUAL(b.cube.processor.free(pa, 4096), TLA_OK);
            taken.insert(taken.end(), {between - before, b.instructions() - between});
        }
    });
    const std::vector<std::uint64_t> expected{801, 828, 801, 828, 801, 828};
    BOOST_CHECK_EQUAL_COLLECTIONS(taken.begin(), taken.end(), expected.begin(), expected.end());
}

BOOST_AUTO_TEST_CASE(a_controller_that_takes_its_time_is_polled) {
    bench at_once("at_once"), slow("slow", small(1'000'000));
    std::uint64_t instructions[2] = {};
    at_once.run([&] {
        unsigned i = 0;
        for (bench *b : {&at_once, &slow}) {
            tla_paddr pa{};
            BOOST_CHECK_EQUAL(b->cube.processor.alloc(0, 1, pa), TLA_OK);
            const std::uint64_t before = b->instructions();
            BOOST_CHECK_EQUAL(b->cube.processor.alloc(0, 4096, pa), TLA_OK);
            instructions[i++] = b->instructions() - before;
        }
    });
    BOOST_CHECK_GT(instructions[1], instructions[0]);
    BOOST_CHECK_EQUAL((instructions[1] - instructions[0]) % 8, 0u);
}

BOOST_AUTO_TEST_CASE(the_firmware_rejects_commands_that_no_controller_of_the_cube_serves) {
    bench b;
    b.run([&] {
        tla_paddr pa{77};
        BOOST_CHECK_EQUAL(b.cube.processor.alloc(pes, 4096, pa), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(b.cube.processor.alloc(0, slice_bytes + 1, pa), TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(pa.value, 77u);
        tla_paddr other_cube{}, behind{}, tcm{};
        tla_paddr_pe_hbm(0, 1, 0, 0, slice_bytes, &other_cube);
        tla_paddr_pe_tcm(0, 0, 0, 0, &tcm);
        tla_paddr_pe_hbm(0, 0, pes, 0, slice_bytes, &behind);
        for (const tla_paddr none : {other_cube, behind, tcm, tla_paddr{UINT64_MAX}})
            BOOST_CHECK_EQUAL(b.cube.processor.free(none, 4096), TLA_OUT_OF_RANGE);
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_cube_with_no_or_too_many_whole_slices_is_rejected) {
    const std::uint64_t hbm = std::uint64_t{1} << 37;
    struct row {
        std::uint64_t last_byte, slice_bytes;
        tla_status status;
    };
    const std::vector<row> rows{
        {hbm + 4095, 0, TLA_INVALID_ARGUMENT},    {hbm + 4095, 8192, TLA_INVALID_ARGUMENT},
        {hbm + 4095, 1000, TLA_INVALID_ARGUMENT}, {hbm + 17 * 4096 - 1, 4096, TLA_INVALID_ARGUMENT},
        {4095, 4096, TLA_INVALID_ARGUMENT},       {UINT64_MAX, 4096, TLA_OUT_OF_RANGE}};
    std::vector<std::unique_ptr<m_cpu>> processors;
    std::vector<std::unique_ptr<hbm_slice>> nothing;
    for (const row &r : rows) {
        const std::string number = std::to_string(processors.size());
        processors.push_back(
            std::make_unique<m_cpu>(("m_cpu" + number).c_str(), tla_paddr{r.last_byte}, r.slice_bytes));
        nothing.push_back(std::make_unique<hbm_slice>(("nothing" + number).c_str(), hbm_slice::config{}));
        processors.back()->out.bind(nothing.back()->in);
    }
    bench b;
    b.run([&] {
        for (std::size_t i = 0; i < rows.size(); i++)
            for (int again = 0; again < 2; again++) {
                tla_paddr pa{77};
                BOOST_CHECK_EQUAL(processors[i]->alloc(0, 64, pa), rows[i].status);
                BOOST_CHECK_EQUAL(processors[i]->free(pa, 64), rows[i].status);
                BOOST_CHECK_EQUAL(pa.value, 77u);
            }
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_port_that_is_busy_stops_the_processor) {
    bench b("cube", small(1'000'000'000));
    b.host.body = [&] {
        tla_paddr pa{}, port{};
        tla_paddr_pe_control(0, 0, 1, TLA_CONTROL_MEMORY_CONTROLLER, TLA_PORT_OF_ABOVE * std::uint64_t{TLA_PORT_BYTES},
                             &port);
        sc_core::sc_time delay;
        b.host.post(port.value, alloc_command(TLA_HBM, 64), delay); // somebody else's
        b.cube.processor.alloc(1, 64, pa);
    };
    reports().clear();
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    BOOST_CHECK(!b.host.finished);
    BOOST_REQUIRE(!reports().empty());
    BOOST_CHECK_EQUAL(reports().back().rfind("/tlmalloc/riscv_core/fault: cube.m_cpu.core: TLA_BUS_ERROR", 0), 0u);
}
