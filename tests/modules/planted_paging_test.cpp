// Mistakes of platforms whose pages leave a full memory, each made by a stand-in: the byte map of a random program
// finds them all.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "apart.hpp"
#include "moving_bench.hpp"
#include "platform_bench.hpp"

#include <random>

namespace {

using namespace tlmalloc;

constexpr std::uint64_t page = 4096, frames = 4, pages = 12, hbm_bytes = frames * page, home_bytes = 16 * page;
constexpr unsigned actors = 3, steps = 400;

enum class paging_mistake {
    none,
    no_bits_of_use, // the MMU does not note which pages are written
    copy_lost,      // the page's bytes do not reach the host's memory
    pause_skipped,  // accesses go on while the page is copied
    unmap_skipped,  // the MMU acknowledges UNMAP and keeps its mapping
    unmap_late      // the same, and the mapping goes later
};

tla_paddr control_of(tla_control_block block) {
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(tla_paddr_pe_control(0, 0, 0, block, 0, &pa), TLA_OK);
    return pa;
}
std::uint64_t first_of(tla_status (*address)(std::uint64_t, tla_paddr *)) {
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(address(0, &pa), TLA_OK);
    return pa.value;
}
std::uint64_t first_of_hbm() {
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(tla_paddr_pe_hbm(0, 0, 0, 0, hbm_bytes, &pa), TLA_OK);
    return pa.value;
}

struct bench : sc_core::sc_module {
    bench(sc_core::sc_module_name name, paging_mistake mistake)
        : sc_module(name), wrong(mistake), h("host", host_config()), manager("manager", manager_config()),
          near("near", memory_config(TLA_HBM, hbm_bytes)), home("home", memory_config(TLA_HOST_MEMORY, home_bytes)),
          slice("slice", slice_config(hbm_bytes)), home_slice("home_slice", slice_config(home_bytes)),
          mmu("mmu", mmu_config(mistake)) {
        h.out.bind(paths.in);
        h.va.bind(manager.control);
        manager.out.bind(paths.in);
        mmu.out.bind(paths.in);
        mmu.fault.bind(h.faults);
        pe.bind(mmu.in);
        near.slice.bind(slice.in);
        home.host_memory.bind(home_slice.in);
        const std::uint64_t hbm = first_of_hbm(), memory = first_of(tla_paddr_host_memory);
        paths.lead(hbm, hbm_bytes, hbm, near.in);
        paths.lead(memory, home_bytes, memory, home.in,
                   [this](tlm::tlm_generic_payload &payload, sc_core::sc_time &) { return drops(payload); });
        paths.lead(control_of(TLA_CONTROL_MEMORY_CONTROLLER).value, TLA_CONTROL_BLOCK_BYTES, 0, near.control);
        paths.lead(first_of(tla_paddr_host_memory_control), TLA_CONTROL_BLOCK_BYTES, 0, home.control);
        paths.lead(control_of(TLA_CONTROL_PE_MMU).value, TLA_CONTROL_BLOCK_BYTES, 0, mmu.control, stand_in());
    }

    const paging_mistake wrong;
    bool has_begun = false; // the program, behind the writes of its input
    host h;
    va_manager manager;
    memory_controller near, home;
    hbm_slice slice, home_slice;
    pe_mmu mmu;
    moving::router paths{"paths"};
    tlm_utils::simple_initiator_socket<bench> pe{"pe"};
    std::unique_ptr<moving::early_answers> early;

  private:
    bool drops(tlm::tlm_generic_payload &payload) const {
        if (wrong != paging_mistake::copy_lost || !has_begun || !payload.is_write()) return false;
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
        return true;
    }
    moving::router::path stand_in() {
        std::set<tla_opcode> answered;
        if (wrong == paging_mistake::pause_skipped) answered = {TLA_OP_PAUSE, TLA_OP_RESUME};
        if (wrong == paging_mistake::unmap_skipped || wrong == paging_mistake::unmap_late) answered = {TLA_OP_UNMAP};
        if (answered.empty()) return {};
        early = std::make_unique<moving::early_answers>("early_answers", answered,
                                                        wrong == paging_mistake::unmap_late ? 3'000'000 : 0);
        early->out.bind(mmu.control);
        return [this](tlm::tlm_generic_payload &payload, sc_core::sc_time &) { return early->answer(payload); };
    }
    static host::config host_config() {
        host::config c = bare<host>();
        c.pes = {{0, 0, 0}};
        c.page_size = page;
        c.fault_latency_ps = 100'000;
        c.memory = home_bytes;
        c.eviction = TLA_EVICTION_CLOCK;
        c.dma_chunk = 512;
        return c;
    }
    static va_manager::config manager_config() {
        va_manager::config c = bare<va_manager>();
        c.space.page_size = page;
        c.space.base = {std::uint64_t{1} << 32};
        c.space.nbytes = 64 * page;
        c.cost.fixed_ps = 20'000;
        c.routes.push_back({control_of(TLA_CONTROL_PE_MMU).value, {1, 1, 1}, false});
        return c;
    }
    static memory_controller::config memory_config(tla_memory_kind kind, std::uint64_t nbytes) {
        memory_controller::config c = bare<memory_controller>();
        for (const tla_memory_kind other : {TLA_HBM, TLA_TCM, TLA_HOST_MEMORY})
            c.memory.of[other].bytes = other == kind ? nbytes : 0;
        c.memory.of[TLA_TCM].reserved = 0;
        c.cost.fixed_ps = 50'000;
        return c;
    }
    static hbm_slice::config slice_config(std::uint64_t nbytes) {
        hbm_slice::config c = bare<hbm_slice>();
        c.capacity = nbytes;
        return c;
    }
    static pe_mmu::config mmu_config(paging_mistake wrong) {
        pe_mmu::config c = bare<pe_mmu>();
        c.page_size = page;
        c.va_bits = 48;
        c.pauses = true;
        c.evicted_page = wrong == paging_mistake::no_bits_of_use ? 0 : page;
        c.unmapped = TLA_UNMAPPED_DEMAND;
        c.cost.fixed_ps = 30'000;
        c.ports = 16; // the last one is the stand-in's
        return c;
    }
};

// Random loads and stores of an actor, each in its own pages; the byte map says what a load must return.
struct program {
    bench &b;
    std::uint64_t va;
    std::vector<std::uint8_t> expected;
    std::uint64_t wrong_bytes = 0;
    unsigned left = actors;
    sc_core::sc_event over;

