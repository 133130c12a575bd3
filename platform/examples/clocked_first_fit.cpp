// The engine in RTL at a clock, beside the core: it needs the cycles of the receipt. Records its ports.
#include "clocked_first_fit.hpp"

#include "tlmalloc/arena/arena.h"
#include "tlmalloc/config/parameters.h"

#include <iostream>
#include <memory>

namespace {

const std::uint64_t capacity = 1024;

const char *const status_names[] = {"done", "no block", "not taken", "no node"};

} // namespace

SC_MODULE(commander) {
    clocked_first_fit *engine = nullptr;
    bool all_alike = true;

    SC_CTOR(commander) {
        tla_arena_config config{};
        config.capacity = capacity;
        config.policy = TLA_FIRST_FIT;
        tla_arena *made = nullptr;
        if (tla_arena_create(&config, &made)) SC_REPORT_ERROR("/commander/arena", "no host memory");
        core_.reset(made);
        SC_THREAD(run);
    }

    void run() {
        tla_controller_parameters parameters;
        tla_controller_defaults(&parameters); // whose prices are those of this engine: rtl_list_1c
        price_ = parameters.cost;
        engine->reset();
        for (int i = 0; i < 4; i++)
            take(128);
        give_back(0, 128);
        give_back(256, 128);
        take(200);           // passes two holes
        give_back(128, 128); // joins both
        take(384);           // all of it: the node is released
        take(400);           // passes everything, and nothing is large enough
        give_back(384, 128);
        give_back(512, 200);
        give_back(0, 384);       // one block again
        wait(2, sc_core::SC_NS); // for the picture
        sc_core::sc_stop();
    }

    void take(std::uint64_t size) {
        tla_block block{};
        tla_work work{};
        const tla_status status = tla_arena_alloc(core_.get(), size, &block, &work);
        tell("take " + std::to_string(size), {false, 0, size}, status ? TLA_ENGINE_NO_BLOCK : TLA_ENGINE_DONE,
             block.offset, work);
    }

    void give_back(std::uint64_t offset, std::uint64_t size) {
        tla_work work{};
        const tla_status status = tla_arena_free(core_.get(), {offset, size}, &work);
        tell("give back " + std::to_string(size) + " at " + std::to_string(offset), {true, offset, size},
             status ? TLA_ENGINE_NOT_TAKEN : TLA_ENGINE_DONE, offset, work);
    }

    void tell(const std::string &what, const tla_engine_request &request, tla_engine_status status,
              std::uint64_t offset, const tla_work &work) {
        const tla_engine_answer answer = engine->ask(request);
        const std::uint64_t said = tla_cost_price(&price_, &work) / price_.clock_ps;
        std::cout << what << ": " << status_names[answer.status];
        if (answer.status == TLA_ENGINE_DONE && !request.give_back) std::cout << " at " << answer.offset;
        std::cout << ", " << answer.cycles << " cycles, the receipt says " << said << '\n';
        all_alike = all_alike && answer.status == status && answer.cycles == said &&
                    (status != TLA_ENGINE_DONE || answer.offset == offset);
    }

  private:
    std::unique_ptr<tla_arena, void (*)(tla_arena *)> core_{nullptr, tla_arena_destroy};
    tla_cost_profile price_{};
};

int sc_main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " WAVEFORM.vcd\n";
        return 2;
    }
    tla_wave *wave = nullptr;
    tla_error error{};
    if (tla_wave_open(argv[1], &wave, &error)) {
        std::cerr << error.text << '\n';
        return 2;
    }
    bool all_alike = false;
    {
        sc_core::sc_clock clock("clock", 1, sc_core::SC_NS, 0.5, 0.5, sc_core::SC_NS);
        clocked_first_fit engine("engine", capacity, *wave);
        engine.clock(clock);
        commander host("host");
        host.engine = &engine;
        sc_core::sc_start();
        all_alike = host.all_alike;
    }
    std::cout << (all_alike ? "as the core\n" : "not as the core\n");
    if (tla_wave_close(wave, tlmalloc::to_ps(sc_core::sc_time_stamp()))) return 2;
    return all_alike ? 0 : 1;
}
