// What firmware costs on the host in a simulation: 16 M_CPUs that drive controllers, and 16 PEs whose controllers'
// engine is firmware.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "measuring.hpp"
#include "modules/bare.hpp"
#include "platform/examples/m_cpu_cube.hpp"

using namespace tlmalloc;

namespace {

struct options {
    std::uint64_t requests = 5000, elements = 1 << 18, rounds = 9;
    const char *json = nullptr;
};

// --- M_CPUs ----------------------------------------------------------------------------------------------------------

const unsigned processors = 16;
const std::uint64_t slice_bytes = 1 << 20;

// The M_CPU's firmware on a hart without SystemC, before a control port that answers at once.
class lone_processor {
  public:
    lone_processor() {
        tla_riscv_config config{TLA_FIRMWARE_BASE, TLA_FIRMWARE_MEMORY_BYTES, {}, access, this};
        tla_riscv_timing_defaults(&config.timing);
        tla_riscv_hart *made = nullptr;
        if (tla_riscv_create(&config, &made)) fail("no hart");
        hart_.reset(made);
        tla_riscv_write(made, TLA_FIRMWARE_BASE, m_cpu_image, m_cpu_image_bytes);
        go_on();
        tla_paddr last{};
        tla_paddr_pe_hbm(0, 0, 0, slice_bytes - 1, slice_bytes, &last);
        ask(TLA_MAILBOX_BEGIN, last.value, slice_bytes);
    }

    void ask(tla_mailbox_operation operation, std::uint64_t offset, std::uint64_t size) {
        mailbox_ = {operation, offset, size, 0, 0, false};
        tla_riscv_set_interrupt(hart_.get(), true);
        go_on();
        if (mailbox_.answer_status != TLA_OK) fail("a request failed");
    }

  private:
    void go_on() {
        if (tla_riscv_run(hart_.get(), 1 << 20) != TLA_RISCV_WAITS) fail("the firmware has lost its way");
    }

    static tla_status access(void *self, std::uint64_t address, void *data, unsigned nbytes, bool write) {
        auto &p = *static_cast<lone_processor *>(self);
        if (address < M_CPU_PHYSICAL) {
            const tla_status status = tla_mailbox_access(&p.mailbox_, address - TLA_MAILBOX_BASE, data, nbytes, write);
            if (p.mailbox_.answered) tla_riscv_set_interrupt(p.hart_.get(), false);
            return status;
        }
        const auto offset = static_cast<std::uint32_t>(address % TLA_PORT_BYTES);
        auto *const bytes = static_cast<std::uint8_t *>(data);
        if (!write) return tla_control_port_read(&p.port_, offset, bytes, nbytes);
        bool complete = false;
        const tla_status status = tla_control_port_write(&p.port_, offset, bytes, nbytes, &complete, nullptr);
        if (!complete) return status;
        tla_completion answer{};
        std::memcpy(&answer.request_id, p.port_.command + 12, 4);
        tla_control_port_complete(&p.port_, &answer);
        return status;
    }

    std::unique_ptr<tla_riscv_hart, void (*)(tla_riscv_hart *)> hart_{nullptr, tla_riscv_destroy};
    tla_mailbox mailbox_{};
    tla_control_port port_{};
};

// A cube whose M_CPU is asked for a block, and to take it back, again and again.
class asked_cube : public sc_core::sc_module {
  public:
    explicit asked_cube(sc_core::sc_module_name name) : sc_module(name), cube("cube", host, 1, settings()) {}

    void ask(std::uint64_t requests) {
        for (std::uint64_t i = 0; i < requests; i += 2) {
            tla_paddr pa{};
            if (cube.processor.alloc(0, 4096, pa) || cube.processor.free(pa, 4096)) fail("a request failed");
        }
    }

  private:
    static memory_controller::config settings() {
        memory_controller::config config;
        config.memory.of[TLA_HBM].bytes = slice_bytes;
        return config;
    }
    tlm_utils::simple_initiator_socket<asked_cube> host{"host"}; // sends none
    m_cpu_cube cube;
};

// Asks all of them at once, round by round; beside each round as many requests of a hart alone.
class asking : public sc_core::sc_module {
  public:
    std::vector<double> simulated_ns, alone_ns; // a request

