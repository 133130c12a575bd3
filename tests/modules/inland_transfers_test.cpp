// Transfers that are worked off apart from the rest (time_queue.hpp), and the same in step with everybody: who looks,
// comes, unmaps, allocates or kills in between finds the same at the same picosecond.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "exact_platform.hpp"
#include "scratch_directory.hpp"
#include "test_initiator.hpp"

#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace tlmalloc;
using namespace test_initiator;

// A platform of four PEs, to whose memories somebody looks from outside.
class scenario {
  public:
    scenario(std::uint64_t seed, bool in_step)
        : engine_(seed), run_("run", configuration(seed), [this](comparison::run &) { act(); }) {
        for (pe_unit *pe : run_.platform().pes()) {
            lookers_.emplace_back(sc_core::sc_gen_unique_name("looker"));
            lookers_.back().out.bind(pe->controller.in);
        }
        if (in_step) time_queue::keep_in_step();
    }

    // In slices of sc_start; zero: all at once.
    std::string play(const sc_core::sc_time &slice) {
        comparison::simulate(slice);
        look(0);
        log_ << (run_.finished() ? "finished" : "not finished") << " at " << sc_core::sc_time_stamp();
        return log_.str();
    }

  private:
    static constexpr std::uint64_t share = 64 * 1024;

    static tla_config configuration(std::uint64_t seed) {
        return comparison::configuration({"system.sips=1", "system.cube_mesh_width=1", "system.cube_mesh_height=1",
                                          "system.pes_per_cube=4",
                                          std::string("hbm.timing=") + (seed % 3 ? "channels" : "hbm2"),
                                          "simulation.quantum=" + std::to_string(seed % 2 * 500) + " ns"});
    }

