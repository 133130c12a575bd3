// Runs kernels in a thread, and charges for their calls.
#include "tlmalloc/modules/processing_element.hpp"

#include "kernel/element.h"
#include "kernel/tile_math.h"
#include "kernel/tile_vector.h"
#include "kernel_operation.hpp"
#include "kernel_program.hpp"
#include "stage_units.hpp"
#include "tile_shape.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/pe_ipcq.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

namespace tlmalloc {

processing_element::processing_element(sc_core::sc_module_name name, const config &settings, pe_dma &dma)
    : instrumented(name, "processing_element"),
      control("control", "processing_element", TLA_TARGET_PROCESSING_ELEMENT, settings.ports, *this), config_(settings),
      requester_(settings.asid, settings.initiator) {
    requester_.waits = true;
    queues_[0] = std::make_unique<transfer_queue>(dma, settings.quantum_ps, dma_read_);
    queues_[1] = std::make_unique<transfer_queue>(dma, settings.quantum_ps, dma_write_);
    if (settings.gemm_rate == 0 || settings.vector_rate == 0)
        refuse_config("gemm_rate and vector_rate must be above 0");
    if (settings.scratch > TLA_SUB_UNIT_BYTES) refuse_config("scratch must be at most the size of a TCM");
    control.serve_for(*this);
    TLMALLOC_HAS_PROCESS(processing_element);
    SC_THREAD(main);
    SC_METHOD(end_wait);
    sensitive << time_over_;
    dont_initialize();
    time_queue::of_simulation().watch(this, [this] { watch_host(); });
}

void processing_element::begin_reset() {
    control.end_commands();
    if (messages_) messages_->reset();
    if (running_) launched_.notify(sc_core::SC_ZERO_TIME); // one that has not begun need not wait for its time
}

void processing_element::make_new() {
    control.make_new();
    accelerator_ = {};
    run_ = run{};
    run_.status = TLA_RESET;
    next_handle_ = next_request_ = 1;
}

processing_element::~processing_element() {
    time_queue::forget_watcher(this);
}

// --- launching -------------------------------------------------------------------------------------------------------

std::uint64_t processing_element::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    tla_status refusal = TLA_OK;
    if (!tla_opcode_names_pes(command.opcode))
        refusal = TLA_BAD_COMMAND;
    else if (command.opcode == TLA_OP_LAUNCH && command.kernel >= config_.kernel_count)
        refusal = TLA_NOT_FOUND;
    else if (running_ || arrival_ps < run_.end_ps)
        refusal = TLA_BUSY; // the kernel may have run ahead of time
    if (refusal) {
        control.complete(port, control_window::answer_to(command, refusal), arrival_ps);
        return arrival_ps;
    }
    running_ = true;
    port_ = port;
    launch_ = command;
    if (messages_ && command.opcode == TLA_OP_LAUNCH)
        messages_->begin_kernel(command.correlation_id, command.program, command.programs, arrival_ps);
    const std::uint64_t ready_ps = arrival_ps + config_.launch_ps, target_ps = command.target_start_ps;
    launch_ps_ = std::max(ready_ps, target_ps);
    late_ps_ = target_ps ? launch_ps_ - target_ps : 0;
    statistics_.launches++;
    statistics_.late_starts += late_ps_ > 0;
    statistics_.late_ps += late_ps_;
    launched_.notify(from_ps(launch_ps_) - sc_core::sc_time_stamp());
    return arrival_ps;
}

// A notification of a reset may arrive when its launch has begun, or even ended: it is then ignored.
void processing_element::wait_for_launch() {
    do
        sc_core::wait(launched_);
    while (!running_);
    for (std::uint64_t now = 0; (now = to_ps(sc_core::sc_time_stamp())) < launch_ps_ && !in_reset();)
        sc_core::wait(from_ps(launch_ps_ - now), launched_);
}

