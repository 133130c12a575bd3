/* Address maps: their text form, and the decoder that cuts banks and rows out of a line number. */
#include "hbm_internal.h"

#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

static const char *const field_names[TLA_HBM_FIELD_COUNT] = {"pc", "bg", "ba", "co", "ro"};

static uint32_t log2_of(uint32_t power_of_two) {
    return power_of_two == 0 ? 0 : (uint32_t)__builtin_ctz(power_of_two);
}

/* The three maps of the reference runs; two pseudo-channels alternate burst by burst. */
static const struct {
    const char *name;
    tla_hbm_field order[4];
} named_maps[] = {
    {"m1", {TLA_HBM_FIELD_BANK_GROUP, TLA_HBM_FIELD_BANK, TLA_HBM_FIELD_COLUMN, TLA_HBM_FIELD_ROW}},
    {"m2", {TLA_HBM_FIELD_COLUMN, TLA_HBM_FIELD_BANK_GROUP, TLA_HBM_FIELD_BANK, TLA_HBM_FIELD_ROW}},
    {"m3", {TLA_HBM_FIELD_BANK_GROUP, TLA_HBM_FIELD_COLUMN, TLA_HBM_FIELD_BANK, TLA_HBM_FIELD_ROW}},
};

static void add_piece(tla_hbm_map *map, tla_hbm_field field, uint32_t bits) {
    if (bits == 0) return;
    map->pieces[map->count].field = field;
    map->pieces[map->count].bits = bits;
    map->count++;
}

static bool named_map(const char *text, const tla_hbm_config *config, tla_hbm_map *map) {
    for (size_t i = 0; i < sizeof named_maps / sizeof named_maps[0]; i++) {
        if (strcmp(text, named_maps[i].name) != 0) continue;
        const uint32_t columns = config->burst_bytes == 0 ? 0 : config->row_bytes / config->burst_bytes;
        const uint32_t widths[TLA_HBM_FIELD_COUNT] = {
            [TLA_HBM_FIELD_BANK_GROUP] = log2_of(config->bank_groups),
            [TLA_HBM_FIELD_BANK] = log2_of(config->banks_per_group),
            [TLA_HBM_FIELD_COLUMN] = log2_of(columns),
            [TLA_HBM_FIELD_ROW] = log2_of(config->rows),
        };
        add_piece(map, TLA_HBM_FIELD_PSEUDO_CHANNEL, log2_of(config->row_bus_sharers));
        for (size_t k = 0; k < 4; k++)
            add_piece(map, named_maps[i].order[k], widths[named_maps[i].order[k]]);
        return true;
    }
    return false;
}

static const char *named_map_name(uint64_t index) {
    return index < sizeof named_maps / sizeof named_maps[0] ? named_maps[index].name : NULL;
}

static const char *field_name(uint64_t index) {
    return index < TLA_HBM_FIELD_COUNT ? field_names[index] : NULL;
}

/* Suggests the intended word at `at`: a text without commas is a name, otherwise it consists of fields. */
static tla_phrase suggest(const char *text, const char *at) {
    if (!strchr(text, ',')) return tla_did_you_mean(text, named_map_name);
    char word[8];
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (length >= sizeof word) length = sizeof word - 1;
    memcpy(word, at, length);
    word[length] = '\0';
    return tla_did_you_mean(word, field_name);
}

