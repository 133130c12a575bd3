// A trace replayed through a memory controller on a simulated clock.
#include "replay/controller_replay.h"

#include "cli/progress.h"
#include "cli/report_words.hpp"
#include "model/modules/platform/runtime_text.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/npu.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tlm_utils/simple_initiator_socket.h>

namespace tlmalloc {

namespace {

// Returns the PE or cube of the memory of a replay.
const char *place_of(tla_memory_kind memory) {
    const tla_memory_scope scope = tla_memory_scope_of(memory);
    return scope == TLA_SCOPE_PE ? " of PE 0" : scope == TLA_SCOPE_CUBE ? " of cube 0" : "";
}

// Writes the commands of a trace to a memory controller. One command runs at a time: the next one is sent when it has
// arrived and the one before is done. A single engine serves in that order anyway, so this changes no time.
class trace_player : public sc_core::sc_module {
  public:
    tlm_utils::simple_initiator_socket<trace_player> out{"out"};   // commands
    tlm_utils::simple_initiator_socket<trace_player> data{"data"}; // bound, as a controller needs; nothing is sent
    tla_status status = TLA_OK;

    // `first` is the address of the memory's first byte.
    trace_player(sc_core::sc_module_name name, const alloc_trace &trace, const memory_controller &controller,
                 tla_memory_kind memory, const memory_limits &limits, tla_paddr first, double speed,
                 replay_result &result, tla_error &error)
        : sc_module(name), trace_(trace), controller_(controller), memory_(memory), limits_(limits),
          first_(first.value), speed_(speed), result_(result), error_(error) {
        TLMALLOC_HAS_PROCESS(trace_player);
        SC_THREAD(play);
        // The order of streams stays: fronts keep free blocks by stream.
        for (std::size_t i = 0; i < trace.allocation_count; i++)
            streams_[trace.allocations[i].stream] = 0;
        std::uint32_t number = 0;
        for (auto &stream : streams_)
            stream.second = number++;
    }

    std::uint64_t lowest() const { return lowest_; } // all allocated ranges lie in [lowest, highest)
    std::uint64_t highest() const { return highest_; }

  private:
    void play() {
        progress_line progress = progress_begin("replay", "events");
        for (std::size_t i = 0; i < trace_.event_count && !status; i++) {
            status = play_event(i);
            if (i % 1024 == 0) progress_update(&progress, i, trace_.event_count);
        }
        progress_end(&progress);
        result_.sim_time_ps = local_ps(delay_);
        wait(delay_);
        sc_core::sc_pause(); // a memory that grows would continue
    }

    tla_status play_event(std::size_t event) {
        const trace_event &e = trace_.events[event];
        if (e.is_free && result_.placements[e.allocation].offset == PLACEMENT_FAILED) return TLA_OK;
        std::uint64_t arrival_ps = 0;
        if (const tla_status failed = replay_arrival_ps(&trace_, event, speed_, &arrival_ps, &error_)) return failed;
        if (local_ps(delay_) < arrival_ps) { // idle until then
            set_local_ps(delay_, arrival_ps);
            wait(delay_);
            delay_ = sc_core::SC_ZERO_TIME;
        }
        return e.is_free ? free(e.allocation, arrival_ps) : alloc(e.allocation, arrival_ps);
    }

    tla_status alloc(std::size_t index, std::uint64_t arrival_ps) {
        tla_command command{};
        command.opcode = TLA_OP_ALLOC;
        command.memory = memory_;
        command.nbytes = trace_.allocations[index].nbytes;
        command.stream = streams_.at(trace_.allocations[index].stream);
        command.format = static_cast<tla_memory_format>(trace_.allocations[index].format);
        tla_completion done{};
        const tla_status answer = send(command, done);
        result_.latencies[index] = local_ps(delay_) - arrival_ps;
        if (answer == TLA_OK) {
            const tla_block granted{done.value - first_, used() - used_};
            used_ = used();
            replay_result_alloc(&result_, &trace_, index, granted, done.nodes_visited);
            lowest_ = std::min(lowest_, granted.offset);
            highest_ = std::max(highest_, granted.offset + granted.nbytes);
            return TLA_OK;
        }
        if (!is_shortage(done)) return refused(index, "allocation", answer);
        if (tla_error *why = replay_result_failure(&result_, index, done.nodes_visited)) explain(command, done, *why);
        return TLA_OK;
    }

