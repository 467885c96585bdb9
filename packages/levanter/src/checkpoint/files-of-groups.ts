import { elementCount } from "../engine/shape.js";
import type { Specs } from "../engine/types.js";

/** Bytes of a file of tensors, at most, unless one tensor alone has more. */
export const DEFAULT_FILE_BYTES = 2 ** 30;

/** One file of a group. */
export interface PlannedFile {
  readonly name: string;
  readonly group: string;
  /** Its tensors, in the group's order. */
  readonly specs: Specs;
}

/**
 * Spreads the tensors of groups over files, in order: `<group>.safetensors`, or `<group>-00001-of-00003.safetensors` where one file is not enough. A
 * pure function of its arguments. A tensor is never divided: one that is larger than `maxBytes` has a file of its own.
 *
 * @param maxBytes - bytes of tensors in a file, at most
 */
export function filesOfGroups(groups: Readonly<Record<string, Specs>>, maxBytes: number): PlannedFile[] {
  return Object.entries(groups).flatMap(([group, specs]) => {
    const files: Record<string, Specs[string]>[] = [{}];
    let bytes = 0;
    for (const [name, spec] of Object.entries(specs)) {
      const size = 4 * elementCount(spec.shape);
      if (bytes > 0 && bytes + size > maxBytes) {
        files.push({});
        bytes = 0;
      }
      Object.assign(files.at(-1) ?? {}, { [name]: spec });
      bytes += size;
    }
    const number = (value: number): string => String(value).padStart(5, "0");
    return files.map((tensors, i) => ({
      name: files.length === 1 ? `${group}.safetensors` : `${group}-${number(i + 1)}-of-${number(files.length)}.safetensors`,
      group,
      specs: tensors,
    }));
  });
}
