// Performs the stages of composites: the core decides stages and times, and the units move bytes and take time.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "stage_units.hpp"

#include "kernel/tile_math.h"
#include "kernel/tile_vector.h"
#include "tensor_requests.hpp"
#include "tile_shape.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <utility>

namespace tlmalloc {

processing_element::stage_units::stage_units(processing_element &element)
    : element_(element),
      schedule_(tla_tile_schedule_create(element.config_.pipeline_depth), tla_tile_schedule_destroy) {
    for (int unit = 0; unit < TLA_STAGE_UNIT_COUNT; unit++)
        sc_core::sc_spawn([this, unit] { serve(static_cast<tla_stage_unit>(unit)); },
                          sc_core::sc_gen_unique_name("engine"));
}

tla_status processing_element::stage_units::add(composite &what, std::uint64_t at_ps) {
    const bool a = what.what.a.kind == TL_STREAMED, b = what.what.b.kind == TL_STREAMED;
    const bool math = what.what.step_count > 0 || !what.product();
    const tla_tile_operation operation{what.tiling, a, b, what.product(), math, what.what.out.kind == TL_STREAMED};
    if (!schedule_) return TLA_NO_HOST_MEMORY;
    if (const tla_status status = tla_tile_schedule_add(schedule_.get(), &operation, at_ps, &what.number))
        return status;
    composites_.emplace(what.number, &what);
    changed_.notify();
    return TLA_OK;
}

void processing_element::stage_units::wait_for(const composite &what, std::uint64_t &begin_ps, std::uint64_t &end_ps) {
    while (!tla_tile_schedule_collect(schedule_.get(), what.number, &begin_ps, &end_ps))
        sc_core::wait(changed_);
    composites_.erase(what.number);
}

void processing_element::stage_units::drop_all() {
    for (const auto &[number, what] : composites_)
        tla_tile_schedule_drop(schedule_.get(), number, to_ps(sc_core::sc_time_stamp()));
    changed_.notify();
}

void processing_element::stage_units::serve(tla_stage_unit unit) {
    for (;;) {
        tla_tile_task task{};
        while (!schedule_ || !tla_tile_schedule_take(schedule_.get(), unit, &task))
            sc_core::wait(changed_);
        composite &what = *composites_.at(task.operation);
        const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp()), begin_ps = std::max(task.ready_ps, now_ps);
        if (begin_ps > now_ps + element_.config_.quantum_ps) sc_core::wait(from_ps(begin_ps - now_ps));
        sc_core::sc_time delay;
        set_local_ps(delay, begin_ps);
        std::vector<tla_time_part> parts;
        const tla_status status = perform(what, task, delay, element_.account_ ? &parts : nullptr);
        const std::uint64_t end_ps = std::max(local_ps(delay), to_ps(sc_core::sc_time_stamp()));
        if (element_.account_) note_stage(what, task, {TLA_TIME_OTHER, begin_ps, end_ps, std::move(parts)});
        tla_tile_schedule_end(schedule_.get(), unit, begin_ps, end_ps);
        if (status && !what.status) {
            what.status = status;
            tla_tile_schedule_drop(schedule_.get(), task.operation, end_ps);
        }
        changed_.notify();
    }
}

void processing_element::stage_units::note_stage(composite &what, const tla_tile_task &task,
                                                 composite::done_stage stage) {
    switch (task.stage) {
    case TLA_STAGE_FEED:
        stage.kind = TLA_TIME_DISPATCH;
        break;
    case TLA_STAGE_FETCH:
    case TLA_STAGE_STORE:
        stage.kind = TLA_TIME_TILE;
        break;
    case TLA_STAGE_GEMM:
    case TLA_STAGE_MATH:
        stage.kind = TLA_TIME_ARITHMETIC;
        break;
    default:
        stage.kind = TLA_TIME_ENGINE_QUEUE; // for the time that its parts do not cover
    }
    what.stages.push_back(std::move(stage));
}

tla_status processing_element::stage_units::perform(composite &what, const tla_tile_task &task, sc_core::sc_time &delay,
                                                    std::vector<tla_time_part> *went) {
    const bool of_output = task.stage >= TLA_STAGE_MATH;
    const tla_tile_step step =
        of_output ? tla_tiling_output(&what.tiling, task.index) : tla_tiling_step(&what.tiling, task.index);
    switch (task.stage) {
    case TLA_STAGE_FEED: {
        const std::uint64_t since_ps = local_ps(delay), end_ps = since_ps + element_.config_.scheduler_ps;
        element_.scheduler_.begin(since_ps);
        element_.scheduler_.end(since_ps, end_ps);
        set_local_ps(delay, end_ps);
        return TLA_OK;
    }
    case TLA_STAGE_READ_A:
        return move(what, pe_dma::direction::read, what.what.a, what.buffers_a, what.place_of_a(step), task.index,
                    delay, went);
    case TLA_STAGE_READ_B:
        return move(what, pe_dma::direction::read, what.what.b, what.buffers_b, what.place_of_b(step), task.index,
                    delay, went);
    case TLA_STAGE_FETCH:
        return fetch(what, step, task.index, delay);
    case TLA_STAGE_GEMM:
        multiply(what, step, task.index, delay);
        return TLA_OK;
    case TLA_STAGE_MATH:
        compute(what, step, delay);
        return TLA_OK;
    case TLA_STAGE_STORE:
        return store(what, step, delay);
    default:
        return move(what, pe_dma::direction::write, what.what.out, what.buffers_out, what.place_of_out(step),
                    task.index, delay, went);
    }
}

