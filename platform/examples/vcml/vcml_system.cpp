// A memory controller of tlmalloc in a VCML system: two bus masters allocate by commands, use the addresses as they
// are, work by DMI, count with LR and SC, and meet a guard; a reset of the system frees everything.
#include <vcml.h>

#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"

#include <cstdio>

namespace {

constexpr vcml::u64 control_base = 0x1000'0000, memory_base = 0x8000'0000, memory_bytes = 64 << 20;

// VCML's sideband, as the controller is to read it.
struct sideband_reader : tlmalloc::rights_reader {
    tlmalloc::access_rights read(const tlm::tlm_generic_payload &payload) const override {
        const vcml::tlm_sbi said = vcml::tx_get_sbi(payload);
        tlmalloc::access_rights rights;
        rights.has_asid = said.asid != vcml::SBI_ASID_GLOBAL;
        rights.asid = rights.has_asid ? static_cast<std::uint32_t>(said.asid) : 0;
        rights.core = static_cast<std::uint32_t>(said.cpuid);
        rights.privilege = static_cast<std::uint32_t>(said.privilege);
        rights.exclusive = said.is_excl;
        return rights;
    }
    bool tell_failed(tlm::tlm_generic_payload &payload) const override {
        payload.get_extension<vcml::sbiext>()->is_excl = false;
        return true;
    }
};

// A bus master with a control port of its own, for the address space `asid`.
class master : public vcml::component {
  public:
    vcml::tlm_initiator_socket out;
    std::function<void(master &)> program;

    master(const sc_core::sc_module_name &name, vcml::u64 core, vcml::u64 asid)
        : component(name), out("out"), me_(vcml::sbi_cpuid(core) | vcml::sbi_asid(asid)), port_(core) {
        TLMALLOC_HAS_PROCESS(master);
        SC_THREAD(run);
    }

    tla_completion command(tla_command what) {
        what.target = TLA_TARGET_MEMORY_CONTROLLER;
        std::uint8_t descriptor[TLA_COMMAND_MAX_BYTES], answer[TLA_COMPLETION_BYTES] = {};
        std::size_t length = 0;
        tla_command_encode(&what, descriptor, sizeof descriptor, &length);
        const vcml::u64 port = control_base + port_ * TLA_PORT_BYTES;
        tla_completion done{};
        done.status = TLA_BUS_ERROR;
        if (vcml::success(out.write(port, descriptor, static_cast<unsigned>(length), me_)) &&
            vcml::success(out.read(port + TLA_PORT_COMPLETION, answer, sizeof answer, me_)))
            tla_completion_decode(answer, &done);
        return done;
    }
    tla_completion allocate(std::uint64_t nbytes) {
        tla_command what{};
        what.opcode = TLA_OP_ALLOC;
        what.memory = TLA_HBM;
        what.nbytes = nbytes;
        return command(what);
    }
    tla_completion release(std::uint64_t address, std::uint64_t nbytes) {
        tla_command what{};
        what.opcode = TLA_OP_FREE;
        what.pa.value = address;
        what.nbytes = nbytes;
        return command(what);
    }

    // LR: what stands there; SC: whether it was stored.
    vcml::u32 load_reserved(vcml::u64 address) {
        vcml::u32 value = 0;
        out.readw(address, value, me_ | vcml::SBI_EXCL);
        return value;
    }
    bool store_conditional(vcml::u64 address, vcml::u32 value) {
        unsigned stored = 0;
        out.writew(address, value, me_ | vcml::SBI_EXCL, &stored);
        return stored == sizeof value;
    }

    const vcml::tlm_sbi &me() const { return me_; }
    void pause(double ns) {
        sync();
        wait(ns, sc_core::SC_NS);
    }

  private:
    void run() {
        if (program) program(*this);
    }
    const vcml::tlm_sbi me_;
    const vcml::u64 port_;
};

tlmalloc::memory_controller::config controller_config() {
    tlmalloc::memory_controller::config config;
    config.memory.of[TLA_HBM].bytes = memory_bytes;
    config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0; // `tcm` stays unbound
    config.memory.layout = TLA_LAYOUT_PLAIN;
    config.memory.of[TLA_HBM].base = memory_base;
    config.guard = TLA_GUARD_ERROR;
    return config;
}

tlmalloc::hbm_slice::config slice_config() {
    tlmalloc::hbm_slice::config config;
    config.capacity = memory_bytes;
    return config;
}

class platform : public vcml::system {
  public:
    vcml::generic::clock clock{"clock", 1 * vcml::GHz};
    vcml::generic::reset reset{"reset"};
    vcml::generic::bus bus{"bus"};
    master first{"first", 1, 10}, second{"second", 2, 10}, stranger{"stranger", 3, 11};
    tlmalloc::memory_controller controller{"controller", controller_config()};
    tlmalloc::hbm_slice slice{"slice", slice_config()};

