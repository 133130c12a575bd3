// What the modules cost on the host: accesses a second beside a plain memory, waveforms, and memory of a large
// platform.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "measuring.hpp"
#include "model/base/sparse_bytes.h"
#include "modules/bare.hpp"
#include "tlmalloc/modules/npu.hpp"

#include <cstring>
#include <functional>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tlm_utils/simple_target_socket.h>
#include <tlm_utils/tlm_quantumkeeper.h>
#include <unistd.h>

using namespace tlmalloc;

namespace {

const std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
const std::uint64_t memory_bytes = 64 * MiB; // what the accesses touch
const sc_core::sc_time quantum(1, sc_core::SC_US);

struct options {
    std::uint64_t operations = 200'000, touch_mib = 1024, elements = 1 << 20, pes = 1024, rounds = 9;
    const char *json = nullptr;
};

// --- accesses --------------------------------------------------------------------------------------------------------

// The least that a memory by the book does: range, copy, a latency, the response.
class plain_memory : public sc_core::sc_module {
  public:
    tlm_utils::simple_target_socket<plain_memory> in{"in"};

    explicit plain_memory(sc_core::sc_module_name name) : sc_module(name) {
        if (tla_sparse_bytes_create(memory_bytes, &bytes_)) fail("no memory");
        in.register_b_transport(this, &plain_memory::b_transport);
        in.register_get_direct_mem_ptr(this, &plain_memory::get_direct_mem_ptr);
    }
    ~plain_memory() override { tla_sparse_bytes_destroy(bytes_, memory_bytes); }

  private:
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        const std::uint64_t address = payload.get_address(), length = payload.get_data_length();
        if (address >= memory_bytes || length > memory_bytes - address) {
            payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
            return;
        }
        if (payload.get_byte_enable_ptr() || payload.get_streaming_width() < length) {
            payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
            return;
        }
        if (payload.is_read())
            std::memcpy(payload.get_data_ptr(), bytes_ + address, length);
        else if (payload.is_write())
            std::memcpy(bytes_ + address, payload.get_data_ptr(), length);
        delay += latency_;
        payload.set_dmi_allowed(true);
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
    }

    bool get_direct_mem_ptr(tlm::tlm_generic_payload &, tlm::tlm_dmi &dmi) {
        dmi.init();
        dmi.set_dmi_ptr(bytes_);
        dmi.set_end_address(memory_bytes - 1);
        dmi.allow_read_write();
        dmi.set_read_latency(latency_);
        dmi.set_write_latency(latency_);
        return true;
    }

    const sc_core::sc_time latency_{8, sc_core::SC_NS};
    std::uint8_t *bytes_ = nullptr;
};

class initiator : public sc_core::sc_module {
  public:
    tlm_utils::simple_initiator_socket<initiator> out{"out"};

    explicit initiator(sc_core::sc_module_name name) : sc_module(name) {}

    std::uint64_t base = 0;

    // In order, accesses begin at this offset.
    void begin_at(std::uint64_t offset) { state_ = offset << 20; }

    // n accesses of `length` bytes, every third a write, in order or at random; by DMI where there is a pointer.
    void access(std::uint64_t n, unsigned length, bool random, bool direct, tlm_utils::tlm_quantumkeeper &keeper) {
        std::uint8_t data[4 * KiB] = {};
        tlm::tlm_generic_payload payload;
        payload.set_data_ptr(data);
        payload.set_data_length(length);
        payload.set_streaming_width(length);
        tlm::tlm_dmi dmi;
        payload.set_address(base);
        if (direct && !out->get_direct_mem_ptr(payload, dmi)) fail("DMI is refused");
        sc_core::sc_time delay = keeper.get_local_time();
        for (std::uint64_t i = 0; i < n; i++) {
            state_ =
                random ? state_ * 6364136223846793005u + 1442695040888963407u : state_ + (std::uint64_t{length} << 20);
            const std::uint64_t address = base + ((state_ >> 20) & (memory_bytes - 1) & ~std::uint64_t{length - 1});
            const bool write = i % 3 == 0;
            if (direct && address >= dmi.get_start_address() && address + length - 1 <= dmi.get_end_address()) {
                std::uint8_t *const there = dmi.get_dmi_ptr() + (address - dmi.get_start_address());
                if (write)
                    std::memcpy(there, data, length);
                else
                    std::memcpy(data, there, length);
                delay += write ? dmi.get_write_latency() : dmi.get_read_latency();
            } else {
                payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
                payload.set_address(address);
                payload.set_dmi_allowed(false);
                payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
                out->b_transport(payload, delay);
                if (payload.is_response_error()) fail("an access failed");
            }
            keeper.set(delay);
            if (keeper.need_sync()) keeper.sync();
            delay = keeper.get_local_time();
        }
    }

