/* The checks of shapes and types, and the walk over the elements. */
#include "tile_vector.h"

#include "element.h"
#include "scalar.h"

static tla_status check_types(const tla_matrix *out, const tla_matrix *operands, uint32_t count, const char *name,
                              tla_error *error) {
    if ((unsigned)out->type >= TL_DTYPE_COUNT)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%s: the result has the unknown type %u: use a value of tl_dtype", name,
                             (unsigned)out->type);
    for (uint32_t i = 0; i < count; i++)
        if ((unsigned)operands[i].type >= TL_DTYPE_COUNT)
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%s: operand %u has the unknown type %u: use a value of tl_dtype", name, i + 1,
                                 (unsigned)operands[i].type);
    return TLA_OK;
}

/* Whether the operation answers 1 or 0, and whether its first operand is only looked at for being 0. */
static bool compares(const tla_operation *what) {
    return what->operands == 2 && what->number >= TL_EQ;
}
static bool selects(const tla_operation *what) {
    return what->operands == 3 && what->number == TL_WHERE;
}

/* The operands that are computed with, which have to go together. */
static bool is_of_reals_only(const tla_operation *what) {
    return (what->operands == 1 && what->number > TL_NEG) || (what->operands == 3 && what->number == TL_FMA);
}

tla_status tla_matrix_check(const tla_operation *what, const tla_matrix *out, const tla_matrix *operands,
                            tla_error *error) {
    tla_status status = check_types(out, operands, what->operands, what->name, error);
    if (status) return status;
    for (uint32_t i = 0; i < what->operands; i++) {
        const tla_matrix *a = &operands[i];
        if ((a->rows != out->rows && a->rows != 1) || (a->columns != out->columns && a->columns != 1))
            return tla_error_set(
                error, TLA_INVALID_ARGUMENT,
                "%s: operand %u is %u x %u and the result %u x %u: must be the same shape, one row or one column",
                what->name, i + 1, a->rows, a->columns, out->rows, out->columns);
    }
    const uint32_t first = selects(what) ? 1 : 0;
    bool integers = tla_is_integer(operands[first].type);
    for (uint32_t i = first; i < what->operands; i++)
        if (tla_is_integer(operands[i].type) != integers || (integers && operands[i].type != operands[first].type))
            return tla_error_set(
                error, TLA_INVALID_ARGUMENT,
                "%s: operands of %s and %s: must have real types or the same integer type; convert one", what->name,
                tla_type_name(operands[first].type), tla_type_name(operands[i].type));
    if (integers && is_of_reals_only(what))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: unsupported operand type %s: must be a real type",
                             what->name, tla_type_name(operands[first].type));
    if (!compares(what) && (integers ? out->type != operands[first].type : tla_is_integer(out->type)))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: a result of %s from %s: must have %s", what->name,
                             tla_type_name(out->type), tla_type_name(operands[first].type),
                             integers ? "the same type" : "a real type");
    return TLA_OK;
}

/* Where the element of a row and a column is, or what stands for it. */
static const uint8_t *at(const tla_matrix *m, uint32_t row, uint32_t column) {
    uint64_t index = (uint64_t)(m->rows == 1 ? 0 : row) * m->columns + (m->columns == 1 ? 0 : column);
    return (const uint8_t *)m->bytes + index * tl_dtype_bytes(m->type);
}

static bool any_is_f64(const tla_matrix *out, const tla_matrix *operands, uint32_t count) {
    bool f64 = out->type == TL_F64;
    for (uint32_t i = 0; i < count; i++)
        f64 = f64 || operands[i].type == TL_F64;
    return f64;
}

void tla_matrix_map(const tla_operation *what, const tla_matrix *out, const tla_matrix *operands) {
    const bool f64 = any_is_f64(out, operands, what->operands),
               integers = tla_is_integer(operands[what->operands - 1].type);
    for (uint32_t row = 0; row < out->rows; row++)
        for (uint32_t column = 0; column < out->columns; column++) {
            uint8_t *to = (uint8_t *)(uintptr_t)at(out, row, column);
            const uint8_t *from[3] = {0};
            for (uint32_t i = 0; i < what->operands; i++)
                from[i] = at(&operands[i], row, column);
            if (selects(what)) {
                const tla_matrix *taken = &operands[tla_element_get(from[0], operands[0].type) != 0 ? 1 : 2];
                tla_element_convert(to, out->type, from[taken - operands], taken->type);
            } else if (integers) {
                uint64_t x[3] = {0};
                for (uint32_t i = 0; i < what->operands; i++)
                    x[i] = tla_element_get_integer(from[i], operands[i].type);
                uint64_t result = tla_scalar_integer(what->operands, what->number, operands[0].type, x);
                if (tla_is_integer(out->type))
                    tla_element_put_integer(to, out->type, result);
                else
                    tla_element_put(to, out->type, (double)result); /* 1 or 0 */
            } else {
                double x[3] = {0};
                for (uint32_t i = 0; i < what->operands; i++)
                    x[i] = tla_element_get(from[i], operands[i].type);
                tla_element_put(to, out->type, tla_scalar_real(what->operands, what->number, f64, x));
            }
        }
}