void processing_element::main() {
    for (;;) {
        wait_for_launch();
        delay_ = sc_core::SC_ZERO_TIME;
        run_ = run{};
        run_.start_ps = launch_ps_;
        tla_time_account_begin(account_.get(), run_.start_ps);
        parts_.clear();
        run_.late_ps = late_ps_;
        kernel_running_.set(run_.start_ps, 1);
        const bool kernel = launch_.opcode == TLA_OP_LAUNCH;
        if (in_reset())
            run_.status = kernel ? end_messages(TLA_RESET) : TLA_RESET; // before it has begun
        else
            run_.status = kernel ? end_messages(run_kernel()) : move_by_address();
        if (run_.problem.status != run_.status) run_.problem = of_free_;
        if (run_.problem.status != run_.status) run_.problem = tla_error{};
        run_.end_ps = local_ps(delay_);
        tla_time_account_pass(account_.get(), run_.end_ps,
                              TLA_TIME_MESSAGE); // until nothing of the kernel is in flight
        kernel_running_.set(run_.end_ps, 0);
        running_ = false;
        may_be_idle();
        tla_completion completion = control_window::answer_to(launch_, run_.status);
        if (run_.status == run_.refused.status) { // the kernel has ended for want of memory: how much, of how much
            completion.nbytes = run_.refused.nbytes;
            completion.total_free = run_.refused.total_free;
            completion.largest_free = run_.refused.largest_free;
        }
        if (!kernel && !run_.status) completion.nbytes = launch_.nbytes;
        completion.value = run_.start_ps;
        completion.service_ps = run_.end_ps - run_.start_ps;
        control.complete(port_, completion, run_.end_ps);
    }
}

tla_status processing_element::run_kernel() {
    if (!stack_) stack_ = std::make_unique<kernel_stack>(config_.stack);
    if (!stack_->is_there()) return problem(TLA_NO_HOST_MEMORY, "no host memory for the kernel's stack");
    held_.clear();
    owed_.clear();
    pinned_.clear();
    freed_.clear();
    of_free_ = tla_error{};
    call_ = "";
    scratch_ = tl_tile{};
    scratch_used_ = 0;
    kernel_program program(*this, *stack_);
    host_time_over_ = false;
    in_kernel_ = true;
    if (config_.time_limit_ps) time_over_.notify(from_ps(config_.time_limit_ps + 1));
    const tla_status status = program.run(config_.kernels[launch_.kernel], config_.host_limit_ps);
    tla_status result = status;
    if (program.was_ended()) {
        drop_operations();
        owe_held();
    } else {
        const tla_status finished = finish_operations(status), scratch = free_scratch();
        result = finished ? finished : scratch;
    }
    if (const tla_status owed = free_owed(); !result) result = owed;
    in_kernel_ = false;
    time_over_.cancel();
    return result;
}

tla_status processing_element::problem(tla_status status, const char *format, ...) {
    char text[sizeof run_.problem.text];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    problems_++;
    return tla_error_set(&run_.problem, status, "%s", text);
}

tla_status processing_element::fail(tla_status status, const char *why) {
    return problem(status, "%s", why);
}

tla_status processing_element::move_by_address() {
    pe_dma::request request{};
    request.way = launch_.write ? pe_dma::direction::write : pe_dma::direction::read;
    request.va.value = launch_.pa.value;
    request.rows = 1;
    request.row_bytes = request.pitch = launch_.nbytes;
    request.has_tile = false;
    request.pattern = launch_.pattern;
    request.physical = true;
    if (!launch_.nbytes) return TLA_OK;
    const std::uint64_t since = local_ps(delay_);
    waits_for_dma_.set(since, 1);
    const tla_status status = queue(request.way).move({request}, delay_, went());
    waits_for_dma_.set(local_ps(delay_), 0);
    end(run_.dma_ps, since, TLA_TIME_ENGINE_QUEUE);
    return status;
}

// --- accounts --------------------------------------------------------------------------------------------------------

void processing_element::keep_account() {
    tla_time_account *made = nullptr;
    tla_time_account_create(&made);
    if (messages_) messages_->charge(made);
    account_.reset(made);
}

// Notes a time of the current call; empty times are ignored.
void processing_element::note(tla_time_kind kind, std::uint64_t begin_ps, std::uint64_t end_ps) {
    if (account_ && begin_ps < end_ps) parts_.push_back({{kind, TLA_TIME_NOWHERE, TLA_TIME_NOWHERE}, begin_ps, end_ps});
}

// --- calls -----------------------------------------------------------------------------------------------------------

void processing_element::begin() {
    tla_time_account_pass(account_.get(), local_ps(delay_), TLA_TIME_OTHER);
    delay_ += from_ps(config_.dispatch_ps);
    tla_time_account_pass(account_.get(), local_ps(delay_), TLA_TIME_DISPATCH);
}

