/* rec_tbl, hold_edges and in_using_addr of the seed, as one array of entries and one of offsets. */
#include "base/grow.h"
#include "tlmalloc/plan/plan.h"

#include <stdlib.h>

static const uint64_t largest = (uint64_t)1 << 63;

typedef struct record {
    uint64_t tensor, offset, nbytes, users;
    bool held; /* in hold_edges */
} record;

typedef struct used_offset {
    uint64_t offset, count;
} used_offset;

struct tla_record_table {
    tla_record_table_config config;
    uint64_t end;
    record *records;
    size_t count, room;
    used_offset *used; /* in_using_addr; room for as many as there are records */
    size_t used_count;
};

tla_status tla_record_table_create(const tla_record_table_config *config, tla_record_table **out) {
    *out = NULL;
    uint64_t alignment = config->alignment ? config->alignment : 1;
    if ((alignment & (alignment - 1)) || config->base > largest || config->base % alignment)
        return TLA_INVALID_ARGUMENT;
    tla_record_table *table = calloc(1, sizeof *table);
    if (!table) return TLA_NO_HOST_MEMORY;
    table->config = *config;
    table->config.alignment = alignment;
    table->end = config->base;
    *out = table;
    return TLA_OK;
}

void tla_record_table_destroy(tla_record_table *table) {
    if (!table) return;
    free(table->records);
    free(table->used);
    free(table);
}

static record *find(const tla_record_table *table, uint64_t tensor) {
    for (size_t i = 0; i < table->count; i++)
        if (table->records[i].tensor == tensor) return &table->records[i];
    return NULL;
}

static used_offset *find_used(const tla_record_table *table, uint64_t offset) {
    for (size_t i = 0; i < table->used_count; i++)
        if (table->used[i].offset == offset) return &table->used[i];
    return NULL;
}

static void use_offset(tla_record_table *table, uint64_t offset) {
    used_offset *used = find_used(table, offset);
    if (used)
        used->count++;
    else
        table->used[table->used_count++] = (used_offset){offset, 1};
}

/* The seed's set forgets the offset, even if another tensor uses it. */
static void unuse_offset(tla_record_table *table, uint64_t offset) {
    used_offset *used = find_used(table, offset);
    if (used && (--used->count == 0 || !table->config.count_offsets)) *used = table->used[--table->used_count];
}

static tla_status reserve(tla_record_table *table, size_t n) {
    const size_t need = table->count + n;
    size_t room = table->room;
    if (!tla_grow(&table->records, &room, need, sizeof *table->records)) return TLA_NO_HOST_MEMORY;
    return tla_grow(&table->used, &table->room, need, sizeof *table->used) ? TLA_OK : TLA_NO_HOST_MEMORY;
}

static tla_status check(const tla_record_table *table, const tla_op *op) {
    if ((op->kind == TLA_OP_RESHAPE && (op->output_count != 1 || op->operand_count == 0)) ||
        (op->kind == TLA_OP_NO_OUTPUT && op->output_count > 0))
        return TLA_INVALID_ARGUMENT;
    if (op->kind == TLA_OP_RESHAPE && !find(table, op->operands[0])) return TLA_NOT_ALLOCATED;
    uint64_t left = largest - table->end, mask = table->config.alignment - 1;
    for (size_t i = 0; i < op->output_count; i++) {
        const tla_op_output *output = &op->outputs[i];
        if (output->nbytes == 0 || output->nbytes > largest || find(table, output->tensor)) return TLA_INVALID_ARGUMENT;
        for (size_t k = 0; k < i; k++)
            if (op->outputs[k].tensor == output->tensor) return TLA_INVALID_ARGUMENT;
        uint64_t rounded = (output->nbytes + mask) & ~mask;
        if (rounded > left) return TLA_EXHAUSTED; /* though another tensor's place might do */
        left -= rounded;
    }
    return TLA_OK;
}

static bool is_operand_offset(const tla_record_table *table, const tla_op *op, uint64_t offset) {
    for (size_t i = 0; i < op->operand_count; i++) {
        const record *operand = find(table, op->operands[i]);
        if (operand && operand->offset == offset) return true;
    }
    return false;
}

/* The five conditions of the seed, from the oldest entry on; else new memory. */
static uint64_t place(tla_record_table *table, const tla_op *op, uint64_t nbytes) {
    for (size_t i = 0; i < table->count; i++) {
        const record *entry = &table->records[i];
        if (!entry->held && !find_used(table, entry->offset) && entry->users == 0 && entry->nbytes >= nbytes &&
            !is_operand_offset(table, op, entry->offset))
            return entry->offset;
    }
    uint64_t offset = table->end, mask = table->config.alignment - 1;
    table->end += (nbytes + mask) & ~mask;
    return offset;
}

static void append(tla_record_table *table, const tla_op_output *output, uint64_t offset) {
    table->records[table->count++] = (record){output->tensor, offset, output->nbytes, output->users, true};
    use_offset(table, offset);
}

static void let_go(tla_record_table *table, record *entry) {
    entry->held = false;
    unuse_offset(table, entry->offset);
}

/* Operands that have no use left give their offsets free. */
static void let_operands_go(tla_record_table *table, const tla_op *op) {
    for (size_t i = 0; i < op->operand_count; i++) {
        record *operand = find(table, op->operands[i]);
        if (operand && operand->held && operand->users == 0) let_go(table, operand);
    }
}

tla_status tla_record_table_add(tla_record_table *table, const tla_op *op) {
    tla_status status = check(table, op);
    if (!status) status = reserve(table, op->output_count);
    if (status) return status;
    for (size_t i = 0; i < op->operand_count; i++) {
        record *operand = find(table, op->operands[i]);
        if (operand && operand->users > 0) operand->users--;
    }
    if (op->kind == TLA_OP_RESHAPE) {
        append(table, op->outputs, find(table, op->operands[0])->offset);
        return TLA_OK;
    }
    for (size_t i = 0; i < op->output_count; i++) {
        append(table, &op->outputs[i], place(table, op, op->outputs[i].nbytes));
        let_operands_go(table, op);
    }
    return TLA_OK;
}

tla_status tla_record_table_free(tla_record_table *table, uint64_t tensor) {
    record *entry = find(table, tensor);
    if (!entry || !entry->held) return TLA_NOT_ALLOCATED;
    entry->users = 0;
    let_go(table, entry);
    return TLA_OK;
}

tla_status tla_record_table_find(const tla_record_table *table, uint64_t tensor, uint64_t *offset) {
    const record *entry = find(table, tensor);
    if (!entry) return TLA_NOT_ALLOCATED;
    *offset = entry->offset;
    return TLA_OK;
}

uint64_t tla_record_table_size(const tla_record_table *table) {
    return table->end - table->config.base;
}