    explicit platform(const sc_core::sc_module_name &name) : system(name) {
        controller.slice.bind(slice.in);
        // The bus passes addresses unchanged (the last argument), because the controller's ALLOC returns such
        // addresses.
        bus.bind(controller.in, memory_base, memory_base + memory_bytes - 1, memory_base);
        bus.bind(controller.control, control_base, control_base + 16 * TLA_PORT_BYTES - 1);
        controller.in.read_rights(sideband_);
        controller.control.read_rights(sideband_);
        for (master *m : {&first, &second, &stranger}) {
            bus.bind(m->out);
            clock.clk.bind(m->clk);
            reset.rst.bind(m->rst);
        }
        clock.clk.bind(bus.clk);
        reset.rst.bind(bus.rst);
        reset.rst.bind(reset_line_);
        controller.reset_in.bind(reset_line_);
        slice.reset_in.bind(reset_line_);
        program();
    }

  private:
    // The programs of the masters, one after the other in time; `shared_` is a counter in a block of the first master.
    void program() {
        first.program = [this](master &m) {
            m.pause(10);
            allocate_and_use(m);
            m.pause(1'000'000);
            reset.rst = true;
            m.pause(100);
            reset.rst = false;
            m.pause(100);
            const tla_arena_stats list = controller.get_statistics(TLA_HBM).arena;
            const tla_status lost = m.release(shared_, 64).status;
            std::printf("after the reset: %llu free block of %llu bytes, FREE of the counter: %s, ALLOC: 0x%llx\n",
                        static_cast<unsigned long long>(list.free_blocks),
                        static_cast<unsigned long long>(list.largest_free), tla_status_name(lost),
                        static_cast<unsigned long long>(m.allocate(64).value));
            sc_core::sc_stop();
        };
        second.program = [this](master &m) {
            m.pause(100'000);
            count(m, 7);
        };
        stranger.program = [this](master &m) {
            m.pause(500'000);
            vcml::u32 value = 0;
            const bool read = vcml::success(m.out.readw(shared_, value, m.me() | vcml::SBI_NODMI));
            std::printf("asid 11 %s a block of asid 10, and its FREE is %s\n", read ? "reads" : "is denied a read of",
                        tla_status_name(m.release(shared_, 64).status));
        };
    }

    void allocate_and_use(master &m) {
        const tla_completion block = m.allocate(4096);
        const std::uint64_t at = block.value;
        vcml::u32 word = 0x600d600d, back = 0;
        const bool used = vcml::success(m.out.writew(at, word, m.me())) && vcml::success(m.out.readw(at, back, m.me()));
        std::printf("ALLOC answers 0x%llx, %s through the bus\n", static_cast<unsigned long long>(at),
                    used && back == word ? "written and read" : "not usable");
        const bool direct = m.out.lookup_dmi_ptr(at, 4096, vcml::VCML_ACCESS_READ) != nullptr;
        const tla_status freed = m.release(at, 4096).status;
        const bool kept = m.out.lookup_dmi_ptr(at, 1, vcml::VCML_ACCESS_READ) != nullptr;
        std::printf("a DMI pointer by way of the bus: %s; after FREE (%s): %s\n", direct ? "there" : "none",
                    tla_status_name(freed), kept ? "still there" : "gone");
        shared_ = m.allocate(64).value;
        word = 0;
        m.out.writew(shared_, word, m.me());
        m.pause(100'000);
        count(m, 5);
        m.pause(300'000);
        m.out.readw(shared_, back, m.me());
        std::printf("two masters counted to %u with LR and SC, %u stores were not made\n", back, failed_);
    }

    // Adds one a hundred times; a write of another master between LR and SC makes it try again.
    void count(master &m, double pause_ns) {
        for (int i = 0; i < 100; i++)
            for (;;) {
                const vcml::u32 value = m.load_reserved(shared_);
                m.pause(pause_ns);
                if (m.store_conditional(shared_, value + 1)) break;
                failed_++;
                m.pause(pause_ns * (1 + i % 3));
            }
    }

    sideband_reader sideband_;
    sc_core::sc_signal<bool> reset_line_{"reset_line"};
    std::uint64_t shared_ = 0;
    unsigned failed_ = 0;
};

} // namespace

int sc_main(int, char **) {
    platform top("platform");
    sc_core::sc_start();
    return 0;
}
