// Loaders that bring sequences back from the host's memory, each holding some chunks and waiting for more: the deadlock
// that LMCache's chunk budget is for (seed 003, calculate_chunk_budget), on a whole platform.
//
// The pool is a slice of HBM with room for 8 chunks. Four loaders, a thread and a PE's DMA engine each, load a sequence
// of 3 chunks. A chunk is allocated by a command to the pool's controller and pinned, and DMA moves its bytes from the
// host's memory over the fabric. No chunk is released before all three are loaded. Then the loader reads them, compares
// them with the sequence, and releases them. Without a budget every loader gets two and waits for a third: a deadlock,
// which the ledger detects, because every unfinished loader has failed since the last release. With a budget of
// tla_kv_chunk_budget chunks, from which a loader takes all three before it allocates the first, two loaders work at a
// time.
#include "bench_main.hpp"
#include "tlmalloc/kv/kv_cache.h"
#include "tlmalloc/modules.hpp"

#include <deque>
#include <iostream>

using tlmalloc::to_ps;

namespace {

constexpr std::uint64_t kib = 1024, chunk_bytes = 64 * kib, pool_bytes = 512 * kib;
constexpr unsigned loaders = 4, chunks = 3;
constexpr unsigned port_of_loaders = 16; // of every controller; those before are the platform's

const char *const keys[] = {"system.sips=1",
                            "system.pes_per_cube=4",
                            "hbm.capacity_per_cube=2 MiB", // 512 KiB a slice
                            "host_memory.capacity=1 MiB",
                            "controller.ports=32",
                            "controller.validate=true"};

tla_config configuration() {
    tla_config config{};
    const auto report = [](void *, const tla_config_finding *finding) { std::cerr << finding->text << "\n"; };
    if (tla_config_load(nullptr, keys, std::size(keys), &config, report, nullptr)) std::exit(2);
    return config;
}

std::uint8_t content(unsigned loader, unsigned chunk, std::uint64_t at) {
    return static_cast<std::uint8_t>((at + 97 * (loader * chunks + chunk)) * 2654435761u >> 16);
}

std::uint64_t now_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

// The held chunks of each loader, and the loaders that have failed since the last release.
struct ledger {
    std::vector<std::uint64_t> held[loaders]; // addresses of the chunks that a loader has pinned
    bool loading[loaders] = {}, refused[loaders] = {};
    unsigned most = 0;
    bool is_dead = false;

    unsigned all_held() const {
        unsigned sum = 0;
        for (const auto &of : held)
            sum += static_cast<unsigned>(of.size());
        return sum;
    }
    void is_freed() { std::fill(std::begin(refused), std::end(refused), false); }

    // No loader can continue, and nothing will change that.
    bool is_deadlock() const {
        for (unsigned i = 0; i < loaders; i++)
            if (loading[i] && !refused[i]) return false;
        return true;
    }
    void report() const {
        std::cout << "deadlock at " << now_ps() / 1000 << " ns: " << all_held() << " of " << pool_bytes / chunk_bytes
                  << " chunks are pinned, and everybody waits for more\n";
        for (unsigned i = 0; i < loaders; i++) {
            if (!loading[i]) continue;
            std::cout << "  loader " << i << " holds";
            for (const std::uint64_t pa : held[i])
                std::cout << " 0x" << std::hex << pa << std::dec;
            std::cout << " and waits for " << chunks - held[i].size() << " more\n";
        }
    }
};

struct bench;

struct loader : sc_core::sc_module {
    bench &all;
    const unsigned number;
    std::uint64_t source[chunks] = {}, tile = 0; // in the host's memory; in the PE's TCM
    bool complete = false;
    unsigned right = 0; // chunks that were read as they were written

    loader(sc_core::sc_module_name name, bench &of, unsigned which) : sc_module(name), all(of), number(which) {
        TLMALLOC_HAS_PROCESS(loader);
        SC_THREAD(run);
    }
    void run();
    bool take_chunk();
    bool load();
    void give_back();
    void move(tlmalloc::pe_dma::direction way, std::uint64_t pa);
    void check(unsigned chunk);
};

struct bench {
    tlmalloc::npu npu;
    tlmalloc::waveform wave;
    ledger state;
    bool has_budget = false;
    tla_kv_budget budget{};
    sc_core::sc_event begin, end;
    unsigned under_way = 0;
    std::vector<tla_wave_signal> held;
    tla_wave_signal budget_taken;
    std::deque<loader> threads;
    bool failed = false;