// Ends a call: adds its time to one of the run's sums, and in the account the time without a note to `rest`; the kernel
// waits if it is too far ahead.
void processing_element::end(std::uint64_t &sum, std::uint64_t since_ps, tla_time_kind rest) {
    sum += local_ps(delay_) - since_ps;
    tla_time_account_pass_parts(account_.get(), local_ps(delay_), parts_.data(), parts_.size(), rest);
    parts_.clear();
    if (to_ps(delay_) <= config_.quantum_ps) return;
    sc_core::wait(delay_);
    delay_ = sc_core::SC_ZERO_TIME;
}

// --- allocation ------------------------------------------------------------------------------------------------------

tla_status processing_element::command(tla_command &descriptor, tla_completion &completion) {
    descriptor.target = TLA_TARGET_MEMORY_CONTROLLER;
    descriptor.correlation_id = launch_.correlation_id;
    descriptor.request_id = next_request_++;
    begin();
    const std::uint64_t since = local_ps(delay_);
    waits_for_allocator_.set(since, 1);
    const tla_status status = send_command(allocator, config_.allocator_port * std::uint64_t{TLA_PORT_BYTES},
                                           descriptor, completion, delay_, config_.retry, run_.retries, &requester_);
    catch_up_with(delay_);
    waits_for_allocator_.set(local_ps(delay_), 0);
    const std::uint64_t now = local_ps(delay_), served = std::min(completion.service_ps, now - since);
    note(TLA_TIME_ALLOC, now - served, now);
    end(run_.alloc_ps, since, TLA_TIME_ALLOC_QUEUE);
    return status;
}

// --- arithmetic: operands are fetched from the TCM, the engine computes, the result is written back ------------------

// Rows that touch are one access, others one each.
tla_status processing_element::access_rows(tlm::tlm_command command, const tl_tile &tile,
                                           std::vector<std::uint8_t> &bytes, sc_core::sc_time &delay) {
    if (const tla_status status = check_tile(tile)) return status;
    const std::uint32_t parts = rows_touch(tile) ? 1 : tile.rows;
    const std::size_t nbytes = bytes.size() / std::max(parts, 1u);
    for (std::uint32_t i = 0; i < parts; i++) {
        const std::uint64_t offset = std::uint64_t{i} * tile.pitch * tl_dtype_bytes(tile.dtype);
        const bool ok = access(local, command, tile.pa.value + offset, bytes.data() + i * nbytes,
                               static_cast<std::uint32_t>(nbytes), delay, &requester_);
        catch_up_with(delay);
        if (!ok) return refuse_tile(TLA_BUS_ERROR, tile);
    }
    return TLA_OK;
}

tla_status processing_element::fetch(const tl_tile &tile, std::vector<std::uint8_t> &bytes, sc_core::sc_time &delay) {
    bytes.resize(bytes_of(tile));
    const std::uint64_t since_ps = local_ps(delay);
    fetch_.begin(since_ps);
    const tla_status status = access_rows(tlm::TLM_READ_COMMAND, tile, bytes, delay);
    fetch_.end(since_ps, local_ps(delay));
    return status;
}

tla_status processing_element::write_back(const tl_tile &tile, std::vector<std::uint8_t> &bytes,
                                          sc_core::sc_time &delay) {
    const std::uint64_t since_ps = local_ps(delay);
    store_.begin(since_ps);
    const tla_status status = access_rows(tlm::TLM_WRITE_COMMAND, tile, bytes, delay);
    store_.end(since_ps, local_ps(delay));
    return status;
}

// The same in the kernel's own time.
tla_status processing_element::fetch(const tl_tile &tile, std::vector<std::uint8_t> &bytes) {
    if (const tla_status status = check_use(tile, false)) return status;
    const std::uint64_t since_ps = local_ps(delay_);
    const tla_status status = fetch(tile, bytes, delay_);
    note(TLA_TIME_TILE, since_ps, local_ps(delay_));
    return status;
}

tla_status processing_element::write_back(const tl_tile &tile, std::vector<std::uint8_t> &bytes) {
    if (const tla_status status = check_use(tile, true)) return status;
    const std::uint64_t since_ps = local_ps(delay_);
    const tla_status status = write_back(tile, bytes, delay_);
    note(TLA_TIME_TILE, since_ps, local_ps(delay_));
    return status;
}

void processing_element::engine(array which, std::uint64_t operations) {
    const std::uint64_t begin_ps = engine(which, asks::by_kernel, operations, delay_);
    note(TLA_TIME_ARITHMETIC, begin_ps, local_ps(delay_));
}