    tla_status free(std::size_t index, std::uint64_t arrival_ps) {
        tla_command command{};
        command.opcode = TLA_OP_FREE;
        command.pa.value = first_ + result_.placements[index].offset;
        command.nbytes = trace_.allocations[index].nbytes;
        tla_completion done{};
        if (const tla_status answer = send(command, done)) return refused(index, "free of allocation", answer);
        used_ = used();
        result_.free_latencies[result_.frees] = local_ps(delay_) - arrival_ps;
        replay_result_free(&result_, &trace_, index);
        return TLA_OK;
    }

    // The memory's bytes in live blocks; free bytes would be too few where the memory grows.
    std::uint64_t used() const { return controller_.get_statistics(memory_).arena.used; }

    tla_status send(tla_command &command, tla_completion &done) {
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.correlation_id = command.request_id = command.object = ++tag_;
        return send_command(out, 0, command, done, delay_);
    }

    tla_status refused(std::size_t index, const char *what, tla_status answer) {
        return tla_error_set(&error_, answer, "controller: %s %zu of the trace: %s", what, index + 1,
                             tla_status_text(answer));
    }

    void explain(const tla_command &command, const tla_completion &done, tla_error &why) const {
        const std::string what = std::string(tla_memory_kind_title(memory_)) + place_of(memory_);
        tla_error_set(&why, done.status, "%s", shortage(what, done, command.nbytes, 0, limits_).c_str());
        why.requested = command.nbytes;
        why.total_free = done.total_free;
        why.largest_free = done.largest_free;
    }

    const alloc_trace &trace_;
    const memory_controller &controller_;
    const tla_memory_kind memory_;
    const memory_limits limits_;
    const std::uint64_t first_;
    const double speed_;
    replay_result &result_;
    tla_error &error_;
    std::uint64_t used_ = used(); // after the last command
    sc_core::sc_time delay_;
    std::uint64_t lowest_ = UINT64_MAX, highest_ = 0;
    std::uint32_t tag_ = 0;
    std::map<std::uint64_t, std::uint32_t> streams_; // of the recording, as commands number them
};

memory_controller::config settings_of(const tla_config &config, tla_memory_kind memory) {
    switch (tla_memory_scope_of(memory)) {
    case TLA_SCOPE_PE:
        return controller_config(config, {0, 0, 0});
    case TLA_SCOPE_CUBE:
        return cube_controller_config(config, 0, 0, memory);
    default:
        return host_controller_config(config);
    }
}

// Those behind a controller.
struct memories {
    std::unique_ptr<hbm_slice> kinds; // of PE 0, or of the host
    std::unique_ptr<tcm> local;       // of PE 0, or of its cube

    memories(const tla_config &config, tla_memory_kind memory, memory_controller &controller) {
        switch (tla_memory_scope_of(memory)) {
        case TLA_SCOPE_PE:
            kinds = std::make_unique<hbm_slice>("slice", slice_config(config, {0, 0, 0}));
            local = std::make_unique<tcm>("tcm", tcm_config(config));
            controller.slice.bind(kinds->in);
            controller.tcm.bind(local->in);
            return;
        case TLA_SCOPE_CUBE:
            local = std::make_unique<tcm>("memory", cube_memory_config(config, memory));
            (memory == TLA_SRAM ? controller.sram : controller.m_cpu_memory).bind(local->in);
            return;
        default:
            kinds = std::make_unique<hbm_slice>("memory", host_memory_config(config));
            controller.host_memory.bind(kinds->in);
        }
    }

