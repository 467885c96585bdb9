import { MarinError } from "@marin/ducky";

const bytesPer: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/**
 * Reads a size such as "512MiB", "1.5 GB" or "64B". kB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB powers of 1024.
 *
 * @returns bytes, a whole number
 * @throws MarinError RIGGING_BAD_SIZE when the text is no size, or not a whole number of bytes below 2^53
 */
export function parseBytes(text: string): number {
  const [, amount, unit] = /^\s*(\d+(?:\.\d+)?)\s*([kKMGT]?i?B)\s*$/.exec(text) ?? [];
  const factor = unit === undefined || !Object.hasOwn(bytesPer, unit) ? undefined : bytesPer[unit];
  const bytes = Number(amount) * (factor ?? NaN);
  if (!Number.isSafeInteger(bytes)) {
    throw new MarinError("RIGGING_BAD_SIZE", `"${text}" is not a whole number of bytes; write for example "64KiB", "512MiB" or "1.5GB".`, {
      data: { found: text },
    });
  }
  return bytes;
}

/**
 * Writes a size for people in binary units with at most one decimal: "512B", "1.5KiB", "24MiB".
 *
 * @param bytes - a number of bytes, at least 0
 */
export function formatBytes(bytes: number): string {
  let amount = Math.round(bytes);
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    const shown = Math.round(amount * 10) / 10;
    if (shown < 1024) return `${String(shown)}${unit}`;
    amount /= 1024;
  }
  return `${String(Math.round(amount * 10) / 10)}TiB`;
}
