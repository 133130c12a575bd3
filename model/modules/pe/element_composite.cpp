// Composites of a kernel: their checks, their buffers in the TCM, and their end.
#include "kernel/element.h"
#include "kernel/tile_vector.h"
#include "stage_units.hpp"
#include "tile_shape.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <string>

namespace tlmalloc {

namespace {

// An operand's rows and columns, and its name in messages.
struct matrix {
    std::uint32_t rows = 0, columns = 0;
    tl_dtype dtype = TL_F32;
    bool there = false, flat = true;

    std::string text() const { return there ? std::to_string(rows) + " x " + std::to_string(columns) : "none"; }
};

matrix matrix_of(const tl_operand &operand) {
    matrix result;
    result.there = operand.kind == TL_STREAMED || operand.kind == TL_PINNED;
    if (operand.kind == TL_PINNED) {
        result.rows = operand.tile.rows;
        result.columns = operand.tile.columns;
        result.dtype = operand.tile.dtype;
    } else if (operand.kind == TL_STREAMED) {
        const tl_tensor &tensor = operand.tensor;
        result.dtype = tensor.dtype;
        result.flat = tensor.rank >= 2 && tensor.rank <= TL_RANK_MAX;
        if (!result.flat) return result;
        result.rows = tensor.shape[tensor.rank - 2];
        result.columns = tensor.shape[tensor.rank - 1];
        for (std::uint32_t dim = 0; dim + 2 < tensor.rank; dim++)
            result.flat = result.flat && tensor.shape[dim] == 1;
    }
    return result;
}

bool is_factor(tl_dtype type) {
    return type == TL_F16 || type == TL_BF16 || type == TL_F32;
}

const char *name_of(const tl_composition &what, const tl_operand *operand) {
    return operand == &what.a ? "a" : operand == &what.b ? "b" : "out";
}

// Returns the tiles of the TCM that a composite uses beside its buffers.
std::vector<tile_use> tiles_of(const tl_composition &what) {
    std::vector<tile_use> tiles;
    for (const tl_operand *operand : {&what.a, &what.b, &what.out})
        if (operand->kind == TL_PINNED) tiles.push_back({operand->tile, operand == &what.out});
    for (std::uint32_t i = 0; i < what.step_count; i++)
        for (const tl_term *term : {&what.steps[i].x, &what.steps[i].y})
            if (term->kind == TL_TILE_TERM) tiles.push_back({term->tile, false});
    return tiles;
}

} // namespace

// --- parts -----------------------------------------------------------------------------------------------------------

processing_element::composite::composite(const tl_composition &composition, const tla_tiling &tiles)
    : operation("tl_composite", tiles_of(composition)), what(composition), tiling(tiles) {}

tl_tensor processing_element::composite::part_of(const tl_tensor &matrix, std::uint32_t row, std::uint32_t column,
                                                 std::uint32_t rows, std::uint32_t columns) {
    const std::uint64_t down = matrix.stride[matrix.rank - 2], across = matrix.stride[matrix.rank - 1];
    return {{matrix.va.value + row * down + column * across}, 2, {rows, columns}, {down, across}, matrix.dtype};
}

tl_tile processing_element::composite::part_of(const tl_tile &tile, std::uint32_t row, std::uint32_t column,
                                               std::uint32_t rows, std::uint32_t columns) {
    const std::uint32_t pitch = tile.pitch ? tile.pitch : tile.columns;
    const std::uint64_t offset = (std::uint64_t{row} * pitch + column) * tl_dtype_bytes(tile.dtype);
    return {{tile.pa.value + offset}, rows, columns, tile.dtype, pitch};
}

tl_tile processing_element::composite::term_of(const tl_tile &tile, const tla_tile_step &step) {
    const bool row = tile.rows == 1, column = tile.columns == 1;
    return part_of(tile, row ? 0 : step.row, column ? 0 : step.column, row ? 1 : step.rows, column ? 1 : step.columns);
}

processing_element::composite::place processing_element::composite::place_of_a(const tla_tile_step &step) const {
    if (!product()) return place_of_out(step);
    return {step.row, step.deep, step.rows, step.depth};
}

processing_element::composite::place processing_element::composite::place_of_b(const tla_tile_step &step) const {
    if (!product()) return place_of_out(step);
    return {step.deep, step.column, step.depth, step.columns};
}

tl_tile processing_element::composite::local(const tl_operand &operand, const std::vector<tl_tile> &buffers,
                                             const place &where, std::uint64_t index) const {
    if (operand.kind == TL_PINNED) return part_of(operand.tile, where.row, where.column, where.rows, where.columns);
    return {buffers[index % buffers.size()].pa, where.rows, where.columns, operand.tensor.dtype, 0};
}

// --- checks
// -------------------------------------------------------------------------------------------------------------

tla_status processing_element::check_composition(const tl_composition &what) {
    if (raw(what.kind) >= TL_COMPOSITE_KIND_COUNT)
        return problem(TLA_INVALID_ARGUMENT, "tl_composite: kind %u must be TL_GEMM or TL_MATH", raw(what.kind));
    for (const tl_operand *operand : {&what.a, &what.b, &what.out})
        if (raw(operand->kind) >= TL_OPERAND_KIND_COUNT || raw(operand->tensor.dtype) >= TL_DTYPE_COUNT)
            return problem(TLA_INVALID_ARGUMENT,
                           "tl_composite: operand %s has an unknown kind or type (%u, %u): use values of "
                           "tl_operand_kind and tl_dtype",
                           name_of(what, operand), raw(operand->kind), raw(operand->tensor.dtype));
    const bool product = what.kind == TL_GEMM;
    if (what.step_count > TL_STEPS_MAX)
        return problem(TLA_INVALID_ARGUMENT, "tl_composite: %u steps: must be at most %d", what.step_count,
                       TL_STEPS_MAX);
    for (const tl_operand *operand : {&what.a, &what.b, &what.out})
        if (operand->kind == TL_PINNED)
            if (const tla_status status = check_tile(operand->tile, name_of(what, operand))) return status;
    const matrix a = matrix_of(what.a), b = matrix_of(what.b), out = matrix_of(what.out);
    for (const tl_operand *operand : {&what.a, &what.b, &what.out})
        if (!matrix_of(*operand).flat)
            return problem(TLA_INVALID_ARGUMENT,
                           "tl_composite: the tensor (%s) of rank %u is not a matrix: must have rank 2, or size 1 in "
                           "all dimensions but the last two",
                           name_of(what, operand), operand->tensor.rank);
    const bool fits = product ? a.there && b.there && out.there && a.columns == b.rows && out.rows == a.rows &&
                                    out.columns == b.columns
                              : a.there && out.there && a.rows == out.rows && a.columns == out.columns &&
                                    (!b.there || (b.rows == out.rows && b.columns == out.columns));
    if (!fits)
        return problem(TLA_INVALID_ARGUMENT, "tl_composite: a is %s, b %s and the result %s: must be %s",
                       a.text().c_str(), b.text().c_str(), out.text().c_str(),
                       product ? "m x k, k x n and m x n" : "the same shape, with or without b");
    if (!is_factor(a.dtype) || (b.there && !is_factor(b.dtype)))
        return problem(TLA_INVALID_ARGUMENT, "tl_composite: a of %s and b of %s: must be f16, bf16 or f32",
                       tla_type_name(a.dtype), b.there ? tla_type_name(b.dtype) : "none");
    for (std::uint32_t i = 0; i < what.step_count; i++) {
        const tl_step &step = what.steps[i];
        tla_matrix result{nullptr, TL_F32, out.rows, out.columns}, operands[3] = {result, result, result};
        if (step.operands < 1 || step.operands > 3)
            return problem(TLA_INVALID_ARGUMENT, "tl_composite: step %u: %u operands: must be 1 to 3", i,
                           step.operands);
        for (std::uint32_t j = 1; j < step.operands; j++) {
            const tl_term &term = j == 1 ? step.x : step.y;
            if (raw(term.kind) >= TL_TERM_KIND_COUNT)
                return problem(TLA_INVALID_ARGUMENT, "tl_composite: step %u: unknown kind %u of a term", i,
                               raw(term.kind));
            if (term.kind == TL_TILE_TERM) {
                if (const tla_status status = check_tile(term.tile, j == 1 ? "x of a step" : "y of a step"))
                    return status;
                operands[j] = {nullptr, term.tile.dtype, term.tile.rows, term.tile.columns};
            } else if (term.kind != TL_NUMBER_TERM && (term.kind != TL_B_TERM || product || !b.there)) {
                return problem(
                    TLA_INVALID_ARGUMENT,
                    "tl_composite: step %u: a term of kind %u: must be a number, a tile, or with TL_MATH the operand b",
                    i, raw(term.kind));
            }
        }
        const unsigned counts[] = {TL_UNARY_COUNT, TL_BINARY_COUNT, TL_TERNARY_COUNT};
        if (step.operation >= counts[step.operands - 1])
            return problem(TLA_UNSUPPORTED,
                           "tl_composite: step %u: the vector engine does not support operation %u of %u operands", i,
                           step.operation, step.operands);
        tla_error why{};
        const std::string name = "tl_composite: step " + std::to_string(i);
        const tla_operation checked{name.c_str(), step.operands, step.operation};
        if (const tla_status status = tla_matrix_check(&checked, &result, operands, &why))
            return problem(status, "%s", why.text);
    }
    return TLA_OK;
}

// --- its room --------------------------------------------------------------------------------------------------------

// Blocks of one tile for everything that is streamed; all or none.
tla_status processing_element::allocate_buffers(composite &what) {
    const tla_tiling &p = what.tiling;
    const std::uint32_t m = std::min(p.m, p.tile_m), k = std::min(p.k, p.tile_k), n = std::min(p.n, p.tile_n);
    const struct {
        const tl_operand &operand;
        std::vector<tl_tile> &buffers;
        std::uint32_t rows, columns;
    } all[] = {{what.what.a, what.buffers_a, m, what.product() ? k : n},
               {what.what.b, what.buffers_b, what.product() ? k : m, n},
               {what.what.out, what.buffers_out, m, n}};
    for (const auto &one : all) {
        if (one.operand.kind != TL_STREAMED) continue;
        for (std::uint32_t i = 0; i < config_.pipeline_depth; i++) {
            tl_tile block{};
            if (const tla_status status = allocate(one.rows, one.columns, one.operand.tensor.dtype, block)) {
                const tla_completion refused = run_.refused;
                free_buffers(what);
                run_.refused = refused;
                return status;
            }
            one.buffers.push_back(block);
        }
    }
    return TLA_OK;
}

tla_status processing_element::free_buffers(composite &what) {
    tla_status first = TLA_OK;
    for (std::vector<tl_tile> *buffers : {&what.buffers_out, &what.buffers_b, &what.buffers_a})
        for (; !buffers->empty(); buffers->pop_back())
            if (const tla_status status = release(buffers->back()); !first) first = status;
    return first;
}

// --- its begin and its end -------------------------------------------------------------------------------------------

tla_status processing_element::compose(const tl_composition &what, tl_handle &handle) {
    handle = tl_handle{};
    if (const tla_status status = check_composition(what)) return status;
    if (const tla_status status = check_room()) return status;
    const matrix a = matrix_of(what.a), out = matrix_of(what.out);
    const std::uint32_t size[] = {out.rows, what.kind == TL_GEMM ? a.columns : 1, out.columns};
    const std::uint32_t tile[] = {config_.tile_m, config_.tile_k, config_.tile_n};
    tla_tiling tiling{};
    tla_error why{};
    if (const tla_status status = tla_tiling_make(&tiling, size, tile, &why))
        return problem(status, "tl_composite: %s", why.text);
    auto made = std::make_unique<composite>(what, tiling);
    for (const tile_use &use : made->uses)
        if (const tla_status status = check_use(use.tile, use.written)) return status;
    begin();
    if (const tla_status status = allocate_buffers(*made)) return status;
    if (!stage_units_) stage_units_ = std::make_unique<stage_units>(*this);
    const std::uint64_t since = local_ps(delay_);
    if (const tla_status status = stage_units_->add(*made, since)) {
        free_buffers(*made);
        return status;
    }
    std::uint64_t nothing = 0;
    end(nothing, since, TLA_TIME_OTHER);
    return add_operation(std::move(made), handle);
}

// Where its time went, from the end backwards: stages wait for stages.
void processing_element::composite::tell_parts(std::uint64_t begin_ps, std::uint64_t end_ps,
                                               std::vector<tla_time_part> &parts) {
    struct {
        const std::vector<done_stage> &stages;
        std::vector<tla_time_part> &parts;
    } context{stages, parts};
    std::vector<tla_time_span> spans;
    for (std::size_t i = 0; i < stages.size(); i++)
        spans.push_back({stages[i].begin_ps, stages[i].end_ps, i});
    tla_time_chain_of_spans(
        spans.data(), spans.size(), begin_ps, end_ps,
        [](void *to, std::size_t which, std::uint64_t from_ps, std::uint64_t until_ps) {
            const auto &c = *static_cast<decltype(context) *>(to);
            const done_stage &stage = c.stages[which];
            if (stage.parts.empty())
                c.parts.push_back({{stage.kind, TLA_TIME_NOWHERE, TLA_TIME_NOWHERE}, from_ps, until_ps});
            c.parts.insert(c.parts.end(), stage.parts.begin(), stage.parts.end());
        },
        &context);
}

tla_status processing_element::composite::finish(processing_element &element, std::uint64_t &end_ps) {
    std::uint64_t begin_ps = 0;
    element.stage_units_->wait_for(*this, begin_ps, end_ps);
    tell_parts(begin_ps, end_ps, element.parts_);
    run &r = element.run_;
    r.composite_begin_ps = r.composites ? std::min(r.composite_begin_ps, begin_ps) : begin_ps;
    r.composite_end_ps = std::max(r.composite_end_ps, end_ps);
    r.composites++;
    r.tiles += tiling.steps;
    element.statistics_.composites++;
    element.statistics_.tiles += tiling.steps;
    if (status && failed_on_the_way) return element.refuse_transfer(call, failed_way, failed_va, failed_end);
    return status ? element.problem(status, "tl_composite: a tile is outside the TCM of its PE") : TLA_OK;
}

} // namespace tlmalloc