  private:
    std::uint64_t state_ = 0;
};

// A controller and its slice with KernBench's timing.
struct controlled_memory {
    controlled_memory(const char *controller_name, const char *slice_name)
        : controller(controller_name, controller_config()), slice(slice_name, slice_config()) {
        controller.slice.bind(slice.in);
        commands.out.bind(controller.control);
    }
    static memory_controller::config controller_config() {
        memory_controller::config config = bare<memory_controller>();
        config.memory.of[TLA_HBM].bytes = memory_bytes;
        config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
        return config;
    }
    static hbm_slice::config slice_config() {
        hbm_slice::config config = bare<hbm_slice>();
        config.capacity = memory_bytes;
        return config;
    }
    memory_controller controller;
    hbm_slice slice;
    initiator commands{sc_core::sc_gen_unique_name("commands")}; // sends none
};

struct lane {
    std::string label;
    initiator *from;
    unsigned length;
    bool random, direct;
    std::vector<double> ns = {};
};

class traffic : public sc_core::sc_module {
  public:
    traffic(sc_core::sc_module_name name, const options &o, std::vector<lane> &lanes)
        : sc_module(name), o_(o), lanes_(lanes) {
        TLMALLOC_HAS_PROCESS(traffic);
        SC_THREAD(run);
    }

  private:
    void run() {
        tlm_utils::tlm_quantumkeeper::set_global_quantum(quantum);
        tlm_utils::tlm_quantumkeeper keeper;
        keeper.reset();
        for (std::size_t round = 0; round <= o_.rounds; round++) // the first one warms up
            for (lane &l : lanes_) {
                const double begin = processor_ns();
                l.from->access(o_.operations, l.length, l.random, l.direct, keeper);
                keeper.sync();
                if (round > 0) l.ns.push_back((processor_ns() - begin) / static_cast<double>(o_.operations));
            }
        sc_core::sc_stop();
    }
    const options &o_;
    std::vector<lane> &lanes_;
};

json_t *measure_accesses(const options &o) {
    plain_memory plain("plain");
    controlled_memory ours("controller", "slice"), shown("shown_controller", "shown_slice");
    initiator to_plain("to_plain"), to_ours("to_ours"), to_shown("to_shown");
    to_plain.out.bind(plain.in);
    to_ours.out.bind(ours.controller.in);
    to_shown.out.bind(shown.controller.in);
    tla_paddr base{};
    if (tla_paddr_pe_hbm(0, 0, 0, 0, memory_bytes, &base)) fail("no address");
    to_ours.base = to_shown.base = base.value;
    waveform wave("/dev/null");
    shown.controller.record(wave);
    shown.slice.record(wave);

    std::vector<lane> lanes;
    struct shape {
        unsigned length;
        bool random;
        const char *text;
    };
    const shape shapes[] = {{4, false, "4 B in order"},     {4, true, "4 B at random"},
                            {64, false, "64 B in order"},   {64, true, "64 B at random"},
                            {256, false, "256 B in order"}, {256, true, "256 B at random"},
                            {4096, false, "4 KiB in order"}};
    for (const shape &s : shapes)
        for (const bool direct : {false, true}) {
            const std::string text = std::string(direct ? "DMI, " : "b_transport, ") + s.text;
            lanes.push_back({text, &to_plain, s.length, s.random, direct});
            lanes.push_back({text, &to_ours, s.length, s.random, direct});
            lanes.push_back({text, &to_shown, s.length, s.random, direct});
        }
    traffic body("traffic", o, lanes);
    sc_core::sc_start();

    json_t *rows = json_array();
    for (std::size_t i = 0; i < lanes.size(); i += 3) {
        const double plain_ns = median(lanes[i].ns), ours_ns = median(lanes[i + 1].ns),
                     shown_ns = median(lanes[i + 2].ns);
        json_array_append_new(rows,
                              json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "access", lanes[i].label.c_str(), "plain_ns",
                                        plain_ns, "ours_ns", ours_ns, "waveform_ns", shown_ns, "ours_over_plain_rate",
                                        plain_ns / ours_ns, "waveform_over_off_time", shown_ns / ours_ns));
    }
    return rows;
}

