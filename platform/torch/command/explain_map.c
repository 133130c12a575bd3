/* The cache at the moment as a picture: a row for every segment or range, its blocks to scale by class, addresses
 * without memory between them, and the request to the same scale on top. */
#include "torch/command/explained.h"

#include <inttypes.h>

enum { WIDTH = 1200, LEFT = 170, ROW = 14, GAP = 4, TOP = 70, ROWS_MAX = 400, PLOT = WIDTH - LEFT - 20, HOLE = 6 };

static const char *colour_of(const tla_segment_block_info *b, const explained *e) {
    switch (b->state) {
    case TLA_SEGMENT_ALLOCATED:
        return "#2f7ebc";
    case TLA_SEGMENT_PENDING:
        return "#e6a117";
    case TLA_SEGMENT_UNMAPPED:
        return "none";
    default:
        return b->small == e->gap_request.small && b->stream == e->gap_request.stream ? "#b7e1b0" : "#d9d9d9";
    }
}

/* Mapped bytes of a segment, and where the next one begins. */
static uint64_t measure(const explained *e, size_t first, size_t *next, size_t *holes) {
    uint64_t mapped = 0;
    *holes = 0;
    for (*next = first; *next < e->block_count && e->blocks[*next].segment == e->blocks[first].segment; ++*next) {
        bool unmapped = e->blocks[*next].state == TLA_SEGMENT_UNMAPPED;
        mapped += unmapped ? 0 : e->blocks[*next].nbytes;
        *holes += unmapped;
    }
    return mapped;
}

/* A width of at least one pixel in hundredths, so that every machine draws the same. */
static uint64_t width_of(uint64_t nbytes, uint64_t scale) {
    uint64_t hundredths = (uint64_t)((double)nbytes / (double)scale * (double)PLOT * 100);
    return hundredths ? hundredths : 1;
}

static void draw_row(FILE *out, const explained *e, size_t first, size_t next, uint64_t scale, int y) {
    uint64_t x = LEFT * 100;
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%" PRIx64 "%s</text>\n", LEFT - 6, y + ROW - 3,
            e->blocks[first].segment, e->blocks[first].granule ? " range" : "");
    for (size_t i = first; i < next; i++) {
        const tla_segment_block_info *b = &e->blocks[i];
        bool unmapped = b->state == TLA_SEGMENT_UNMAPPED;
        uint64_t width = unmapped ? HOLE * 100 : width_of(b->nbytes, scale);
        fprintf(out,
                "<rect x=\"%" PRIu64 ".%02" PRIu64 "\" y=\"%d\" width=\"%" PRIu64 ".%02" PRIu64
                "\" height=\"%d\" fill=\"%s\"%s><title>%" PRIu64 " bytes at 0x%" PRIx64 "%s</title></rect>\n",
                x / 100, x % 100, y, width / 100, width % 100, ROW, colour_of(b, e),
                unmapped ? " stroke=\"#999\" stroke-dasharray=\"2\"" : "", b->nbytes, b->address,
                unmapped ? ", unmapped" : "");
        x += width;
    }
}

/* Which free memory has a colour of its own. */
static const char *name_of_free(const explained *e) {
    if (e->request) return "free, in the request's stream and pool";
    return e->gap_request.small ? "free, in small pools of stream 0" : "free, in large pools of stream 0";
}

static void draw_legend(FILE *out, const explained *e, uint64_t scale) {
    const struct {
        const char *colour, *name;
    } keys[] = {
        {"#2f7ebc", "allocated"}, {"#e6a117", "pending"}, {"#b7e1b0", name_of_free(e)}, {"#d9d9d9", "free, elsewhere"}};
    int x = LEFT;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        fprintf(out,
                "<rect x=\"%d\" y=\"8\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"18\">%s</text>\n", x,
                keys[i].colour, x + 16, keys[i].name);
        x += i == 2 ? 270 : 110;
    }
    fprintf(out,
            "<rect x=\"%d\" y=\"8\" width=\"12\" height=\"12\" fill=\"none\" stroke=\"#999\" "
            "stroke-dasharray=\"2\"/><text x=\"%d\" y=\"18\">unmapped, not to scale</text>\n",
            x, x + 16);
    uint64_t width = width_of(e->nbytes, scale);
    if (!e->request) return;
    fprintf(out,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">request</text><rect x=\"%d\" y=\"%d\" width=\"%" PRIu64
            ".%02" PRIu64 "\" height=\"%d\" fill=\"#c0392b\"><title>%" PRIu64 " bytes</title></rect>\n",
            LEFT - 6, TOP - 22, LEFT, TOP - 32, width / 100, width % 100, ROW, e->nbytes);
}

void explain_map(FILE *out, const explained *e) {
    uint64_t scale = e->nbytes ? e->nbytes : 1;
    size_t rows = 0, holes;
    for (size_t i = 0, next; i < e->block_count; i = next, rows++) {
        uint64_t mapped = measure(e, i, &next, &holes);
        if (mapped > scale) scale = mapped;
    }
    size_t drawn = rows < ROWS_MAX ? rows : ROWS_MAX;
    int height = TOP + (int)drawn * (ROW + GAP) + 30;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
            WIDTH, height, WIDTH, height, WIDTH, height);
    draw_legend(out, e, scale);
    size_t row = 0;
    for (size_t i = 0, next; i < e->block_count && row < drawn; i = next, row++) {
        measure(e, i, &next, &holes);
        draw_row(out, e, i, next, scale + scale / PLOT * HOLE * holes, TOP + (int)row * (ROW + GAP));
    }
    if (drawn < rows)
        fprintf(out, "<text x=\"%d\" y=\"%d\">and %zu more segments</text>\n", LEFT, height - 10, rows - drawn);
    fputs("</svg>\n", out);
}
