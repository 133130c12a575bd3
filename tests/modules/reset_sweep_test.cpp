// Resets that are held, at many moments of walks, of commands and of page faults that wait for the host: by a line for
// all modules, and by one of the MMU alone.
#include "reset_platform.hpp"
#include "tests/unit/seeded_random.hpp"

#include <memory>

using namespace reset_platform;

namespace {

using answers = std::vector<std::uint64_t>;

const std::uint64_t first_va = 0x10000, pages = 12, held_ps = 2000 * ns, again_ps = 50'000 * ns;

// Random traffic until the reset, which comes at `reset_ps` (0: never), and other traffic at a time when all of it is
// over, of which everything is said that comes back.
struct swept : platform {
    swept(const std::string &name, const platform::config &how, std::uint64_t reset_ps)
        : platform(sc_core::sc_module_name(name.c_str()), how), alone(how.alone) {
        faults.serve = [this](const page_fault &fault, sc_core::sc_time &delay) { return bring(fault, delay); };
        through.body = [this, reset_ps] {
            if (reset_ps > 0) access(1, 0, 1000, nullptr);
            at(again_ps);
            check_new();
            access(2, again_ps, 60, &said_of_data);
        };
        driver.body = [this, reset_ps] {
            if (reset_ps > 0) command(3, 0, 100, nullptr);
            command(4, again_ps + 2500 * ns, 20, &said); // between accesses: no two at one time
        };
        other.body = [this, reset_ps] {
            if (reset_ps == 0) return;
            at(reset_ps);
            line = true;
            sc_core::wait(sc_core::SC_ZERO_TIME);
            in_walk = accessing && !asked;
            in_fault = asked;
            sc_core::wait(from_ps(held_ps));
            BOOST_CHECK_MESSAGE(mmu.in_reset(), this->name());
            line = false;
        };
    }

    // The host: a page 200 ns later, by a command of its own.
    bool bring(const page_fault &fault, sc_core::sc_time &delay) {
        asked = true;
        sc_core::wait(delay + from_ps(200 * ns));
        delay = sc_core::SC_ZERO_TIME;
        const std::uint64_t page = fault.va / 4096 * 4096;
        const bool made = mapped(TLA_PORT_BYTES, TLA_OP_MAP, page) == TLA_OK;
        asked = false;
        return made;
    }
    tla_status mapped(std::uint64_t port, tla_opcode what, std::uint64_t page) {
        sc_core::sc_time delay;
        const tla_command how = map_command(TLA_TARGET_PE_MMU, what, {{page, hbm(0x40000 + page), 4096}});
        if (driver.post(port, how, delay) != tlm::TLM_OK_RESPONSE) return TLA_RESET;
        return driver.completion(port, delay).status;
    }

    void access(unsigned seed, std::uint64_t begin_ps, unsigned count, answers *into) {
        seeded_random random(seed);
        for (unsigned i = 0; i < count && (into || mmu.resets() == 0); i++) {
            if (into) at(begin_ps + i * 5000 * ns);
            bytes word(random.between(1, 64), static_cast<std::uint8_t>(i));
            const std::uint64_t va = first_va + random.between(0, pages * 4096 - word.size());
            const bool writes = random.one_in(2);
            sc_core::sc_time delay;
            accessing = true;
            const auto status = writes ? through.write(va, word, delay) : through.read(va, word, delay);
            accessing = false;
            if (delay > sc_core::SC_ZERO_TIME) sc_core::wait(delay);
            if (into) into->insert(into->end(), {std::uint64_t(status), to_ps(sc_core::sc_time_stamp())});
            if (into && !alone) into->insert(into->end(), {word.front(), word.back()}); // else what was there before
            if (!into) sc_core::wait(from_ps(random.between(0, 20) * ns));
        }
    }
    void command(unsigned seed, std::uint64_t begin_ps, unsigned count, answers *into) {
        seeded_random random(seed);
        for (unsigned i = 0; i < count && (into || mmu.resets() == 0); i++) {
            at(begin_ps + i * (into ? 15'000 : 400) * ns);
            const tla_opcode what = random.one_in(2) ? TLA_OP_MAP : TLA_OP_UNMAP;
            const tla_status status = mapped(0, what, first_va + random.between(0, pages - 1) * 4096);
            if (into) into->insert(into->end(), {std::uint64_t(status), to_ps(sc_core::sc_time_stamp())});
        }
    }

    void check_new() const {
        BOOST_CHECK_MESSAGE(!mmu.in_reset() && !controller.in_reset() && !slice.in_reset(), name());
        BOOST_CHECK_MESSAGE(mmu.get_statistics().table.mapped_bytes == 0, name());
        if (!alone) BOOST_CHECK_MESSAGE(controller.is_as_at_the_beginning(TLA_HBM), name());
    }

    const bool alone;
    bool accessing = false, asked = false;
    bool in_walk = false, in_fault = false; // when the reset came
    answers said, said_of_data;
};

void check_sweep(tla_walk_mode walk, bool alone) {
    platform::config config = platform::walking();
    config.mmu.unmapped = TLA_UNMAPPED_DEMAND;
    config.mmu.walk = walk;
    config.alone = alone;
    std::vector<std::unique_ptr<swept>> systems;
    systems.push_back(std::make_unique<swept>("untouched", config, 0));
    for (std::uint64_t at = 1; at < 5000 * ns; at += 41 * ns + 7)
        systems.push_back(std::make_unique<swept>("at" + std::to_string(at), config, at));
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    const swept &untouched = *systems[0];
    unsigned walks = 0, faults = 0;
    for (const auto &s : systems) {
        BOOST_CHECK_MESSAGE(s->through.finished && s->driver.finished && s->other.finished, s->name());
        BOOST_CHECK_MESSAGE(s->said == untouched.said, s->name() << ": commands");
        BOOST_CHECK_MESSAGE(s->said_of_data == untouched.said_of_data, s->name() << ": accesses");
        walks += s->in_walk;
        faults += s->in_fault;
    }
    BOOST_CHECK_GT(walks, 10u);
    BOOST_CHECK_GT(faults, 10u);
    BOOST_TEST_MESSAGE(systems.size() - 1 << " resets, " << walks << " in accesses, " << faults << " in page faults");
}

} // namespace

BOOST_AUTO_TEST_CASE(a_line_that_is_held_at_any_time_of_walks_and_faults_leaves_all_as_new) {
    check_sweep(TLA_WALK_MEMORY, false);
}
BOOST_AUTO_TEST_CASE(an_mmu_that_is_reset_alone_at_any_time_is_as_new) {
    check_sweep(TLA_WALK_IDEAL, true);
}
BOOST_AUTO_TEST_CASE(an_mmu_that_is_reset_alone_at_any_time_of_walks_in_memory_is_as_new) {
    check_sweep(TLA_WALK_MEMORY, true);
}