// --- initiators that share a controller ------------------------------------------------------------------------------

// `count` initiators of one controller, each decoupled by the quantum, all at once.
class sharing : public sc_core::sc_module {
  public:
    sharing(sc_core::sc_module_name name, std::uint64_t operations, unsigned count, const sc_core::sc_time &look_ahead)
        : sc_module(name), operations_(operations), left_(count) {
        tla_paddr base{};
        if (tla_paddr_pe_hbm(0, 0, 0, 0, memory_bytes, &base)) fail("no address");
        memory_.controller.in.look_ahead(look_ahead);
        for (unsigned i = 0; i < count; i++) {
            from_.push_back(std::make_unique<initiator>(sc_core::sc_gen_unique_name("from")));
            from_.back()->base = base.value;
            from_.back()->begin_at(operations / count * i * 64); // together they touch what one alone does
            from_.back()->out.bind(memory_.controller.in);
            sc_core::sc_spawn([this, i] { run(*from_[i]); }, sc_core::sc_gen_unique_name("run"));
        }
    }

  private:
    void run(initiator &from) {
        tlm_utils::tlm_quantumkeeper keeper;
        keeper.reset();
        from.access(operations_ / from_.size(), 64, false, false, keeper);
        keeper.sync();
        if (--left_ == 0) sc_core::sc_stop();
    }

    controlled_memory memory_{"controller", "slice"};
    const std::uint64_t operations_;
    std::size_t left_;
    std::vector<std::unique_ptr<initiator>> from_;
};

json_t *measure_sharing(const options &o, unsigned count, const sc_core::sc_time &look_ahead) {
    tlm_utils::tlm_quantumkeeper::set_global_quantum(quantum);
    const std::uint64_t operations = o.operations * o.rounds / 4;
    sharing body("sharing", operations, count, look_ahead);
    const double begin = processor_ns();
    sc_core::sc_start();
    return json_pack("{s:i, s:f, s:f}", "initiators", static_cast<int>(count), "look_ahead_ns",
                     look_ahead.to_seconds() * 1e9, "ns_per_access",
                     (processor_ns() - begin) / static_cast<double>(operations));
}

// --- a large platform ------------------------------------------------------------------------------------------------

class toucher : public sc_core::sc_module {
  public:
    std::vector<std::unique_ptr<initiator>> to; // one for each PE

    toucher(sc_core::sc_module_name name, const npu &platform, std::uint64_t bytes) : sc_module(name), bytes_(bytes) {
        for (const pe_unit *pe : platform.pes()) {
            to.push_back(std::make_unique<initiator>(sc_core::sc_gen_unique_name("to_pe")));
            to.back()->out.bind(const_cast<pe_unit *>(pe)->controller.in);
            tla_paddr pa{};
            if (tla_paddr_pe_hbm(pe->where.sip, pe->where.cube, pe->where.pe, 0, slice_bytes, &pa)) fail("no address");
            to.back()->base = pa.value;
        }
        TLMALLOC_HAS_PROCESS(toucher);
        SC_THREAD(run);
    }