    std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + engine_() % (high - low + 1); }
    bool one_in(std::uint64_t n) { return between(1, n) == 1; }
    std::size_t any_pe() { return between(0, run_.platform().pes().size() - 1); }

    // In the host's thread.
    void act() {
        const auto everywhere = run_.platform().host().everywhere();
        const std::size_t pes = run_.platform().pes().size();
        const tensor &t = run_.make("t", pes * share, 1, everywhere);
        const tla_vaddr va = t.va;
        std::vector<sc_core::sc_process_handle> movers;
        for (std::size_t pe = 0; pe < pes; pe++) {
            std::vector<pe_dma::request> list;
            for (std::uint64_t left = between(1, 5); left > 0; left--)
                list.push_back(transfer(va, pe));
            movers.push_back(
                sc_core::sc_spawn([this, pe, list] { move(pe, list); }, sc_core::sc_gen_unique_name("mover")));
        }
        for (std::uint64_t step = between(0, 12); step > 0; step--) {
            sc_core::wait(from_ps(one_in(2) ? between(0, 300'000) : between(0, 3) * 64'000));
            disturb(movers);
        }
        sc_core::wait(sc_core::sc_time(20, sc_core::SC_US));
    }

    pe_dma::request transfer(tla_vaddr va, std::size_t pe) {
        const std::size_t of = one_in(4) ? any_pe() : pe;
        const std::uint64_t rows = between(1, 3), row_bytes = between(1, share / rows),
                            pitch = between(row_bytes, share / rows),
                            first = between(0, share - (rows - 1) * pitch - row_bytes);
        return {one_in(2) ? pe_dma::direction::read : pe_dma::direction::write,
                {va.value + of * share + first},
                run_.tile_of(pe),
                rows,
                row_bytes,
                pitch};
    }

    void move(std::size_t pe, const std::vector<pe_dma::request> &list) {
        sc_core::sc_time delay;
        for (const pe_dma::request &what : list) {
            const tla_status status = run_.platform().pes()[pe]->dma.transfer(what, delay);
            log_ << "PE " << pe << " moved: " << tla_status_name(status) << " at " << sc_core::sc_time_stamp() + delay
                 << '\n';
            if (one_in(2)) {
                sc_core::wait(delay);
                delay = sc_core::SC_ZERO_TIME;
            }
        }
    }

    void disturb(std::vector<sc_core::sc_process_handle> &movers) {
        tla_error error{};
        runtime &host = run_.platform().host();
        switch (between(0, 9)) {
        case 0:
            movers[any_pe()].kill();
            break;
        case 1: { // ALLOC, MAP
            tensor *made = nullptr;
            const tla_status status =
                host.create_tensor("more", 4096, 1, {{run_.platform().pes()[any_pe()]->where}}, &made, &error);
            log_ << "created: " << tla_status_name(status) << " at " << sc_core::sc_time_stamp() << '\n';
            break;
        }
        case 2: { // UNMAP, FREE: at times of what is moved
            if (host.tensors().size() == 1 && !one_in(3)) break;
            if (host.tensors().empty()) break;
            tensor *last = const_cast<tensor *>(&host.tensors().back());
            log_ << "freed: " << tla_status_name(host.free_tensor(last, &error)) << '\n';
            break;
        }
        case 3: { // to a TCM or a slice that may be in use
            const std::size_t pe = any_pe();
            std::uint8_t data[64];
            tlm::tlm_generic_payload payload;
            std::memset(data, 0x5a, sizeof data);
            sc_core::sc_time delay = from_ps(between(0, 20'000));
            prepare(payload, one_in(2) ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND, pe, data);
            lookers_[pe].out->b_transport(payload, delay);
            sc_core::wait(delay);
            log_ << payload.get_response_string() << " at " << sc_core::sc_time_stamp() << ' ' << sum(data) << '\n';
            break;
        }
        default:
            look(any_pe());
        }
    }

    void prepare(tlm::tlm_generic_payload &payload, tlm::tlm_command command, std::size_t pe,
                 std::uint8_t (&data)[64]) {
        const pe_location &l = run_.platform().pes()[pe]->where;
        tla_paddr pa = run_.tile_of(pe);
        if (one_in(2)) tla_paddr_pe_hbm(l.sip, l.cube, l.pe, 0, share, &pa);
        payload.set_command(command);
        payload.set_address(pa.value + between(0, share - sizeof data));
        payload.set_data_ptr(data);
        payload.set_data_length(sizeof data);
        payload.set_streaming_width(sizeof data);
    }

    static std::uint64_t sum(const std::uint8_t (&data)[64]) {
        std::uint64_t result = 0;
        for (const std::uint8_t byte : data)
            result = result * 31 + byte;
        return result;
    }

    // Figures of all modules of a PE, and bytes without time.
    void look(std::size_t number) {
        pe_unit &pe = *run_.platform().pes()[number];
        log_ << "at " << sc_core::sc_time_stamp() << '\n';
        std::uint8_t data[64] = {};
        tlm::tlm_generic_payload payload;
        prepare(payload, tlm::TLM_READ_COMMAND, number, data);
        log_ << lookers_[number].out->transport_dbg(payload) << ' ' << sum(data) << '\n';
        for (const instrumented *module :
             std::initializer_list<const instrumented *>{&pe.dma, &pe.mmu, &pe.slice, &pe.tcm, &pe.controller})
            module->print_statistics(log_);
        const time_queue::late_figures late = time_queue::get_late();
        log_ << late.late << " " << late.displaced_ps << '\n';
    }

    std::mt19937_64 engine_;
    std::ostringstream log_;
    comparison::run run_;
    std::deque<initiator> lookers_;
};

// In a process of its own, as a simulation wants.
std::string play(std::uint64_t seed, bool in_step, const sc_core::sc_time &slice = sc_core::SC_ZERO_TIME) {
    const scratch_directory scratch;
    const std::string path = scratch.path("log");
    const pid_t child = fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
        std::ofstream(path) << scenario(seed, in_step).play(slice);
        _exit(0);
    }
    int status = 0;
    BOOST_REQUIRE(waitpid(child, &status, 0) == child);
    BOOST_REQUIRE_MESSAGE(status == 0, "seed " << seed << " ended with status " << status);
    return read_text(path);
}

} // namespace

// TLMALLOC_PLATFORMS: how many.
BOOST_AUTO_TEST_CASE(transfers_in_the_background_give_the_same_results_as_transfers_in_step) {
    const char *const given = std::getenv("TLMALLOC_PLATFORMS");
    const std::uint64_t count = given ? std::strtoull(given, nullptr, 0) : 100;
    for (std::uint64_t seed = 1; seed <= count; seed++) {
        const std::string left = play(seed, false), in_step = play(seed, true);
        BOOST_REQUIRE_MESSAGE(left == in_step, "seed " << seed << "\n" << left << "\nin step:\n" << in_step);
        BOOST_CHECK(!left.empty());
    }
}

BOOST_AUTO_TEST_CASE(a_simulation_that_is_started_in_slices_is_the_same) {
    for (std::uint64_t seed = 1; seed <= 30; seed++) {
        const std::string whole = play(seed, false);
        for (const std::uint64_t slice_ps : {7'001u, 333'333u, 5'000'000u}) {
            const std::string sliced = play(seed, false, sc_core::sc_time::from_value(slice_ps));
            BOOST_REQUIRE_MESSAGE(whole == sliced, "seed " << seed << "\n"
                                                           << whole << "\nin slices of " << slice_ps << " ps:\n"
                                                           << sliced);
        }
    }
}
