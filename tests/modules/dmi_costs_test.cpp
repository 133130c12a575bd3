// What DMI.md says of times: rows of its table, measured again.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "test_initiator.hpp"
#include "tlmalloc/config.h"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/testing/initiator.hpp"

#include <deque>
#include <fstream>
#include <iomanip>
#include <sstream>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

constexpr std::uint64_t capacity = 1 << 24;
constexpr unsigned accesses = 1000;

hbm_slice::config slice_config(bool banks) {
    hbm_slice::config c;
    c.capacity = capacity;
    if (banks) {
        tla_timing_named("hbm2", &c.timing.emplace());
        c.pseudo_channels = 1;
    }
    return c;
}

tcm::config tcm_config() {
    tcm::config c;
    c.capacity = capacity;
    return c;
}

memory_controller::config controller_config() {
    memory_controller::config c;
    c.memory.of[TLA_HBM].bytes = capacity;
    c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
    c.memory.layout = TLA_LAYOUT_PLAIN;
    return c;
}

// Several initiators, each of which makes reads at scattered addresses, one after the other, by b_transport or taking
// the latency that DMI is granted with.
template <typename Memory>
struct bench : sc_core::sc_module {
    Memory memory;
    memory_controller controller{"controller", controller_config()};
    initiator commands{"commands"};
    std::deque<tlmalloc::testing::initiator> readers;
    std::uint64_t sum_ps = 0;

    template <typename Config>
    bench(sc_core::sc_module_name name, const Config &config, unsigned initiators, unsigned nbytes, bool direct)
        : sc_module(name), memory("memory", config) {
        commands.out.bind(controller.control);
        controller.slice.bind(memory.in);
        for (unsigned i = 0; i < initiators; i++) {
            readers.emplace_back(("reader" + std::to_string(i)).c_str()).out.bind(controller.in);
            sc_core::sc_spawn([this, i, nbytes, direct] { read(readers[i], i, nbytes, direct); });
        }
    }

    void read(tlmalloc::testing::initiator &from, unsigned number, unsigned nbytes, bool direct) {
        std::vector<std::uint8_t> data(nbytes);
        for (unsigned n = 0; n < accesses; n++) {
            const std::uint64_t at = (n * 4 + number) * 0x9e3779b1u % ((capacity - 4096) / 256) * 256;
            tlm::tlm_generic_payload &payload = from.make(tlm::TLM_READ_COMMAND, at, data.data(), nbytes);
            tlm::tlm_dmi dmi;
            sc_core::sc_time delay;
            if (!direct)
                from.out->b_transport(payload, delay);
            else if (from.out->get_direct_mem_ptr(payload, dmi))
                delay = dmi.get_read_latency();
            from.give_back(payload);
            sc_core::wait(delay);
        }
        sum_ps += to_ps(sc_core::sc_time_stamp());
    }

    double mean_ns() const {
        return static_cast<double>(sum_ps) / static_cast<double>(readers.size()) / accesses / 1000;
    }
};

template <typename Memory, typename Config>
void rows_are_on_the_page(const char *name, const Config &config) {
    std::deque<bench<Memory>> all;
    const unsigned sizes[] = {4, 64, 512, 4096}, crowds[] = {1, 4};
    for (const unsigned initiators : crowds)
        for (const unsigned nbytes : sizes)
            for (const bool direct : {false, true})
                all.emplace_back(("bench" + std::to_string(all.size())).c_str(), config, initiators, nbytes, direct);
    sc_core::sc_start();
    std::ifstream file(TLMALLOC_SOURCE_DIR "/model/modules/DMI.md");
    std::stringstream page;
    page << file.rdbuf();
    auto next = all.begin();
    for (const unsigned initiators : crowds)
        for (const unsigned nbytes : sizes) {
            std::ostringstream row;
            row << std::fixed << std::setprecision(2) << "| " << name << " | " << nbytes << " | " << initiators;
            for (int way = 0; way < 2; way++)
                row << " | " << (next++)->mean_ns();
            row << " |\n";
            BOOST_CHECK_MESSAGE(page.str().find(row.str()) != std::string::npos, "not on the page: " << row.str());
        }
}

} // namespace

BOOST_AUTO_TEST_CASE(figures_of_the_slice_are_on_the_page) {
    rows_are_on_the_page<hbm_slice>("slice", slice_config(false));
}
BOOST_AUTO_TEST_CASE(figures_of_the_slice_with_banks_are_on_the_page) {
    rows_are_on_the_page<hbm_slice>("slice, hbm2", slice_config(true));
}
BOOST_AUTO_TEST_CASE(figures_of_a_tcm_are_on_the_page) {
    rows_are_on_the_page<tcm>("tcm", tcm_config());
}