    asking(sc_core::sc_module_name name, const options &o) : sc_module(name), o_(o) {
        for (unsigned i = 0; i < processors; i++)
            cubes_.push_back(std::make_unique<asked_cube>(("cube" + std::to_string(i)).c_str()));
        TLMALLOC_HAS_PROCESS(asking);
        SC_THREAD(run);
    }

  private:
    void run() {
        lone_processor alone;
        for (const auto &cube : cubes_)
            sc_core::sc_spawn([this, &cube] {
                for (;;) {
                    sc_core::wait(begin_);
                    cube->ask(o_.requests);
                    if (--left_ == 0) end_.notify();
                }
            });
        sc_core::wait(sc_core::SC_ZERO_TIME); // all of them listen
        const double requests = static_cast<double>(processors * o_.requests);
        for (std::size_t round = 0; round <= o_.rounds; round++) { // the first one warms up
            const double begin = processor_ns();
            left_ = processors;
            begin_.notify();
            sc_core::wait(end_);
            const double between = processor_ns();
            for (std::uint64_t i = 0; i < processors * o_.requests; i += 2) {
                alone.ask(TLA_MAILBOX_TAKE, 0, 4096);
                alone.ask(TLA_MAILBOX_GIVE_BACK, std::uint64_t{1} << 37, 4096);
            }
            if (round == 0) continue;
            simulated_ns.push_back((between - begin) / requests);
            alone_ns.push_back((processor_ns() - between) / requests);
        }
        sc_core::sc_stop();
    }

    const options &o_;
    std::vector<std::unique_ptr<asked_cube>> cubes_;
    unsigned left_ = 0;
    sc_core::sc_event begin_, end_;
};

json_t *measure_processors(const options &o) {
    asking body("asking", o);
    sc_core::sc_start();
    const double simulated = median(body.simulated_ns), alone = median(body.alone_ns);
    std::printf("16 M_CPUs: %.2f us a request, of which %.2f the hart alone: %.0f %%\n", simulated / 1e3, alone / 1e3,
                100 * alone / simulated);
    return json_pack("{s:i, s:f, s:f, s:f}", "processors", processors, "ns_per_request", simulated,
                     "hart_ns_per_request", alone, "share_of_hart", alone / simulated);
}

// --- engines ---------------------------------------------------------------------------------------------------------

double run_ns(const options &o, const char *engine) {
    const std::string elements = "workload.elements_per_pe=" + std::to_string(o.elements),
                      which = std::string("controller.engine=") + engine;
    return program_ns(TLMALLOC_PROGRAM,
                      {"tlmalloc", "run", TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "--kernel", "vector_add",
                       "--set", "system.pes_per_cube=16", "--set", "controller.cost.profile=fw_list", "--set",
                       elements.c_str(), "--set", which.c_str()});
}

json_t *measure_engines(const options &o) {
    std::vector<double> model, firmware;
    for (std::size_t round = 0; round < o.rounds; round++) {
        model.push_back(run_ns(o, "model"));
        firmware.push_back(run_ns(o, "firmware"));
    }
    const double with = median(firmware), without = median(model);
    std::printf("16 PEs: a run takes %.0f ms, with firmware as engines %.0f: %.1f %% are theirs\n", without / 1e6,
                with / 1e6, 100 * (with - without) / with);
    return json_pack("{s:i, s:f, s:f, s:f}", "pes", 16, "model_ms", without / 1e6, "firmware_ms", with / 1e6,
                     "share_of_engines", (with - without) / with);
}

} // namespace

int sc_main(int argc, char **argv) {
    options o;
    read_options(argc, argv, "What firmware costs on the host in a simulation.",
                 {{{"requests", 'n', "N", 0, "to each M_CPU a round (default 5000)", 0}, &o.requests},
                  {{"rounds", 'r', "N", 0, "rounds, of which the median counts (default 9)", 0}, &o.rounds},
                  {{"elements", 'e', "N", 0, "of each PE in the run (default 262144)", 0}, &o.elements}},
                 &o.json);
    json_t *engines = measure_engines(o); // while there is no simulation here
    json_t *root = json_pack("{s:s, s:o, s:o}", "benchmark", "bench_firmware", "m_cpus", measure_processors(o),
                             "engines", engines);
    return write_figures(root, o.json);
}