// Between a matrix in memory and the buffer of its index.
tla_status processing_element::stage_units::move(composite &what, pe_dma::direction way, const tl_operand &matrix,
                                                 const std::vector<tl_tile> &buffers, const composite::place &where,
                                                 std::uint64_t index, sc_core::sc_time &delay,
                                                 std::vector<tla_time_part> *went) {
    const tl_tensor part = composite::part_of(matrix.tensor, where.row, where.column, where.rows, where.columns);
    transfer_list parts;
    append_requests(parts, way, what.local(matrix, buffers, where, index), part, nullptr);
    const tla_status status = element_.queue(way).move(parts, delay, went);
    if (status && !what.status) {
        what.failed_on_the_way = true;
        what.failed_way = way;
        what.failed_va = part.va;
        what.failed_end = transfer_queue::end_of(parts);
    }
    return status;
}

tla_status processing_element::stage_units::fetch(composite &what, const tla_tile_step &step, std::uint64_t index,
                                                  sc_core::sc_time &delay) {
    composite::registers &into = what.fetched[index];
    const tl_composition &c = what.what;
    tla_status status = element_.fetch(what.local(c.a, what.buffers_a, what.place_of_a(step), index), into.a, delay);
    if (!status && c.b.kind)
        status = element_.fetch(what.local(c.b, what.buffers_b, what.place_of_b(step), index), into.b, delay);
    if (!step.last) return status;
    for (std::uint32_t i = 0; i < c.step_count; i++)
        for (const tl_term *term : {&c.steps[i].x, &c.steps[i].y}) {
            into.terms.emplace_back();
            if (!status && term->kind == TL_TILE_TERM)
                status = element_.fetch(composite::term_of(term->tile, step), into.terms.back(), delay);
        }
    return status;
}

namespace {

std::uint64_t elements(const tla_tile_step &step) {
    return std::uint64_t{step.rows} * step.columns;
}

tl_dtype type_of(const tl_operand &operand) {
    return operand.kind == TL_PINNED ? operand.tile.dtype : operand.tensor.dtype;
}

} // namespace

void processing_element::stage_units::multiply(composite &what, const tla_tile_step &step, std::uint64_t index,
                                               sc_core::sc_time &delay) {
    const auto operands = what.fetched.find(index);
    composite::bytes &sum = what.values[step.output];
    if (step.first) sum.assign(elements(step) * sizeof(float), 0);
    tla_tile_dot(sum.data(), operands->second.a.data(), type_of(what.what.a), operands->second.b.data(),
                 type_of(what.what.b), step.rows, step.depth, step.columns);
    if (!step.last) what.fetched.erase(operands);
    element_.engine(array::gemm, asks::by_product, 2 * elements(step) * step.depth, delay);
}

// The steps on a tile of the result.
void processing_element::stage_units::compute(composite &what, const tla_tile_step &step, sc_core::sc_time &delay) {
    const tl_composition &c = what.what;
    const auto operands = what.fetched.find((step.output + 1) * what.tiling.count_k - 1);
    composite::registers &from = operands->second;
    composite::bytes &value = what.values[step.output];
    if (!what.product()) {
        value.resize(elements(step) * sizeof(float));
        tla_tile_convert(value.data(), TL_F32, from.a.data(), type_of(c.a), elements(step));
    }
    for (std::uint32_t i = 0; i < c.step_count; i++) {
        composite::bytes before = value;
        float numbers[2] = {c.steps[i].x.number, c.steps[i].y.number};
        tla_matrix operands_of[3] = {{before.data(), TL_F32, step.rows, step.columns}};
        for (std::uint32_t j = 0; j < 2; j++) {
            const tl_term &term = j ? c.steps[i].y : c.steps[i].x;
            const tl_tile part = composite::term_of(term.tile, step);
            operands_of[j + 1] = {&numbers[j], TL_F32, 1, 1};
            if (term.kind == TL_TILE_TERM)
                operands_of[j + 1] = {from.terms[2 * i + j].data(), part.dtype, part.rows, part.columns};
            else if (term.kind == TL_B_TERM)
                operands_of[j + 1] = {from.b.data(), type_of(c.b), step.rows, step.columns};
        }
        const tla_matrix out{value.data(), TL_F32, step.rows, step.columns};
        const tla_operation operation{"tl_composite", c.steps[i].operands, c.steps[i].operation};
        tla_matrix_map(&operation, &out, operands_of);
    }
    what.fetched.erase(operands);
    element_.engine(array::vector, asks::by_steps, elements(step) * std::max(c.step_count, 1u), delay);
}

tla_status processing_element::stage_units::store(composite &what, const tla_tile_step &step, sc_core::sc_time &delay) {
    const auto value = what.values.find(step.output);
    const tl_tile to = what.local(what.what.out, what.buffers_out, what.place_of_out(step), step.output);
    composite::bytes rounded(bytes_of(to));
    tla_tile_convert(rounded.data(), to.dtype, value->second.data(), TL_F32, elements(step));
    what.values.erase(value);
    what.fetched.erase((step.output + 1) * what.tiling.count_k - 1); // of a product without steps
    return element_.write_back(to, rounded, delay);
}

} // namespace tlmalloc