    instrumented &shown(tla_memory_kind memory) const {
        if (memory == TLA_HBM || memory == TLA_HOST_MEMORY) return *kinds;
        return *local;
    }
};

// Builds the controller of a memory with its parts, and runs the player to its end.
tla_status simulate(const alloc_trace &trace, const tla_config &config, const std::string *snapshot,
                    tla_memory_kind memory, double speed, std::FILE *vcd, replay_result &result, tla_error &error) {
    if (memory == TLA_HBM && config.controller.lockstep != TLA_LOCKSTEP_OFF)
        return tla_error_set(
            &error, TLA_UNSUPPORTED,
            "controller.lockstep is %s: set it to off, because a replay has one slice, which must place its own blocks",
            tla_lockstep_scope_name(config.controller.lockstep));
    memory_controller::config settings = settings_of(config, memory);
    if (memory == TLA_TCM) settings.owner_port = memory_controller::config::no_owner; // of the slice
    tla_paddr first{};
    if (tla_pe_memory_address(&settings.memory, memory, 0, &first))
        return tla_error_set(
            &error, TLA_INVALID_ARGUMENT, "--memory %s: the configuration has no such memory (%s is 0 B)",
            tla_memory_kind_name(memory), memory == TLA_HOST_MEMORY ? "host_memory.capacity" : "its capacity");
    const trace_allocation *const begin_of = trace.allocations, *const end_of = begin_of + trace.allocation_count;
    const trace_allocation *const placed =
        std::find_if(begin_of, end_of, [](const trace_allocation &a) { return a.is_placed; });
    if (placed != end_of)
        return tla_error_set(&error, TLA_UNSUPPORTED,
                             "allocation %zu of the trace was placed by compaction, for which no command asks: replay "
                             "the trace on the core, with --capacity instead of --config",
                             static_cast<std::size_t>(placed - begin_of) + 1);
    memory_controller controller("controller", settings);
    const memories behind(config, memory, controller);
    if (snapshot)
        if (const tla_status status = controller.restore(memory, *snapshot, &error)) return status;
    const memory_limits limits =
        limits_of(memory, config.host.segment_fronts >> memory & 1, config.host.parts >> memory & 1);
    trace_player player("player", trace, controller, memory, limits, first, speed, result, error);
    player.out.bind(controller.control);
    player.data.bind(controller.in);
    std::unique_ptr<waveform> wave;
    if (vcd) {
        wave = std::make_unique<waveform>(vcd);
        controller.record(*wave);
        behind.shown(memory).record(*wave);
    }
    const double begin = host_seconds();
    sc_core::sc_start();
    result.wall_s = host_seconds() - begin;
    if (wave) wave->close();
    const tla_stack_config stack = tla_pe_memory_stack_config(&settings.memory, memory);
    const tla_front front = tla_stack_front(stack.policy);
    if (tla_front_has_own_lists(front) &&
        front != TLA_FRONT_SLOT_POOL) // keep nothing; their tops move, or lie below other regions
        result.reserved_bytes = player.highest() ? player.highest() - player.lowest() : 0;
    else if (front != TLA_FRONT_NONE)
        result.reserved_bytes = controller.get_statistics(memory).peak_reserved;
    else if (player.highest() != 0)
        result.reserved_bytes = stack.policy == TLA_FIRST_FIT_TOP ? stack.capacity - player.lowest() : player.highest();
    return player.status;
}

} // namespace

} // namespace tlmalloc

tla_status controller_replay(const alloc_trace *trace, const tla_config *config, const char *snapshot,
                             size_t snapshot_length, tla_memory_kind memory, double speed, FILE *vcd,
                             replay_result *result, tla_error *error) {
    tla_status status = replay_result_create(trace, true, result, error);
    if (status) return status;
    const std::string text(snapshot ? snapshot : "", snapshot_length);
    try {
        status = tlmalloc::simulate(*trace, *config, snapshot ? &text : nullptr, memory, speed, vcd, *result, *error);
    } catch (const sc_core::sc_report &report) { // a platform that cannot be built
        status = tla_error_set(error, tlmalloc::status_of(report), "%s", tlmalloc::words_of(report).c_str());
    } catch (const std::bad_alloc &) { // the caller is C
        status = tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the platform");
    }
    if (status)
        replay_result_clear(result);
    else
        replay_result_finish(result);
    return status;
}

const char *controller_replay_memory(tla_memory_kind memory) {
    static const char *const texts[TLA_MEMORY_KIND_COUNT] = {"PE 0, HBM slice", "PE 0, TCM", "cube 0, SRAM",
                                                             "cube 0, M_CPU memory", "host memory"};
    return texts[memory];
}