// One call of an engine: `body` fetches, computes and writes back, and adds its time to delay_.
template <typename Body>
tla_status processing_element::compute(Body body) {
    begin();
    const std::uint64_t since = local_ps(delay_);
    computing_.set(since, 1);
    const tla_status status = body();
    computing_.set(local_ps(delay_), 0);
    end(run_.compute_ps, since, TLA_TIME_ENGINE_QUEUE);
    return status;
}

// The accelerator works, as soon as it does nothing else: from when on is returned. Stages of composites may need it at
// the same time as the kernel.
std::uint64_t processing_element::engine(array which, asks who, std::uint64_t operations, sc_core::sc_time &delay) {
    const bool gemm = which == array::gemm;
    std::uint64_t takes_ps = tla_transfer_ps(operations, gemm ? config_.gemm_rate : config_.vector_rate);
    if (const std::uint64_t cycle_ps = config_.vector_cycle_ps; !gemm && cycle_ps > 0)
        takes_ps = (takes_ps / cycle_ps + (takes_ps % cycle_ps != 0)) * cycle_ps;
    std::optional<arrival_gate::passage> order;
    if (stage_units_ && stage_units_->has_composites()) {
        catch_up_with(delay);
        order.emplace(accelerator_gate_, who);
    }
    const std::uint64_t begin_ps = tla_timeline_serve(&accelerator_, local_ps(delay), takes_ps);
    unit_load &load = gemm ? gemm_ : math_;
    load.begin(begin_ps);
    load.end(begin_ps, begin_ps + takes_ps);
    set_local_ps(delay, begin_ps + takes_ps);
    return begin_ps;
}

tla_status processing_element::dot(const tl_tile &sum, const tl_tile &a, const tl_tile &b) {
    const auto is_factor = [](tl_dtype type) { return type == TL_F16 || type == TL_BF16 || type == TL_F32; };
    if (sum.dtype != TL_F32 || !is_factor(a.dtype) || !is_factor(b.dtype))
        return problem(
            TLA_INVALID_ARGUMENT,
            "tl_dot: a sum of %s, a of %s and b of %s: must be a sum of f32, and a and b of f16, bf16 or f32",
            tla_type_name(sum.dtype), tla_type_name(a.dtype), tla_type_name(b.dtype));
    if (a.columns != b.rows || sum.rows != a.rows || sum.columns != b.columns)
        return problem(TLA_INVALID_ARGUMENT, "tl_dot: a sum of %s, a of %s and b of %s: must be m x n, m x k and k x n",
                       shape(sum).c_str(), shape(a).c_str(), shape(b).c_str());
    return compute([&] {
        std::vector<std::uint8_t> sums, as, bs;
        tla_status status = fetch(a, as);
        if (!status) status = fetch(b, bs);
        if (!status) status = fetch(sum, sums);
        if (status) return status;
        tla_tile_dot(sums.data(), as.data(), a.dtype, bs.data(), b.dtype, a.rows, a.columns, b.columns);
        engine(array::gemm, 2 * elements(a) * b.columns);
        return write_back(sum, sums);
    });
}

// An operation of the vector engine: mismatches are reported before anything takes time.
template <typename Check, typename Body>
tla_status processing_element::compute_matrix(const tl_tile &out, const tl_tile *operands, std::size_t count,
                                              Check check, Body body, std::uint64_t operations) {
    tla_matrix result{nullptr, out.dtype, out.rows, out.columns};
    std::vector<tla_matrix> from;
    for (std::size_t i = 0; i < count; i++)
        from.push_back({nullptr, operands[i].dtype, operands[i].rows, operands[i].columns});
    tla_error why{};
    if (const tla_status status = check(result, from.data(), &why)) return problem(status, "%s", why.text);
    return compute([&] {
        std::vector<std::uint8_t> outs(bytes_of(out));
        std::vector<std::vector<std::uint8_t>> bytes(count);
        for (std::size_t i = 0; i < count; i++) {
            if (const tla_status status = fetch(operands[i], bytes[i])) return status;
            from[i].bytes = bytes[i].data();
        }
        result.bytes = outs.data();
        body(result, from.data());
        engine(array::vector, operations);
        return write_back(out, outs);
    });
}

tla_status processing_element::map(const tla_operation &what, const tl_tile &out, const tl_tile *operands) {
    return compute_matrix(
        out, operands, what.operands,
        [&](const tla_matrix &o, const tla_matrix *from, tla_error *why) {
            return tla_matrix_check(&what, &o, from, why);
        },
        [&](const tla_matrix &o, const tla_matrix *from) { tla_matrix_map(&what, &o, from); }, elements(out));
}

