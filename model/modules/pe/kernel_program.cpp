// The table of calls of kernel.h on a processing_element, and the texts about a kernel that was ended.
#include "kernel_program.hpp"

#include "kernel/tile_vector.h"
#include "tlmalloc/modules/time.hpp"

#include <cinttypes>
#include <cstring>

namespace tlmalloc {

namespace {

const tla_command &launch_of(const tl_context *tl) {
    return static_cast<const kernel_program *>(tl)->element().launched();
}

const processing_element::place &place_of(const tl_context *tl, std::uint32_t axis) {
    return static_cast<const kernel_program *>(tl)->element().where(axis);
}

std::uint32_t program_id(const tl_context *tl, std::uint32_t axis) {
    return axis < TL_ALL ? place_of(tl, axis).index : launch_of(tl).program;
}

std::uint32_t num_programs(const tl_context *tl, std::uint32_t axis) {
    return axis < TL_ALL ? place_of(tl, axis).count : launch_of(tl).programs;
}

std::uint64_t argument(const tl_context *tl, std::uint32_t index) {
    const tla_command &launch = launch_of(tl);
    return index < launch.count ? launch.arguments[index] : 0;
}

tla_status fail(tl_context *tl, tla_status status, const char *why) {
    kernel_program &program = kernel_program::in_call(tl, "tl_fail");
    char text[sizeof(tla_error::text)] = "";
    std::strncpy(text, why, sizeof text - 1);
    return program.back(program.outside([&](processing_element &pe) { return pe.fail(status, text); }));
}

tla_status alloc(tl_context *tl, std::uint32_t rows, std::uint32_t columns, tl_dtype dtype, tl_tile *tile) {
    kernel_program &program = kernel_program::in_call(tl, "tl_alloc");
    tl_tile made{};
    const tla_status status =
        program.outside([&](processing_element &pe) { return pe.allocate(rows, columns, dtype, made); });
    *tile = made;
    return program.back(status);
}

tla_status release(tl_context *tl, const tl_tile *tile) {
    kernel_program &program = kernel_program::in_call(tl, "tl_free");
    const tl_tile what = *tile;
    return program.back(program.outside([&](processing_element &pe) { return pe.release(what); }));
}

tla_status load(tl_context *tl, const tl_tile *tile, tla_vaddr source, std::uint64_t pitch) {
    kernel_program &program = kernel_program::in_call(tl, "tl_load");
    const tl_tile what = *tile;
    return program.back(program.outside([&](processing_element &pe) { return pe.load(what, source, pitch); }));
}

tla_status store(tl_context *tl, tla_vaddr destination, std::uint64_t pitch, const tl_tile *tile) {
    kernel_program &program = kernel_program::in_call(tl, "tl_store");
    const tl_tile what = *tile;
    return program.back(program.outside([&](processing_element &pe) { return pe.store(destination, pitch, what); }));
}

tla_status dot(tl_context *tl, const tl_tile *sum, const tl_tile *a, const tl_tile *b) {
    kernel_program &program = kernel_program::in_call(tl, "tl_dot");
    const tl_tile sums = *sum, left = *a, right = *b;
    return program.back(program.outside([&](processing_element &pe) { return pe.dot(sums, left, right); }));
}

tla_status fill(tl_context *tl, const tl_tile *tile, float value) {
    kernel_program &program = kernel_program::in_call(tl, "tl_fill");
    const tl_tile what = *tile;
    return program.back(program.outside([&](processing_element &pe) { return pe.fill(what, value); }));
}

tla_status convert(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    kernel_program &program = kernel_program::in_call(tl, "tl_convert");
    const tl_tile outs = *out, from = *a;
    return program.back(program.outside([&](processing_element &pe) { return pe.convert(outs, from); }));
}

const char *const names[][TL_BINARY_COUNT] = {
    {"tl_abs", "tl_neg", "tl_exp", "tl_log", "tl_sqrt", "tl_rsqrt", "tl_sigmoid"},
    {"tl_add", "tl_sub", "tl_mul", "tl_div", "tl_maximum", "tl_minimum", "tl_eq", "tl_ne", "tl_lt", "tl_le", "tl_gt",
     "tl_ge"},
    {"tl_fma", "tl_clamp", "tl_where"}};
const unsigned counts[] = {TL_UNARY_COUNT, TL_BINARY_COUNT, TL_TERNARY_COUNT};

// An operation element by element with one to three operands.
template <typename... Tiles>
tla_status map(tl_context *tl, unsigned number, const tl_tile *out, const Tiles *...operands) {
    const std::uint32_t count = sizeof...(operands);
    const bool known = number < counts[count - 1];
    const char *const name = known ? names[count - 1][number] : "an operation of the vector engine";
    kernel_program &program = kernel_program::in_call(tl, name);
    const tl_tile outs = *out, from[] = {*operands...};
    const tla_operation what{name, count, number};
    return program.back(program.outside([&](processing_element &pe) {
        if (known) return pe.map(what, outs, from);
        const std::string why = "operation " + std::to_string(number) + " of " + std::to_string(count) +
                                " operands is not supported by the vector engine";
        return pe.fail(TLA_UNSUPPORTED, why.c_str());
    }));
}

tla_status unary(tl_context *tl, tl_unary what, const tl_tile *out, const tl_tile *a) {
    return map(tl, what, out, a);
}

tla_status binary(tl_context *tl, tl_binary what, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return map(tl, what, out, a, b);
}

tla_status ternary(tl_context *tl, tl_ternary what, const tl_tile *out, const tl_tile *a, const tl_tile *b,
                   const tl_tile *c) {
    return map(tl, what, out, a, b, c);
}

tla_status reduce(tl_context *tl, tl_reduction what, std::uint32_t axis, const tl_tile *out, const tl_tile *a) {
    static const char *const reductions[TL_REDUCTION_COUNT] = {"tl_sum", "tl_max", "tl_min"};
    const bool known = static_cast<unsigned>(what) < TL_REDUCTION_COUNT;
    kernel_program &program = kernel_program::in_call(tl, known ? reductions[what] : "a reduction");
    const tl_tile outs = *out, from = *a;
    return program.back(program.outside([&](processing_element &pe) { return pe.reduce(what, axis, outs, from); }));
}

tla_status softmax(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    kernel_program &program = kernel_program::in_call(tl, "tl_softmax");
    const tl_tile outs = *out, from = *a;
    return program.back(program.outside([&](processing_element &pe) { return pe.softmax(outs, from); }));
}

tla_status hold(tl_context *tl, tl_hold what, const tl_tile *tile, std::uint64_t timeout_ns) {
    static const char *const holds[TL_HOLD_COUNT] = {"tl_retain", "tl_pin", "tl_unpin"};
    const bool known = static_cast<unsigned>(what) < TL_HOLD_COUNT;
    kernel_program &program = kernel_program::in_call(tl, known ? holds[what] : "tl_retain");
    const tl_tile held = *tile;
    return program.back(program.outside([&](processing_element &pe) { return pe.hold(what, held, timeout_ns); }));
}

void end(tl_context *tl, tla_status status, const char *why) {
    kernel_program &program = kernel_program::in_call(tl, "tl_end");
    char text[sizeof(tla_error::text)] = "";
    std::strncpy(text, why, sizeof text - 1);
    program.end(status, text);
}

tla_status load_tensor(tl_context *tl, const tl_tile *tile, const tl_tensor *tensor, const tl_tile *mask, float other) {
    kernel_program &program = kernel_program::in_call(tl, mask ? "tl_load_where" : "tl_load_tensor");
    const tl_tile to = *tile, where = mask ? *mask : tl_tile{};
    const tl_tensor from = *tensor;
    return program.back(program.outside(
        [&](processing_element &pe) { return pe.load_tensor(to, from, mask ? &where : nullptr, other); }));
}

tla_status store_tensor(tl_context *tl, const tl_tensor *tensor, const tl_tile *tile, const tl_tile *mask) {
    kernel_program &program = kernel_program::in_call(tl, mask ? "tl_store_where" : "tl_store_tensor");
    const tl_tile from = *tile, where = mask ? *mask : tl_tile{};
    const tl_tensor to = *tensor;
    return program.back(
        program.outside([&](processing_element &pe) { return pe.store_tensor(to, from, mask ? &where : nullptr); }));
}

tla_status gather_rows(tl_context *tl, const tl_tile *tile, const tl_tensor *tensor, const tl_tile *index) {
    kernel_program &program = kernel_program::in_call(tl, "tl_gather_rows");
    const tl_tile to = *tile, which = *index;
    const tl_tensor from = *tensor;
    return program.back(program.outside([&](processing_element &pe) { return pe.gather_rows(to, from, which); }));
}

tla_status scratch(tl_context *tl, std::uint32_t rows, std::uint32_t columns, tl_dtype dtype, tl_tile *tile) {
    kernel_program &program = kernel_program::in_call(tl, "tl_scratch");
    tl_tile made{};
    const tla_status status =
        program.outside([&](processing_element &pe) { return pe.take_scratch(rows, columns, dtype, made); });
    *tile = made;
    return program.back(status);
}

tla_status transpose(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    kernel_program &program = kernel_program::in_call(tl, "tl_transpose");
    const tl_tile outs = *out, from = *a;
    return program.back(program.outside([&](processing_element &pe) { return pe.transpose(outs, from); }));
}

tla_status load_async(tl_context *tl, const tl_tile *tile, tla_vaddr source, std::uint64_t pitch, tl_handle *handle) {
    kernel_program &program = kernel_program::in_call(tl, "tl_load_async");
    const tl_tile what = *tile;
    tl_handle made{};
    const tla_status status =
        program.outside([&](processing_element &pe) { return pe.load_async(what, source, pitch, made); });
    if (handle) *handle = made;
    return program.back(status);
}

tla_status store_async(tl_context *tl, tla_vaddr destination, std::uint64_t pitch, const tl_tile *tile,
                       tl_handle *handle) {
    kernel_program &program = kernel_program::in_call(tl, "tl_store_async");
    const tl_tile what = *tile;
    tl_handle made{};
    const tla_status status =
        program.outside([&](processing_element &pe) { return pe.store_async(destination, pitch, what, made); });
    if (handle) *handle = made;
    return program.back(status);
}

tla_status wait(tl_context *tl, tl_handle handle) {
    kernel_program &program = kernel_program::in_call(tl, "tl_wait");
    return program.back(program.outside([&](processing_element &pe) { return pe.wait_for(handle); }));
}

tla_status wait_all(tl_context *tl) {
    kernel_program &program = kernel_program::in_call(tl, "tl_wait_all");
    return program.back(program.outside([](processing_element &pe) { return pe.wait_for_all(); }));
}

tla_status composite(tl_context *tl, const tl_composition *what, tl_handle *handle) {
    kernel_program &program = kernel_program::in_call(tl, "tl_composite");
    const tl_composition copy = *what;
    tl_handle made{};
    const tla_status status = program.outside([&](processing_element &pe) { return pe.compose(copy, made); });
    if (handle) *handle = made;
    return program.back(status);
}

tla_status send(tl_context *tl, std::uint32_t peer, const tl_tile *tile) {
    kernel_program &program = kernel_program::in_call(tl, "tl_send");
    const tl_tile what = *tile;
    return program.back(program.outside([&](processing_element &pe) { return pe.send(peer, what); }));
}

tla_status receive(tl_context *tl, std::uint32_t peer, const tl_tile *tile) {
    kernel_program &program = kernel_program::in_call(tl, "tl_recv");
    const tl_tile what = *tile;
    return program.back(program.outside([&](processing_element &pe) { return pe.receive(peer, what); }));
}

tla_status receive_async(tl_context *tl, std::uint32_t peer, const tl_tile *tile, tl_handle *handle) {
    kernel_program &program = kernel_program::in_call(tl, "tl_recv_async");
    const tl_tile what = *tile;
    tl_handle made{};
    const tla_status status =
        program.outside([&](processing_element &pe) { return pe.receive_async(peer, what, made); });
    if (handle) *handle = made;
    return program.back(status);
}

tla_status program_at(tl_context *tl, std::uint32_t sip, std::uint32_t cube, std::uint32_t pe_number,
                      std::uint32_t *found) {
    kernel_program &program = kernel_program::in_call(tl, "tl_program_at");
    std::uint32_t number = 0;
    const tla_status status =
        program.outside([&](processing_element &pe) { return pe.program_at(sip, cube, pe_number, number); });
    if (!status) *found = number;
    return program.back(status);
}

tla_status place_of(tl_context *tl, std::uint32_t number, tl_place *place) {
    kernel_program &program = kernel_program::in_call(tl, "tl_place_of");
    tl_place found{};
    const tla_status status = program.outside([&](processing_element &pe) { return pe.place_of(number, found); });
    if (!status) *place = found;
    return program.back(status);
}

void collective_settings(const tl_context *tl, tl_collective_settings *settings) {
    *settings = static_cast<const kernel_program *>(tl)->element().collective_settings();
}

std::uint32_t mesh_columns(const tl_context *tl) {
    return static_cast<const kernel_program *>(tl)->element().mesh_columns();
}

const tl_calls table = {TL_CALLS_VERSION,
                        sizeof(tl_calls),
                        program_id,
                        num_programs,
                        argument,
                        fail,
                        alloc,
                        release,
                        load,
                        store,
                        dot,
                        fill,
                        convert,
                        unary,
                        binary,
                        ternary,
                        reduce,
                        softmax,
                        hold,
                        end,
                        load_tensor,
                        store_tensor,
                        gather_rows,
                        transpose,
                        load_async,
                        store_async,
                        wait,
                        wait_all,
                        scratch,
                        composite,
                        send,
                        receive,
                        program_at,
                        mesh_columns,
                        receive_async,
                        place_of,
                        collective_settings};

// The kernel that exceeded pe.host_limit last, in this process: on the other PEs it need not be waited for as long.
tl_kernel without_calls = nullptr;
const std::uint64_t short_limit_ps = 50'000'000'000;

} // namespace

kernel_program::kernel_program(processing_element &element, kernel_stack &stack)
    : tl_context{&table}, element_(element), stack_(stack) {}

tla_status kernel_program::run(tl_kernel kernel, std::uint64_t host_limit_ps) {
    tla_status status = TLA_OK;
    if (kernel == without_calls && host_limit_ps > short_limit_ps) host_limit_ps = short_limit_ps;
    const std::string whole = element_.name(); // npu.sip0.cube0.pe0.element
    const std::size_t first = whole.find('.') + 1, last = whole.rfind('.');
    const std::string where = whole.substr(first, last > first ? last - first : last);
    const kernel_stack::outcome outcome = stack_.run([&] { status = kernel(this); }, host_limit_ps, where.c_str());
    if (outcome.how == kernel_stack::end::too_long) without_calls = kernel;
    ended_ = outcome.how != kernel_stack::end::returned;
    if (outcome.how == kernel_stack::end::stopped && wanted_) return wanted_;
    return ended_ ? say(outcome) : status;
}

void kernel_program::end(tla_status status, const char *why) {
    stack_.leave();
    wanted_ = element_.fail(status ? status : TLA_INVALID_ARGUMENT, why);
    stack_.stop();
}

// Where it was: "in tl_load, its call 3".
std::string kernel_program::place() const {
    if (!calls_made_) return "before its first call";
    return std::string(in_call_ ? "in " : "in its own code after ") + call_ + ", its call " +
           std::to_string(calls_made_);
}

// The text of the call's failure is kept though the kernel may continue and end for another reason.
void processing_element::note_failed_call() {
    if (run_.failed.status) return;
    run_.failed_ps = local_ps(delay_);
    run_.failed = run_.problem;
}

tla_status kernel_program::say(const kernel_stack::outcome &outcome) {
    const tla_pe_parameters &limits = element_.config_;
    const std::string where = place();
    switch (outcome.how) {
    case kernel_stack::end::overflowed:
        return element_.problem(TLA_CRASHED, "%s %s: more than pe.stack, %" PRIu64 " bytes", outcome.text().c_str(),
                                where.c_str(), limits.stack);
    case kernel_stack::end::too_long:
        return element_.problem(TLA_TIMEOUT,
                                "makes no more calls, %s: more than pe.host_limit, %" PRIu64 " ms of real time",
                                where.c_str(), limits.host_limit_ps / 1'000'000'000);
    case kernel_stack::end::stopped:
        if (element_.host_time_over_)
            return element_.problem(TLA_TIMEOUT,
                                    "waits without progress, %s: more than pe.host_limit, %" PRIu64 " ms of real time",
                                    where.c_str(), limits.host_limit_ps / 1'000'000'000);
        return element_.problem(TLA_TIMEOUT, "does not return, %s: more than pe.time_limit, %.16g ns of simulated time",
                                where.c_str(), static_cast<double>(limits.time_limit_ps) / 1000);
    default:
        break;
    }
    return element_.problem(TLA_CRASHED, "%s %s", outcome.text().c_str(), where.c_str());
}

} // namespace tlmalloc