    explicit bench(const char *path) : npu("npu", configuration(), {nullptr, 0}), wave(path) {
        for (tlmalloc::instrumented *module : npu.modules())
            if (module->kind() == std::string("memory_controller")) module->record(wave);
        for (unsigned i = 0; i < loaders; i++) {
            threads.emplace_back(("loader" + std::to_string(i)).c_str(), *this, i);
            held.push_back(wave.declare("bench", "chunks_of_loader" + std::to_string(i), 32));
        }
        budget_taken = wave.declare("bench", "budget_taken", 32);
        npu.host().main = [this] { run(); };
    }

    // A command to a memory's controller, from the host, by the port of a loader.
    tla_completion send(unsigned from, tla_memory_kind memory, unsigned pe, tla_command command) {
        tla_paddr port{};
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.memory = memory;
        tla_memory_kind_control(memory, 0, 0, pe, (port_of_loaders + from) * std::uint64_t{TLA_PORT_BYTES}, &port);
        tla_completion done{};
        sc_core::sc_time delay;
        tlmalloc::requester who(0, 0, true);
        const tla_status status = tlmalloc::send_command(npu.host().out, port.value, command, done, delay, &who);
        sc_core::wait(delay);
        done.status = status;
        return done;
    }
    tla_completion about(unsigned from, tla_opcode opcode, std::uint64_t pa) {
        tla_command command{};
        command.opcode = opcode;
        command.pa.value = pa;
        command.nbytes = opcode == TLA_OP_FREE ? chunk_bytes : 0;
        return send(from, TLA_HBM, 0, command);
    }
    std::uint64_t allocate(unsigned from, tla_memory_kind memory, unsigned pe, tla_status &status) {
        tla_command command{};
        command.opcode = TLA_OP_ALLOC;
        command.nbytes = chunk_bytes;
        const tla_completion done = send(from, memory, pe, command);
        status = done.status;
        return done.value;
    }
    void free(unsigned from, tla_memory_kind memory, unsigned pe, std::uint64_t pa) {
        tla_command command{};
        command.opcode = TLA_OP_FREE;
        command.nbytes = chunk_bytes;
        command.pa.value = pa;
        failed |= send(from, memory, pe, command).status != TLA_OK;
    }

    void show_held(unsigned number) {
        wave.set(held[number], now_ps(), state.held[number].size());
        state.most = std::max(state.most, state.all_held());
    }
    void show_budget() { wave.set(budget_taken, now_ps(), budget.taken); }