    static const std::uint64_t slice_bytes = 6 * GiB;

  private:
    void run() {
        std::vector<std::uint8_t> data(4 * KiB, 0xa5);
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_data_ptr(data.data());
        payload.set_data_length(4 * KiB);
        payload.set_streaming_width(4 * KiB);
        const std::uint64_t each = bytes_ / to.size();
        for (const auto &pe : to)
            for (std::uint64_t at = 0; at < each; at += 4 * KiB) {
                sc_core::sc_time delay;
                payload.set_address(pe->base + at * 64 % slice_bytes + at * 64 / slice_bytes * 4 * KiB);
                pe->out->b_transport(payload, delay);
                if (payload.is_response_error()) fail("a write failed");
            }
        sc_core::sc_stop();
    }
    std::uint64_t bytes_;
};

json_t *measure_footprint(const options &o) {
    tla_config config{};
    if (tla_config_load(TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml", nullptr, 0, &config, nullptr, nullptr))
        fail("configs/kernbench.yaml cannot be read");
    if (config.hbm.capacity != toucher::slice_bytes) fail("slices are not of 6 GiB");
    npu platform("npu", config, {});
    toucher body("toucher", platform, o.touch_mib * MiB);
    sc_core::sc_start();
    std::uint64_t written = 0;
    for (const pe_unit *pe : platform.pes())
        written += pe->slice.get_statistics().bytes_written;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return json_pack("{s:I, s:I, s:I}", "modelled_bytes",
                     static_cast<json_int_t>(platform.pes().size() * toucher::slice_bytes), "touched_bytes",
                     static_cast<json_int_t>(written), "peak_host_bytes",
                     static_cast<json_int_t>(usage.ru_maxrss * 1024));
}

// --- transfers of many PEs -------------------------------------------------------------------------------------------

// Every PE reads its own share (`away` 0), or that of the PE beside it in its cube (1), again and again, all at once:
// DMA issue, a pseudo-channel, two links or three, a TCM channel. On a platform of any size as many bytes are moved,
// and as many are resident.
class transferring : public sc_core::sc_module {
  public:
    transferring(sc_core::sc_module_name name, npu &platform, std::size_t away, std::uint64_t chunks,
                 std::size_t rounds)
        : sc_module(name), platform_(platform), away_(away), rounds_(rounds),
          share_(resident_bytes / platform.pes().size()),
          passes_(std::max<std::uint64_t>(chunks * chunk_bytes / resident_bytes, 1)) {
        platform.host().main = [this] { run(); };
    }

    double ns_per_chunk() const { return median(ns_); }

  private:
    static const std::uint64_t resident_bytes = 4 * MiB, chunk_bytes = 256;

    // In the host's thread: makes the bytes resident, then lets the PEs go, round by round.
    void run() {
        tensor *t = nullptr;
        tla_error error{};
        const std::size_t pes = platform_.pes().size();
        if (platform_.host().create_tensor("shares", pes * share_, 1, platform_.host().everywhere(), &t, &error))
            fail(error.text);
        for (std::size_t i = 0; i < pes; i++)
            sc_core::sc_spawn([this, t, i] { read_share(*t, i); }, sc_core::sc_gen_unique_name("reader"));
        sc_core::wait(sc_core::SC_ZERO_TIME);                    // all of them listen
        for (std::size_t round = 0; round <= rounds_; round++) { // the first one touches everything
            const double begin = processor_ns();
            left_ = pes;
            begin_.notify();
            sc_core::wait(end_);
            const auto moved = static_cast<double>(passes_ * pes * share_ / chunk_bytes);
            if (round > 0) ns_.push_back((processor_ns() - begin) / moved);
        }
        sc_core::sc_stop();
    }

    void read_share(const tensor &t, std::size_t number) {
        pe_unit &pe = *platform_.pes()[number];
        const std::size_t cube = std::min<std::size_t>(8, platform_.pes().size());
        const std::uint64_t share = t.shards[number / cube * cube + (number + away_) % cube].offset;
        tla_paddr tile{};
        tla_paddr_pe_tcm(pe.where.sip, pe.where.cube, pe.where.pe, 0, &tile);
        for (;;) {
            sc_core::wait(begin_);
            sc_core::sc_time delay;
            for (std::uint64_t pass = 0; pass < passes_; pass++)
                if (pe.dma.transfer({pe_dma::direction::read, {t.va.value + share}, tile, 1, share_, share_}, delay))
                    fail("a transfer failed");
            sc_core::wait(delay);
            if (--left_ == 0) end_.notify();
        }
    }

    npu &platform_;
    const std::size_t away_, rounds_;
    const std::uint64_t share_; // of each PE, in bytes
    const std::uint64_t passes_;
    std::size_t left_ = 0;
    std::vector<double> ns_;
    sc_core::sc_event begin_, end_;
};

json_t *measure_transfers(const options &o, unsigned cubes, std::size_t away) {
    const std::string wide = std::to_string(std::min(cubes, 4u)), high = std::to_string(std::min((cubes + 3) / 4, 4u)),
                      sips = std::to_string((cubes + 15) / 16);
    const std::string sets[] = {"system.sips=" + sips, "system.cube_mesh_width=" + wide,
                                "system.cube_mesh_height=" + high};
    std::vector<const char *> overrides;
    for (const std::string &set : sets)
        overrides.push_back(set.c_str());
    tla_config config{};
    if (tla_config_load(TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml", overrides.data(), overrides.size(), &config,
                        nullptr, nullptr))
        fail("configs/kernbench.yaml cannot be read");
    npu platform("npu", config, {});
    if (platform.pes().size() != 8 * cubes) fail("cubes are not of 8 PEs");
    transferring body("transferring", platform, away, o.operations / 2, o.rounds);
    sc_core::sc_start();
    return json_pack("{s:I, s:s, s:f}", "pes", static_cast<json_int_t>(platform.pes().size()), "slice",
                     away == 0 ? "own" : "beside", "ns_per_chunk", body.ns_per_chunk());
}

// --- a run with a waveform and without -------------------------------------------------------------------------------

double run_ns(const options &o, const std::string &vcd) {
    const std::string elements = "workload.elements_per_pe=" + std::to_string(o.elements);
    std::vector<const char *> words{"tlmalloc",      "run",        TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml",
                                    "--kernel",      "vector_add", "--set",
                                    elements.c_str()};
    if (!vcd.empty()) words.insert(words.end(), {"--vcd", vcd.c_str()});
    return program_ns(TLMALLOC_PROGRAM, words);
}

json_t *measure_waveform(const options &o) {
    std::string vcd = "bench_platform.vcd";
    std::vector<double> off, on;
    for (std::size_t round = 0; round < o.rounds; round++) {
        off.push_back(run_ns(o, ""));
        on.push_back(run_ns(o, vcd));
    }
    unlink(vcd.c_str());
    return json_pack("{s:f, s:f, s:f}", "off_ms", median(off) / 1e6, "on_ms", median(on) / 1e6, "on_over_off",
                     median(on) / median(off));
}

// --- all -------------------------------------------------------------------------------------------------------------

// Measures in a process of its own: a simulation each, and memory that nobody else has used.
json_t *apart(const options &o, const std::function<json_t *(const options &)> &measure) {
    int ends[2];
    if (pipe(ends)) fail("no pipe");
    const pid_t child = fork();
    if (child < 0) fail("cannot fork");
    if (child == 0) {
        close(ends[0]);
        FILE *out = fdopen(ends[1], "w");
        if (!out || json_dumpf(measure(o), out, 0) || std::fclose(out)) _exit(1);
        _exit(0);
    }
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    json_t *result = in ? json_loadf(in, 0, nullptr) : nullptr;
    if (in) std::fclose(in);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0 || !result) fail("a measurement failed");
    return result;
}

double real(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

void print(const json_t *accesses, const json_t *sharing, const json_t *transfers, const json_t *wave,
           const json_t *footprint) {
    std::printf("%-30s %10s %10s %10s %8s %8s\n", "ns an access", "plain", "ours", "waveform", "rate", "wave");
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(accesses, i, row)
        std::printf("%-30s %10.1f %10.1f %10.1f %8.2f %8.2f\n", json_string_value(json_object_get(row, "access")),
                    real(row, "plain_ns"), real(row, "ours_ns"), real(row, "waveform_ns"),
                    real(row, "ours_over_plain_rate"), real(row, "waveform_over_off_time"));
    json_array_foreach(sharing, i, row)
        std::printf("%1.0f initiators of a controller, look-ahead %4.0f ns %8.1f ns an access\n",
                    real(row, "initiators"), real(row, "look_ahead_ns"), real(row, "ns_per_access"));
    json_array_foreach(transfers, i, row) std::printf(
        "%4.0f PEs, %-6s slice %8.1f ns a chunk, %5.2f of 8 PEs\n", real(row, "pes"),
        json_string_value(json_object_get(row, "slice")), real(row, "ns_per_chunk"), real(row, "over_8_pes"));
    std::printf("a run: %.0f ms, with a waveform %.0f ms, %.2f times\n", real(wave, "off_ms"), real(wave, "on_ms"),
                real(wave, "on_over_off"));
    const double gib = static_cast<double>(GiB);
    std::printf("%.2f TiB modelled, %.2f GiB touched: %.3f GiB of the host at the peak\n",
                real(footprint, "modelled_bytes") / gib / 1024, real(footprint, "touched_bytes") / gib,
                real(footprint, "peak_host_bytes") / gib);
}

} // namespace

int sc_main(int argc, char **argv) {
    options o;
    read_options(argc, argv, "What the modules cost on the host.",
                 {{{"ops", 'n', "N", 0, "accesses a round (default 200000)", 0}, &o.operations},
                  {{"rounds", 'r', "N", 0, "rounds, of which the median counts (default 9)", 0}, &o.rounds},
                  {{"touch", 't', "MIB", 0, "of the large platform (default 1024)", 0}, &o.touch_mib},
                  {{"elements", 'e', "N", 0, "of each PE in the run (default 1048576)", 0}, &o.elements},
                  {{"pes", 'p', "N", 0, "of the largest platform with transfers (default 1024)", 0}, &o.pes}},
                 &o.json);
    json_t *accesses = apart(o, measure_accesses), *wave = apart(o, measure_waveform),
           *footprint = apart(o, measure_footprint), *transfers = json_array();
    json_t *sharing = json_array();
    for (const double look_ahead_us : {0.0, 1.0})
        for (const unsigned count : {1u, 2u, 8u})
            json_array_append_new(sharing, apart(o, [&](const options &all) {
                                      return measure_sharing(all, count,
                                                             sc_core::sc_time(look_ahead_us, sc_core::SC_US));
                                  }));
    for (std::size_t away : {0u, 1u}) {
        double of_8_pes = 0;
        for (unsigned cubes : {1u, 8u, 32u, 128u}) {
            if (8 * cubes > o.pes) break;
            json_t *row = apart(o, [&](const options &all) { return measure_transfers(all, cubes, away); });
            if (cubes == 1) of_8_pes = real(row, "ns_per_chunk");
            json_object_set_new(row, "over_8_pes", json_real(real(row, "ns_per_chunk") / of_8_pes));
            json_array_append_new(transfers, row);
        }
    }
    print(accesses, sharing, transfers, wave, footprint);
    json_t *root = json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "benchmark", "bench_platform", "operations",
                             static_cast<json_int_t>(o.operations), "accesses", accesses, "sharing", sharing,
                             "transfers", transfers, "waveform", wave, "footprint", footprint);
    return write_figures(root, o.json);
}
