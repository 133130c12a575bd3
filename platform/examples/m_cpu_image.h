/* The firmware of an M_CPU, platform/firmware/m_cpu.bin, byte for byte. */
#ifndef M_CPU_IMAGE_H
#define M_CPU_IMAGE_H

#ifdef __cplusplus
extern "C" {
#endif

extern const unsigned char m_cpu_image[];
extern const unsigned m_cpu_image_bytes;

#ifdef __cplusplus
}
#endif
#endif
