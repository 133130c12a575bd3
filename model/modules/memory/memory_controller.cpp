// Owns the free lists of memories: charges for the decisions of the core, and forwards data.
#include "tlmalloc/modules/memory_controller.hpp"

#include "controller_accesses.hpp"
#include "controller_faults.hpp"
#include "controller_figures.hpp"
#include "controller_moves.hpp"
#include "controller_work.hpp"
#include "tlmalloc/modules/time.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tlmalloc {

static memory_controller::config resolved(memory_controller::config settings) {
    settings.memory.guarded = settings.guard != TLA_GUARD_OFF;
    if (settings.free_list == TLA_LIST_HBM && settings.memory.of[TLA_HBM].bytes > 0)
        settings.memory.of[TLA_HBM].reserved = settings.list_reserve;
    // The slice knows which blocks are live, and its owner asks it.
    if (settings.owner_port != memory_controller::config::no_owner) settings.memory.validate = true;
    return settings;
}

// As tla_engine_maker; `context` is the configuration.
static tla_status ask_maker(void *context, tla_policy placement, std::uint64_t units, tla_engine *engine,
                            tla_error *error) {
    const auto &config = *static_cast<const memory_controller::config *>(context);
    return config.engines(config, placement, units, engine, error);
}

static tla_controller_config core_config(const memory_controller::config &config) {
    tla_controller_config core{};
    core.memory = config.memory;
    core.object_eviction = config.object_eviction;
    core.watermark = config.watermark;
    core.partition = config.partition;
    core.pin_wait_ps = config.pin_wait_ps;
    core.free_list = config.free_list;
    core.list_reserve = config.list_reserve;
    core.node_cache = config.node_cache;
    core.engine_nodes = config.engine_nodes;
    core.owner_port = config.owner_port;
    core.faults = config.faults;
    core.move = config.move;
    core.compaction = config.compaction;
    if (config.engine != TLA_ENGINE_MODEL)
        core.engine_maker = {ask_maker, const_cast<memory_controller::config *>(&config)}; // which is only read
    return core;
}

memory_controller::memory_controller(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "memory_controller"), accesses_(std::make_unique<accesses>(*this)),
      in("in", *accesses_, *accesses_, settings.outstanding),
      control("control", "memory_controller", TLA_TARGET_MEMORY_CONTROLLER, settings.ports, *this,
              settings.queue_depth),
      config_(resolved(settings)) {
    if (config_.engine != TLA_ENGINE_MODEL && !config_.engines)
        refuse_config("engines must be set for an engine other than model");
    const tla_controller_config core = core_config(config_);
    tla_error error{};
    if (tla_controller_check_config(&core, &error)) refuse_config(error.text);
    tla_controller *made = nullptr;
    if (tla_controller_create(&core, &made)) throw std::bad_alloc();
    core_.reset(made);
    control.set_clock(settings.cost.clock_ps);
    control.serve_for(*this);
    accesses_->connect();
    figures_ = std::make_unique<figures>(*this);
    work_ = std::make_unique<work>(*this);
    if (config_.move.mode != TLA_MOVE_OFF) moves_ = std::make_unique<moves>(*this);
    if (config_.fault_page_size > 0) faults_ = std::make_unique<faults>(*this);
}

std::deque<memory_controller::memory_socket> memory_controller::one_of_each_kind() {
    std::deque<memory_socket> sockets;
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT; kind++)
        sockets.emplace_back(tla_memory_kind_part(static_cast<tla_memory_kind>(kind)));
    return sockets;
}

memory_controller::~memory_controller() = default;

std::vector<tla_memory_kind> memory_controller::memory_kinds() const {
    std::vector<tla_memory_kind> result;
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT; kind++)
        if (tla_pe_memory_bytes(&config_.memory, static_cast<tla_memory_kind>(kind)) > 0)
            result.push_back(static_cast<tla_memory_kind>(kind));
    return result;
}

target_socket<1, sc_core::SC_ZERO_OR_MORE_BOUND> *memory_controller::page_faults() {
    return faults_ ? &faults_->in : nullptr;
}

std::uint64_t memory_controller::data_errors() const {
    return accesses_->data_errors();
}

void memory_controller::set_watch(watch who) {
    work_->set_watch(std::move(who));
}

tla_status memory_controller::restore(tla_memory_kind kind, const std::string &snapshot, tla_error *error) {
    return tla_controller_restore(core_.get(), kind, name(), snapshot.data(), snapshot.size(), error);
}

bool memory_controller::is_as_at_the_beginning(tla_memory_kind kind) const {
    return tla_controller_is_as_at_the_beginning(core_.get(), kind);
}

std::uint64_t memory_controller::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    if (faults_ && faults::takes(command)) return faults_->execute(port, command, arrival_ps);
    return work_->execute(port, command, arrival_ps);
}

bool memory_controller::makes_transactions(const tla_command &) const {
    return work_->list_is_in_slice();
}

tla_status memory_controller::set_l1(std::uint64_t l1, std::uint64_t at_ps, tla_error &error) {
    if (this->l1() == 0) return TLA_OUT_OF_RANGE;
    return work_->set_l1(l1, at_ps, error);
}

void memory_controller::start_of_simulation() {
    accesses_->find_memories();
    if (moves_) moves_->lead_on();
    if (faults_) faults_->lead_on();
    for (const tla_memory_kind kind : memory_kinds())
        figures_->show(kind, get_statistics(kind).arena, 0);
}

void memory_controller::begin_reset() {
    control.end_commands();
    accesses_->begin_reset();
    if (moves_) moves_->begin_reset();
    if (faults_) faults_->begin_reset();
}

void memory_controller::make_new() {
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    accesses_->make_new();
    control.make_new();
    work_->make_new(now_ps);
    if (moves_) moves_->make_new();
    if (faults_) faults_->make_new();
    for (const tla_memory_kind kind : memory_kinds())
        figures_->show(kind, get_statistics(kind).arena, now_ps);
}

void memory_controller::end_reset() {
    work_->end_reset(to_ps(sc_core::sc_time_stamp()));
}

} // namespace tlmalloc