    void act(unsigned actor) {
        std::mt19937 random(actor + 1);
        for (unsigned step = 0; step < steps; step++) {
            const std::uint64_t at = (random() % (pages / actors) * actors + actor) * page + random() % (page - 64);
            std::vector<std::uint8_t> bytes(1 + random() % 64);
            const bool is_store = random() % 2 == 0;
            if (is_store) std::generate(bytes.begin(), bytes.end(), [&] { return std::uint8_t(random()); });
            tlm::tlm_generic_payload payload;
            payload.set_command(is_store ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
            payload.set_address(va + at);
            payload.set_data_ptr(bytes.data());
            payload.set_data_length(static_cast<unsigned>(bytes.size()));
            payload.set_streaming_width(static_cast<unsigned>(bytes.size()));
            sc_core::sc_time delay;
            b.pe->b_transport(payload, delay);
            sc_core::wait(delay + from_ps(random() % 300 * 1000));
            if (!payload.is_response_ok()) break; // a wrong platform may have no way to go on
            if (is_store)
                std::copy(bytes.begin(), bytes.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
            else
                compare(bytes, at);
        }
        if (--left == 0) over.notify(sc_core::SC_ZERO_TIME);
    }
    void compare(const std::vector<std::uint8_t> &bytes, std::uint64_t at) {
        for (std::size_t i = 0; i < bytes.size(); i++)
            wrong_bytes += bytes[i] != expected[at + i];
    }
};

struct found {
    std::uint64_t wrong_bytes, evictions, write_backs, finished;
    char error[64];
};

found run(paging_mistake wrong) {
    return apart<found>("a run", [&](found &f) {
        sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DO_NOTHING);
        bench b("bench", wrong);
        b.h.main = [&] {
            tensor *t = nullptr;
            tla_error error{};
            const host::sharding where{b.h.everywhere().pes, spread::demand, TLA_HBM};
            if (b.h.create_tensor("t", pages * page, 1, where, &t, &error)) throw std::runtime_error(error.text);
            program p{b, t->va.value, std::vector<std::uint8_t>(pages * page)};
            std::mt19937 random(99);
            std::generate(p.expected.begin(), p.expected.end(), [&] { return std::uint8_t(random()); });
            if (b.h.write_tensor(*t, p.expected.data(), &error)) throw std::runtime_error(error.text);
            b.has_begun = true;
            for (unsigned actor = 0; actor < actors; actor++)
                sc_core::sc_spawn([&p, actor] { p.act(actor); });
            sc_core::wait(p.over);
            std::vector<std::uint8_t> at_the_end(pages * page);
            if (!b.h.read_tensor(*t, at_the_end.data(), &error)) p.compare(at_the_end, 0);
            const runtime::paging_counts counts = b.h.paging_statistics();
            f = {p.wrong_bytes, counts.evictions, counts.write_backs, 1, ""};
            sc_core::sc_stop();
        };
        sc_core::sc_start(sc_core::sc_time(100, sc_core::SC_MS));
    });
}

void check_found(paging_mistake wrong) {
    const found f = run(wrong);
    BOOST_CHECK_MESSAGE(f.error[0] == 0, f.error);
    BOOST_CHECK_GT(f.wrong_bytes, 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(without_a_mistake_pages_that_leave_keep_their_bytes) {
    const found f = run(paging_mistake::none);
    BOOST_CHECK_MESSAGE(f.error[0] == 0, f.error);
    BOOST_CHECK_EQUAL(f.finished, 1u);
    BOOST_CHECK_EQUAL(f.wrong_bytes, 0u);
    BOOST_CHECK_GT(f.write_backs, 100u);
    BOOST_CHECK_GT(f.evictions, f.write_backs);
}

BOOST_AUTO_TEST_CASE(an_mmu_that_forgets_which_pages_are_written_is_found) {
    check_found(paging_mistake::no_bits_of_use);
}

BOOST_AUTO_TEST_CASE(a_page_that_is_not_copied_is_found) {
    check_found(paging_mistake::copy_lost);
}

BOOST_AUTO_TEST_CASE(an_mmu_that_does_not_pause_for_the_copy_is_found) {
    check_found(paging_mistake::pause_skipped);
}

BOOST_AUTO_TEST_CASE(an_mmu_that_keeps_the_mapping_of_a_page_that_left_is_found) {
    check_found(paging_mistake::unmap_skipped);
}

BOOST_AUTO_TEST_CASE(a_frame_that_is_free_before_its_mapping_is_gone_is_found) {
    check_found(paging_mistake::unmap_late);
}