    void prepare();
    void load_all(bool with_budget);
    void run();
};

// Takes a chunk of the pool, pinned, when one is free. False: all loaders wait.
bool loader::take_chunk() {
    ledger &state = all.state;
    while (!state.is_dead) {
        tla_status status;
        const std::uint64_t pa = all.allocate(number, TLA_HBM, 0, status);
        if (!status) {
            all.failed |= all.about(number, TLA_OP_PIN, pa).status != TLA_OK;
            state.held[number].push_back(pa);
            all.show_held(number);
            return true;
        }
        state.refused[number] = true;
        if (!state.is_dead && state.is_deadlock()) {
            state.is_dead = true;
            state.report();
        }
        sc_core::wait(1, sc_core::SC_US); // and comes again, as a retrieve does
    }
    return false;
}

// Between a physical address and the PE's tile, over the fabric.
void loader::move(tlmalloc::pe_dma::direction way, std::uint64_t pa) {
    tlmalloc::pe_dma::request what{way, {pa}, {tile}, 1, chunk_bytes, chunk_bytes};
    what.physical = true;
    sc_core::sc_time delay;
    all.failed |= all.npu.pes()[number]->dma.transfer(what, delay) != TLA_OK;
    sc_core::wait(delay);
}

// Reads a chunk out of HBM; the tile is compared in no time.
void loader::check(unsigned chunk) {
    std::vector<std::uint8_t> found(chunk_bytes);
    move(tlmalloc::pe_dma::direction::read, all.state.held[number][chunk]);
    tlm::tlm_generic_payload payload;
    payload.set_read();
    payload.set_address(tile);
    payload.set_data_ptr(found.data());
    payload.set_data_length(static_cast<unsigned>(chunk_bytes));
    bool same = all.npu.host().out->transport_dbg(payload) == chunk_bytes;
    for (std::uint64_t at = 0; same && at < chunk_bytes; at++)
        same = found[at] == content(number, chunk, at);
    right += same;
}

bool loader::load() {
    for (const std::uint64_t there : source) {
        if (!take_chunk()) return false;
        move(tlmalloc::pe_dma::direction::read, there);
        move(tlmalloc::pe_dma::direction::write, all.state.held[number].back());
    }
    for (unsigned chunk = 0; chunk < chunks; chunk++)
        check(chunk);
    return true;
}

void loader::give_back() {
    for (const std::uint64_t pa : all.state.held[number]) {
        all.failed |= all.about(number, TLA_OP_UNPIN, pa).status != TLA_OK;
        all.free(number, TLA_HBM, 0, pa);
    }
    all.state.held[number].clear();
    all.state.is_freed();
    all.show_held(number);
}

void loader::run() {
    for (;;) {
        wait(all.begin);
        while (all.has_budget && tla_kv_budget_take(&all.budget, chunks) == TLA_BUSY)
            wait(1, sc_core::SC_US);
        all.show_budget();
        all.state.loading[number] = true;
        complete = load();
        all.state.loading[number] = false;
        give_back();
        if (all.has_budget) tla_kv_budget_give_back(&all.budget, chunks);
        all.show_budget();
        if (--all.under_way == 0) all.end.notify(sc_core::SC_ZERO_TIME);
    }
}

// Sequences into the host's memory, and a tile for each loader.
void bench::prepare() {
    tla_error error{};
    tla_status status;
    std::vector<std::uint8_t> bytes(chunk_bytes);
    for (loader &one : threads) {
        one.tile = allocate(one.number, TLA_TCM, one.number, status);
        failed |= status != TLA_OK;
        for (unsigned chunk = 0; chunk < chunks; chunk++) {
            one.source[chunk] = allocate(one.number, TLA_HOST_MEMORY, 0, status);
            failed |= status != TLA_OK;
            for (std::uint64_t at = 0; at < chunk_bytes; at++)
                bytes[at] = content(one.number, chunk, at);
            failed |= npu.host().write_memory({one.source[chunk]}, bytes.data(), chunk_bytes, &error) != TLA_OK;
        }
    }
}

void bench::load_all(bool with_budget) {
    state = {};
    has_budget = with_budget;
    under_way = loaders;
    for (loader &one : threads)
        one.right = 0;
    const std::uint64_t start_ps = now_ps();
    begin.notify(sc_core::SC_ZERO_TIME);
    sc_core::wait(end);
    unsigned through = 0, right = 0;
    for (loader &one : threads) {
        through += one.complete;
        right += one.right;
    }
    std::cout << (with_budget ? "with" : "without") << " a budget: " << through << " of " << loaders
              << " loaders came to an end, at most " << state.most << " chunks held, " << right << " of "
              << loaders * chunks << " read as they were written, " << (now_ps() - start_ps) / 1000 << " ns\n";
    failed |=
        with_budget ? state.is_dead || through != loaders || right != loaders * chunks : !state.is_dead || through != 0;
}

void bench::run() {
    tla_error error{};
    prepare();
    load_all(false);
    failed |= tla_kv_chunk_budget(pool_bytes, chunk_bytes, 4096, &budget.chunks) != TLA_OK;
    load_all(true);
    for (loader &one : threads) {
        free(one.number, TLA_TCM, one.number, one.tile);
        for (const std::uint64_t pa : one.source)
            free(one.number, TLA_HOST_MEMORY, 0, pa);
    }
    failed |= npu.host().cleanup(&error) != TLA_OK || npu.leaks() > 0;
}

} // namespace

int run_bench(const char *path) {
    bench all(path);
    sc_core::sc_start();
    if (all.wave.close()) {
        std::cerr << path << ": cannot be written\n";
        return 2;
    }
    return all.failed ? 1 : 0;
}