tla_status processing_element::reduce(tl_reduction what, std::uint32_t axis, const tl_tile &out, const tl_tile &a) {
    return compute_matrix(
        out, &a, 1,
        [&](const tla_matrix &o, const tla_matrix *from, tla_error *why) {
            return tla_matrix_reduce_check(what, axis, &o, from, why);
        },
        [&](const tla_matrix &o, const tla_matrix *from) { tla_matrix_reduce(what, axis, &o, from); }, elements(a));
}

tla_status processing_element::softmax(const tl_tile &out, const tl_tile &a) {
    const std::uint64_t for_each = 5; // the largest, a difference, exp, the sum, a quotient
    return compute_matrix(
        out, &a, 1,
        [](const tla_matrix &o, const tla_matrix *from, tla_error *why) {
            return tla_matrix_softmax_check(&o, from, why);
        },
        [](const tla_matrix &o, const tla_matrix *from) { tla_matrix_softmax(&o, from); }, for_each * elements(a));
}

tla_status processing_element::fill(const tl_tile &tile, float value) {
    if (const tla_status status = check_tile(tile)) return status;
    return compute([&] {
        std::vector<std::uint8_t> bytes(bytes_of(tile));
        tla_tile_fill(bytes.data(), tile.dtype, value, elements(tile));
        engine(array::vector, elements(tile));
        return write_back(tile, bytes);
    });
}

tla_status processing_element::convert(const tl_tile &out, const tl_tile &a) {
    if (!same_shape(out, a))
        return problem(TLA_INVALID_ARGUMENT, "tl_convert: %s from %s: must be the same shape", shape(out).c_str(),
                       shape(a).c_str());
    for (const tl_tile *tile : {&out, &a})
        if (const tla_status status = check_tile(*tile, tile == &out ? "out" : "a")) return status;
    return compute([&] {
        std::vector<std::uint8_t> outs(bytes_of(out)), as;
        if (const tla_status status = fetch(a, as)) return status;
        tla_tile_convert(outs.data(), out.dtype, as.data(), a.dtype, elements(out));
        engine(array::vector, elements(out));
        return write_back(out, outs);
    });
}

tla_status processing_element::transpose(const tl_tile &out, const tl_tile &a) {
    for (const tl_tile *tile : {&out, &a})
        if (const tla_status status = check_tile(*tile, tile == &out ? "out" : "a")) return status;
    if (out.rows != a.columns || out.columns != a.rows || out.dtype != a.dtype)
        return problem(TLA_INVALID_ARGUMENT,
                       "tl_transpose: %s of %s from %s of %s: must have rows and columns exchanged, and the same type",
                       shape(out).c_str(), tla_type_name(out.dtype), shape(a).c_str(), tla_type_name(a.dtype));
    return compute([&] {
        std::vector<std::uint8_t> outs(bytes_of(out)), as;
        if (const tla_status status = fetch(a, as)) return status;
        tla_tile_transpose(outs.data(), as.data(), tl_dtype_bytes(a.dtype), a.rows, a.columns);
        engine(array::vector, elements(out));
        return write_back(out, outs);
    });
}

// --- statistics
// --------------------------------------------------------------------------------------------------------

std::vector<statistics_group> processing_element::list_statistics() const {
    return {{{{"launches", statistics_.launches, "kernels", "begun"},
              {"late_starts", statistics_.late_starts, "kernels", "launches after their target start"},
              {"late_ps", statistics_.late_ps, "ps", "total delay of late launches"},
              {"composites", statistics_.composites, "composites", "completed"},
              {"tiles", statistics_.tiles, "steps", "of composites"},
              {"scheduler_ps", scheduler_.busy_ps(), "ps", "in which the scheduler fed tiles"},
              {"dma_read_ps", dma_read_.busy_ps(), "ps", "in which the DMA engine that reads had a transfer"},
              {"dma_write_ps", dma_write_.busy_ps(), "ps", "in which the DMA engine that writes had a transfer"},
              {"fetch_ps", fetch_.busy_ps(), "ps", "of reads of tiles from the TCM, including waits for the port"},
              {"gemm_ps", gemm_.busy_ps(), "ps", "in which the GEMM engine was busy"},
              {"math_ps", math_.busy_ps(), "ps", "in which the vector engine was busy"},
              {"store_ps", store_.busy_ps(), "ps", "of writes of tiles to the TCM, including waits for the port"}}}};
}

} // namespace tlmalloc