tla_status tla_matrix_reduce_check(tl_reduction what, uint32_t axis, const tla_matrix *out, const tla_matrix *a,
                                   tla_error *error) {
    static const char *const names[TL_REDUCTION_COUNT] = {"tl_sum", "tl_max", "tl_min"};
    if ((unsigned)what >= TL_REDUCTION_COUNT)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "unknown reduction %u: use a value of tl_reduction",
                             (unsigned)what);
    const char *const name = names[what];
    tla_status status = check_types(out, a, 1, name, error);
    if (status) return status;
    if (axis > 1)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: axis %u must be 0 (columns) or 1 (rows)", name, axis);
    if (out->rows != (axis == 0 ? 1 : a->rows) || out->columns != (axis == 0 ? a->columns : 1))
        return tla_error_set(
            error, TLA_INVALID_ARGUMENT, "%s: the result is %u x %u, but %u x %u over axis %u gives %u x %u", name,
            out->rows, out->columns, a->rows, a->columns, axis, axis == 0 ? 1 : a->rows, axis == 0 ? a->columns : 1);
    if (tla_is_integer(a->type) ? out->type != a->type : tla_is_integer(out->type))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: a result of %s from %s: must have %s", name,
                             tla_type_name(out->type), tla_type_name(a->type),
                             tla_is_integer(a->type) ? "the same type" : "a real type");
    return TLA_OK;
}

void tla_matrix_reduce(tl_reduction what, uint32_t axis, const tla_matrix *out, const tla_matrix *a) {
    static const uint32_t step[] = {[TL_SUM] = TL_ADD, [TL_MAX] = TL_MAXIMUM, [TL_MIN] = TL_MINIMUM};
    const bool f64 = any_is_f64(out, a, 1), integers = tla_is_integer(a->type);
    const uint32_t lines = axis == 0 ? a->columns : a->rows, length = axis == 0 ? a->rows : a->columns;
    for (uint32_t line = 0; line < lines; line++) {
        uint8_t *to = (uint8_t *)out->bytes + (uint64_t)line * tl_dtype_bytes(out->type);
        double real[2] = {0};
        uint64_t integer[2] = {0};
        for (uint32_t i = 0; i < length; i++) {
            const uint8_t *from = axis == 0 ? at(a, i, line) : at(a, line, i);
            if (integers) {
                integer[1] = tla_element_get_integer(from, a->type);
                integer[0] = i == 0 ? integer[1] : tla_scalar_integer(2, step[what], a->type, integer);
            } else {
                real[1] = tla_element_get(from, a->type);
                real[0] = i == 0 ? real[1] : tla_scalar_real(2, step[what], f64, real);
            }
        }
        if (integers)
            tla_element_put_integer(to, out->type, integer[0]);
        else
            tla_element_put(to, out->type, real[0]);
    }
}

tla_status tla_matrix_softmax_check(const tla_matrix *out, const tla_matrix *a, tla_error *error) {
    tla_status status = check_types(out, a, 1, "tl_softmax", error);
    if (status) return status;
    if (out->rows != a->rows || out->columns != a->columns)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "tl_softmax: the result is %u x %u, the operand %u x %u: must be the same shape",
                             out->rows, out->columns, a->rows, a->columns);
    if (tla_is_integer(out->type) || tla_is_integer(a->type))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "tl_softmax: a result of %s from %s: must have real types",
                             tla_type_name(out->type), tla_type_name(a->type));
    return TLA_OK;
}

void tla_matrix_softmax(const tla_matrix *out, const tla_matrix *a) {
    const bool f64 = any_is_f64(out, a, 1);
    for (uint32_t row = 0; row < a->rows; row++) {
        double most[2] = {tla_element_get(at(a, row, 0), a->type)}, sum[2] = {0};
        for (uint32_t column = 1; column < a->columns; column++) {
            most[1] = tla_element_get(at(a, row, column), a->type);
            most[0] = tla_scalar_real(2, TL_MAXIMUM, f64, most);
        }
        for (int dividing = 0; dividing < 2; dividing++)
            for (uint32_t column = 0; column < a->columns; column++) {
                double x[2] = {tla_element_get(at(a, row, column), a->type), most[0]};
                x[0] = tla_scalar_real(2, TL_SUB, f64, x);
                sum[1] = tla_scalar_real(1, TL_EXP, f64, x);
                if (!dividing) {
                    sum[0] = tla_scalar_real(2, TL_ADD, f64, sum);
                } else {
                    const double parts[2] = {sum[1], sum[0]};
                    tla_element_put((uint8_t *)(uintptr_t)at(out, row, column), out->type,
                                    tla_scalar_real(2, TL_DIV, f64, parts));
                }
            }
    }
}