tla_status tla_hbm_map_parse(const char *text, tla_hbm_config *config, tla_error *error) {
    tla_hbm_map map = {0};
    if (named_map(text, config, &map)) {
        config->map = map;
        return TLA_OK;
    }
    const char *at = text;
    for (;;) {
        uint32_t field = 0;
        while (field < TLA_HBM_FIELD_COUNT && strncmp(at, field_names[field], 2) != 0)
            field++;
        if (field == TLA_HBM_FIELD_COUNT)
            return tla_error_set(error, TLA_SYNTAX,
                                 "address map '%s', character %zu: expected m1, m2, m3 or one of pc, bg, ba, co, ro "
                                 "with its number of bits, as in bg2,co5,ba2,ro14%s",
                                 text, (size_t)(at - text) + 1, suggest(text, at).text);
        at += 2;
        uint32_t bits = 0, digits = 0;
        for (; *at >= '0' && *at <= '9' && digits < 3; at++, digits++)
            bits = bits * 10 + (uint32_t)(*at - '0');
        if (digits == 0 || bits == 0 || bits > 32)
            return tla_error_set(error, TLA_SYNTAX, "address map '%s', character %zu: expected 1 to 32 bits for %s",
                                 text, (size_t)(at - digits - text) + 1, field_names[field]);
        if (map.count == TLA_HBM_MAP_MAX)
            return tla_error_set(error, TLA_SYNTAX, "address map '%s' has more than %d pieces", text, TLA_HBM_MAP_MAX);
        add_piece(&map, (tla_hbm_field)field, bits);
        if (*at == '\0') break;
        if (*at != ',')
            return tla_error_set(error, TLA_SYNTAX, "address map '%s', character %zu: expected ',' or the end", text,
                                 (size_t)(at - text) + 1);
        at++;
    }
    config->map = map;
    return TLA_OK;
}

void tla_hbm_map_print(const tla_hbm_map *map, char *text, size_t size) {
    if (size > 0) text[0] = '\0';
    size_t used = 0;
    for (uint32_t i = 0; i < map->count && used < size; i++) {
        const int n = snprintf(text + used, size - used, "%s%s%u", i == 0 ? "" : ",", field_names[map->pieces[i].field],
                               map->pieces[i].bits);
        if (n < 0) return;
        used += (size_t)n;
    }
}

void tla_hbm_decoder_build(const tla_hbm_config *config, struct address_decoder *decoder) {
    memset(decoder, 0, sizeof *decoder);
    decoder->burst_bits = log2_of(config->burst_bytes);
    /* a bank's number counts through all groups: group * banks_per_group + bank */
    uint32_t shift = 0, bank_to = 0, group_to = log2_of(config->banks_per_group), row_to = 0, group_bits = 0;
    bool groups_lowest = true;
    for (uint32_t i = 0; i < config->map.count; i++) {
        const uint32_t bits = config->map.pieces[i].bits;
        struct map_piece piece = {.shift = shift, .mask = (UINT64_C(1) << bits) - 1};
        switch (config->map.pieces[i].field) {
        case TLA_HBM_FIELD_PSEUDO_CHANNEL:
            decoder->pseudo_channel = piece;
            break;
        case TLA_HBM_FIELD_BANK_GROUP:
            piece.to = group_to;
            group_to += bits;
            decoder->bank[decoder->bank_pieces++] = piece;
            groups_lowest = groups_lowest && shift == group_bits;
            group_bits += bits;
            break;
        case TLA_HBM_FIELD_BANK:
            piece.to = bank_to;
            bank_to += bits;
            decoder->bank[decoder->bank_pieces++] = piece;
            break;
        case TLA_HBM_FIELD_ROW:
            piece.to = row_to;
            row_to += bits;
            decoder->row[decoder->row_pieces++] = piece;
            break;
        default:
            break; /* the column does not matter to the timing */
        }
        shift += bits;
    }
    decoder->line_bits = shift;
    decoder->row_shift = decoder->group_shift = decoder->bank_shift = shift;
    uint32_t bank_pieces = 0, bank_bits = 0;
    for (uint32_t i = config->map.count; i-- > 0;) { /* downwards: the lowest piece stays */
        shift -= config->map.pieces[i].bits;
        switch (config->map.pieces[i].field) {
        case TLA_HBM_FIELD_ROW:
            decoder->row_shift = shift;
            break;
        case TLA_HBM_FIELD_BANK_GROUP:
            decoder->group_shift = shift;
            break;
        case TLA_HBM_FIELD_BANK:
            decoder->bank_shift = shift;
            bank_bits += config->map.pieces[i].bits;
            bank_pieces++;
            break;
        default:
            break;
        }
    }
    decoder->bank_period = bank_pieces <= 1 ? 1u << bank_bits : 0;
    decoder->group_period = groups_lowest ? 1u << group_bits : 0;
}
